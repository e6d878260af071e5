import { expect, test } from 'vitest';
import { NEW_STEP, type MessageDraft, type StepDraft } from './step-draft.ts';
import {
  appendIn,
  channelBefore,
  comesAfterWait,
  flatSteps,
  insertAfter,
  moveStep,
  removeStep,
} from './step-tree.ts';

const end = (key: string): StepDraft => ({ kind: 'end', key, id: undefined });
const branch = (key: string, ...lists: StepDraft[][]): StepDraft => ({
  kind: 'branch',
  key,
  id: undefined,
  branches: lists.slice(0, -1).map((steps, index) => ({ key: `${key}${index}`, name: '', when: [], steps })),
  else: lists.at(-1) ?? [],
});

/** The keys of a tree: `a b[c|d] e`. */
const shown = (steps: readonly StepDraft[]): string =>
  steps
    .map((step) =>
      step.kind === 'branch'
        ? `${step.key}[${[...step.branches.map((one) => one.steps), step.else].map(shown).join('|')}]`
        : step.key,
    )
    .join(' ');

const tree = [end('a'), branch('b', [end('c'), branch('d', [], [])], [end('e')], []), end('f')];

test('a step goes through every place of the tree, one after the other, and back', () => {
  const places = [shown(tree)];
  let steps: readonly StepDraft[] = tree;
  for (;;) {
    const next = moveStep(steps, 'a', 1);
    if (shown(next) === shown(steps)) break;
    places.push(shown(next));
    steps = next;
  }
  expect(places).toEqual([
    'a b[c d[|]|e|] f',
    'b[a c d[|]|e|] f',
    'b[c a d[|]|e|] f',
    'b[c d[a|]|e|] f',
    'b[c d[|a]|e|] f',
    'b[c d[|] a|e|] f',
    'b[c d[|]|a e|] f',
    'b[c d[|]|e a|] f',
    'b[c d[|]|e|a] f',
    'b[c d[|]|e|] a f',
    'b[c d[|]|e|] f a',
  ]);
  for (const place of places.toReversed()) {
    expect(shown(steps)).toBe(place);
    steps = moveStep(steps, 'a', -1);
  }
  expect(shown(steps)).toBe(places[0]);
});

test('a step that branches takes its steps with it', () => {
  expect(shown(moveStep(tree, 'b', -1))).toBe('b[c d[|]|e|] a f');
  expect(shown(moveStep(tree, 'd', 1))).toBe('a b[c|d[|] e|] f');
});

const as = (kind: StepDraft['kind'], key: string): StepDraft => ({ ...end(key), kind }) as StepDraft;

test('a message needs no delay of its own after a wait, also in a branch, and at the beginning', () => {
  const inBranch = [[end('m')], [as('wait', 'w'), as('do', 'd'), as('message', 'n'), end('o')]];
  const steps = [as('message', 'a'), as('wait_until', 'b'), branch('c', ...inBranch), end('e')];
  const waited = flatSteps(steps).filter(({ key }) => comesAfterWait(steps, key));
  expect(waited.map(({ key }) => key)).toEqual(['a', 'c', 'm', 'w', 'd', 'n']);
});

const message = (key: string, messageType: MessageDraft['messageType']): StepDraft => ({
  ...NEW_STEP(),
  key,
  messageType,
});

test('a message takes the channel of the one before it on its way, otherwise of the first, if there is another', () => {
  const inBranch = [
    [message('email', 'email'), message('afterEmail', 'imessage')],
    [message('other', 'imessage')],
  ];
  const steps = [end('x'), message('first', 'sms'), branch('b', ...inBranch), message('last', 'imessage')];
  expect(['first', 'afterEmail', 'other', 'last'].map((key) => channelBefore(steps, key))).toEqual([
    'email',
    'email',
    'sms',
    'sms',
  ]);
  expect(channelBefore([message('new', 'imessage'), branch('b', [], [message('m', 'email')])], 'new')).toBe(
    'email',
  );
  expect(channelBefore([end('x'), message('new', 'imessage')], 'new')).toBeUndefined();
});

test('steps are added and removed anywhere', () => {
  expect(shown(insertAfter(tree, 'd', end('x')))).toBe('a b[c d[|] x|e|] f');
  expect(shown(appendIn(tree, 'd', 1, end('x')))).toBe('a b[c d[|x]|e|] f');
  expect(shown(removeStep(tree, 'e'))).toBe('a b[c d[|]||] f');
  expect(flatSteps(tree).map(({ key }) => key)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
