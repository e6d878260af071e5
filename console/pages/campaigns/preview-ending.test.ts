import { expect, test } from 'vitest';
import type { AnyStep } from './campaign.ts';
import { endingSentence } from './preview-ending.ts';

type Preview = Parameters<typeof endingSentence>[1];
type Kind = Preview['walk'][number]['kind'];

const message = (id: string) => ({ id, messageType: 'sms', message: 'Hi', delay: {} }) as unknown as AnyStep;
const answer: AnyStep = {
  id: 'answer',
  kind: 'wait_until',
  any: [{ field: 'replied' }, { field: 'tag', op: 'eq', value: 'hot' }],
  atMost: { days: 3 },
  else: 'continue',
};
const wait: AnyStep = { id: 'wait', kind: 'wait', for: { days: 4 } };
const branch: AnyStep = {
  id: 'branch',
  kind: 'branch',
  branches: [{ name: 'Read', when: [{ field: 'read', value: true }], steps: [message('soft')] }],
  else: [message('again')],
};

/** The ending for a lead that goes through the steps on a way, of whose messages the first ones are shown. */
const ending = (steps: AnyStep[], way: [string, Kind][], shown: string[]): string | null =>
  endingSentence(steps, {
    steps: shown.map((stepId) => ({ stepId })),
    walk: way.map(([stepId, kind]) => ({ stepId, kind })),
  });

test('a preview that ends at a decision says what that asks about', () => {
  const waits: [string, Kind][] = [
    ['hi', 'message'],
    ['answer', 'wait_until'],
    ['bye', 'message'],
  ];
  expect(ending([message('hi'), answer, message('bye')], waits, ['hi'])).toBe(
    'What comes next depends on: Reply comes or Tag is “hot”.',
  );
  const decides: [string, Kind][] = [
    ['hi', 'message'],
    ['wait', 'wait'],
    ['branch', 'branch'],
    ['again', 'message'],
  ];
  expect(ending([message('hi'), wait, branch], decides, ['hi'])).toBe(
    'What comes next depends on: Last message is read is yes.',
  );
  // Nothing is shown of a campaign that begins with it.
  expect(ending([answer, message('bye')], waits.slice(1), [])).toContain('Reply comes');
});

test('a preview that ends at a wait says that there is more, and one of the whole campaign nothing', () => {
  const way: [string, Kind][] = [
    ['hi', 'message'],
    ['wait', 'wait'],
    ['bye', 'message'],
  ];
  expect(ending([message('hi'), wait, message('bye')], way, ['hi'])).toBe(
    'The next step depends on what happens until then.',
  );
  expect(
    ending(
      [message('hi'), message('bye')],
      way.filter(([, kind]) => kind === 'message'),
      ['hi', 'bye'],
    ),
  ).toBeNull();
  // A lead that no message can reach.
  expect(ending([answer, message('bye')], [['answer', 'wait_until']], [])).toBeNull();
  expect(ending([message('hi'), wait], way.slice(0, 2), ['hi'])).toBeNull();
});
