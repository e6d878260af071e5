import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atOnce } from '#test/support/at-once.ts';
import type { Facts } from './judge.ts';
import { CampaignStep, isMessageStep, NewSteps, placedSteps, messageSteps } from './step.ts';
import { type Cursor, goesOnAfter, pauseBetween, quietPath, walk } from './walk.ts';

const now = new Date('2026-03-10T12:00:00Z');
const DAY = 86_400_000;
const facts = (fields: Partial<Facts['lead']> = {}, others: Partial<Facts> = {}): Facts => ({
  lead: {
    firstName: 'Ada',
    lastName: '',
    emails: ['ada@example.com'],
    phones: ['+14155550123'],
    companyName: '',
    jobTitle: '',
    notes: '',
    contactOwnerEmail: null,
    timezone: null,
    customFields: {},
    tags: [],
    status: null,
    source: null,
    createdAt: now,
    ...fields,
  },
  replies: [],
  lastMessage: null,
  contactedAt: { this: null, any: null },
  consented: new Set(),
  ...others,
});

const steps = (...given: object[]): CampaignStep[] => given.map((step) => CampaignStep.parse(step));
const message = (id: string, delay = {}) => ({ id, message: id, delay });
const tagged = (value: string) => ({ field: 'tag', op: 'eq', value });
const START: Cursor = { stepId: null, isPassed: false, at: now };
const go = (all: CampaignStep[], cursor: Cursor, known: Facts, at = now) =>
  atOnce(walk(all, cursor, { facts: known, reaches: () => true, now: at }));

const branching = steps(
  message('hello'),
  { id: 'pause', kind: 'wait', for: { days: 2 } },
  {
    id: 'ask',
    kind: 'branch',
    branches: [
      { name: 'VIP', when: [tagged('vip')], steps: [message('vip'), { id: 'stop', kind: 'end' }] },
      { name: 'quiet', when: [tagged('quiet')], steps: [] },
    ],
    else: [message('others')],
  },
  message('bye', { days: 1 }),
);

describe('a walk', () => {
  it('gives others a turn before each list of conditions', () => {
    const branches = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, when: [tagged(name)], steps: [] }));
    const all = steps({ id: 'ask', kind: 'branch', branches, else: [] });
    const turns = [...walk(all, START, { facts: facts(), reaches: () => true, now })];
    expect(turns.length).toBeGreaterThan(branches.length);
  });

  it('sends all messages of a campaign that only sends as one run', () => {
    const linear = steps(message('a'), message('b', { days: 1 }), message('c', { hours: 2 }));
    const { rest, passed } = go(linear, START, facts());
    expect(rest).toEqual({ kind: 'sends', run: messageSteps(linear), from: now });
    expect(passed).toEqual([]);
    expect(pauseBetween(linear, 'a', 'c')).toBe(DAY + 2 * 3_600_000);
    expect(goesOnAfter(linear, 'c')).toBe(false);
  });

  it('waits, and counts from when the lead came', () => {
    const cursor: Cursor = { stepId: 'hello', isPassed: true, at: now };
    const until = new Date(now.getTime() + 2 * DAY);
    const waiting = go(branching, cursor, facts());
    expect(waiting.rest).toEqual({ kind: 'waits', stepId: 'pause', at: now, until, isAwaitingFacts: false });
    const late = new Date(until.getTime() + 60_000);
    const { rest } = go(branching, { stepId: 'pause', isPassed: false, at: now }, facts(), late);
    expect(rest).toMatchObject({ kind: 'sends', from: until });
  });

  it.each([
    ['VIP', ['vip'], ['vip']],
    ['quiet', ['quiet'], ['bye']],
    ['VIP', ['quiet', 'vip'], ['vip']],
    ['else', [], ['others', 'bye']],
  ])('takes the first branch that holds: %s with tags %j', (name, tags, run) => {
    const { rest, passed } = go(branching, { stepId: 'pause', isPassed: true, at: now }, facts({ tags }));
    expect(passed).toMatchObject([
      { stepId: 'ask', kind: 'branch', outcome: name, why: expect.stringMatching(/tag eq/) },
    ]);
    expect(rest.kind === 'sends' && rest.run.map(({ id }) => id)).toEqual(run);
  });

  it('ends at the end, or when a wait ends it', () => {
    expect(go(branching, { stepId: 'vip', isPassed: true, at: now }, facts()).rest).toEqual({ kind: 'ends' });
    expect(go(branching, { stepId: 'bye', isPassed: true, at: now }, facts()).rest).toEqual({ kind: 'ends' });
    const ending = steps(
      { id: 'w', kind: 'wait_until', any: [tagged('vip')], atMost: { days: 1 }, else: 'end' },
      message('a'),
    );
    const later = new Date(now.getTime() + DAY);
    expect(go(ending, { stepId: 'w', isPassed: false, at: now }, facts(), later)).toMatchObject({
      rest: { kind: 'ends' },
      passed: [{ outcome: 'ended' }],
    });
    expect(go(ending, START, facts({ tags: ['vip'] })).rest.kind).toBe('sends');
  });

  it('does things that the conditions after them see', () => {
    const all = steps(
      { id: 'tag', kind: 'do', addTags: ['vip'], setFields: { 'customFields.plan': 'gold' } },
      {
        id: 'ask',
        kind: 'branch',
        branches: [
          {
            name: 'gold',
            when: [tagged('VIP'), { field: 'customFields.plan', value: 'gold' }],
            steps: [message('a')],
          },
        ],
        else: [message('b')],
      },
    );
    const { rest, does, passed } = go(all, START, facts());
    expect(does.length).toBe(1);
    expect(passed[0]).toMatchObject({ stepId: 'tag', why: 'adds the tag “vip”; sets customFields.plan' });
    expect(rest.kind === 'sends' && rest.run.map(({ id }) => id)).toEqual(['a']);
  });

  it('passes messages that cannot reach the lead', () => {
    const { rest } = atOnce(
      walk(branching, START, { facts: facts(), reaches: ({ message: text }) => text === 'bye', now }),
    );
    expect(rest).toMatchObject({ kind: 'waits', stepId: 'pause' });
  });

  it('takes the quiet path for forecasts', () => {
    expect(quietPath(branching).map(({ id, delay }) => [id, delay])).toEqual([
      ['hello', {}],
      ['others', { minutes: 2 * 24 * 60 }],
      ['bye', { days: 1 }],
    ]);
  });
});

describe('any steps', () => {
  const condition = fc.constantFrom(tagged('a'), tagged('b'), { field: 'replied' });
  const { list } = fc.letrec<{ list: object[]; step: object }>((tie) => ({
    list: fc.array(tie('step'), { maxLength: 3, depthIdentifier: 'tree' }),
    step: fc.oneof(
      { depthIdentifier: 'tree', maxDepth: 3 },
      fc.integer({ min: 0, max: 3 }).map((days) => ({ message: 'Hi', delay: { days } })),
      fc.integer({ min: 1, max: 3 }).map((days) => ({ kind: 'wait', for: { days } })),
      fc.record({
        kind: fc.constant('wait_until'),
        any: fc.array(condition, { minLength: 1, maxLength: 2 }),
        atMost: fc.constant({ days: 2 }),
        else: fc.constantFrom('continue', 'end'),
      }),
      fc.constantFrom('a', 'b').map((tag) => ({ kind: 'do', addTags: [tag] })),
      fc.constant({ kind: 'end' }),
      fc.record({
        kind: fc.constant('branch'),
        branches: fc.array(
          fc.record({
            name: fc.constant('x'),
            when: fc.array(condition, { minLength: 1, maxLength: 2 }),
            steps: tie('list'),
          }),
          { minLength: 1, maxLength: 3 },
        ),
        else: tie('list'),
      }),
    ),
  }));
  const tree = list
    .filter((all) => all.length > 0)
    .map((all) => all.map((step) => CampaignStep.parse(step)))
    .filter((all) => placedSteps(all).length <= 50);

  it('have one number each, in reading order, and an end', () => {
    fc.assert(
      fc.property(tree, (all) => {
        const placed = placedSteps(all);
        expect(placed.map(({ index }) => index)).toEqual(placed.map((_, index) => index));
        expect(new Set(placed.map(({ id }) => id)).size).toBe(placed.length);
        const byId = new Map(placed.map((one) => [one.id, one]));
        for (const { next, index } of placed)
          if (next !== null) expect(byId.get(next)?.index ?? -1).toBeGreaterThan(index);
      }),
    );
  });

  it('lead a contact forward only, to each step once, whatever happens when', () => {
    const happening = fc.record({
      days: fc.integer({ min: 0, max: 2 }),
      tag: fc.option(fc.constantFrom('a', 'b')),
      replies: fc.boolean(),
    });
    fc.assert(
      fc.property(tree, fc.array(happening, { minLength: 60, maxLength: 60 }), (all, happenings) => {
        const index = new Map(placedSteps(all).map((one) => [one.id, one.index]));
        let cursor = START;
        let at = now;
        let known = facts();
        let last = -1;
        const visit = (id: string): void => {
          const number = index.get(id) ?? -1;
          expect(number).toBeGreaterThan(last);
          last = number;
        };
        for (const { days, tag, replies } of happenings) {
          at = new Date(at.getTime() + days * DAY);
          if (tag !== null) known = { ...known, lead: { ...known.lead, tags: [...known.lead.tags, tag] } };
          if (replies) known = { ...known, replies: [{ at, text: 'Yes' }] };
          const { rest, passed } = go(all, cursor, known, at);
          for (const { stepId } of passed) visit(stepId);
          if (rest.kind === 'ends' || rest.kind === 'stops') return;
          if (rest.kind === 'waits') {
            expect(rest.until.getTime()).toBeGreaterThan(at.getTime());
            cursor = { stepId: rest.stepId, isPassed: false, at: rest.at };
            continue;
          }
          for (const one of rest.run) {
            expect(isMessageStep(one.step)).toBe(true);
            visit(one.id);
          }
          const sent = rest.run.at(-1);
          if (!sent || !goesOnAfter(all, sent.id)) return;
          cursor = { stepId: sent.id, isPassed: true, at };
        }
      }),
    );
  });
});

describe('the steps of a request', () => {
  const asking = (words: number, conditions = 20) =>
    Array.from({ length: conditions }, () => ({ field: 'notes', value: 'x'.repeat(words) }));
  const waiting = { kind: 'wait_until', atMost: { days: 1 } };

  it.each<[string, object[], string[]]>([
    ['as long as they may be', [{ ...waiting, any: asking(500) }], []],
    ['too long in one step', [{ ...waiting, any: asking(500), stopWhen: asking(1, 1) }], ['0.any']],
    [
      'too long in a branch, with those before it',
      [
        { ...waiting, any: asking(300) },
        { kind: 'branch', branches: [{ name: 'x', when: asking(300), steps: [] }] },
      ],
      ['1.branches.0.when'],
    ],
    ['as many as there may be', Array.from({ length: 10 }, () => ({ ...waiting, any: asking(1) })), []],
    ['too many', Array.from({ length: 11 }, () => ({ ...waiting, any: asking(1) })), ['10.any']],
  ])('have conditions that are bounded together: %s', (_, given, refused) => {
    expect(pathsOf(given)).toEqual(refused);
  });

  const pathsOf = (given: unknown) =>
    NewSteps.safeParse(given).error?.issues.map(({ path }) => path.join('.')) ?? [];
  const nested = (depth: number): object =>
    depth === 0
      ? message('leaf')
      : { kind: 'branch', branches: [{ name: 'x', when: [tagged('a')], steps: [nested(depth - 1)] }] };

  it.each<[unknown, string[]]>([
    [[{ message: ' ' }], ['0.message']],
    [[{ kind: 'wait', for: {} }], ['0.for']],
    [[{ kind: 'wait_until', any: [], atMost: { days: 1 } }], ['0.any']],
    [[{ kind: 'do' }], ['0']],
    [[{ kind: 'do', setFields: { email: 'x' } }], ['0.setFields.email']],
    [[{ kind: 'sleep' }], ['0.kind']],
    [[message('a'), message('a')], ['1.id']],
    [
      [
        {
          kind: 'branch',
          branches: [{ name: 'x', when: [tagged('a')], steps: [{ message: '' }] }],
          else: [],
        },
      ],
      ['0.branches.0.steps.0.message'],
    ],
    [
      [{ kind: 'branch', branches: [{ name: 'x', when: [{ field: 'nope' }], steps: [] }] }],
      ['0.branches.0.when.0.field'],
    ],
    [
      [
        {
          kind: 'branch',
          branches: [{ name: 'x', when: [tagged('a')], steps: [] }],
          else: [{ message: '{{ x | nope }}' }],
        },
      ],
      ['0.else.0.message'],
    ],
    [[nested(4)], []],
    [[nested(5)], ['0.branches.0.steps.0.branches.0.steps.0.branches.0.steps.0.branches.0.steps.0.branches']],
    [
      [
        {
          kind: 'branch',
          branches: [
            { name: 'x', when: [tagged('a')], steps: Array.from({ length: 50 }, (_, n) => message(`m${n}`)) },
          ],
        },
      ],
      [''],
    ],
  ])('are refused at their place: %j', (given, paths) => {
    expect(pathsOf(given)).toEqual(paths);
  });
});
