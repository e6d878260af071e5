import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atOnce } from '#test/support/at-once.ts';
import type { Facts } from './judge.ts';
import { changesBetween, cursorAfterEdit, nextAfterEdit, type Place, problemOfEdit } from './step-edits.ts';
import { CampaignStep, isMessageStep, placedSteps, stepsById } from './step.ts';
import { type Cursor, goesOnAfter, walk } from './walk.ts';

const steps = (...given: object[]): CampaignStep[] => given.map((step) => CampaignStep.parse(step));
const message = (id: string) => ({ id, message: id });
const wait = (id: string) => ({ id, kind: 'wait', for: { days: 1 } });
const branch = (id: string, inner: object[], others: object[] = []) => ({
  id,
  kind: 'branch',
  branches: [{ name: 'VIP', when: [{ field: 'tag', value: 'vip' }], steps: inner }],
  else: others,
});
const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(message) as [object, object, object, object];
const before = (stepId: string): Place => ({ stepId, stands: 'before' });
const at = (stepId: string): Place => ({ stepId, stands: 'at' });
const after = (stepId: string): Place => ({ stepId, stands: 'after' });

describe('a lead goes on after an edit', () => {
  it.each<[string, object[], object[], Place, string[], string | null]>([
    ['where it was', [a, b, c], [a, b, c], before('b'), ['a'], 'b'],
    ['without what is removed', [a, b, c], [a, c], before('b'), ['a'], 'c'],
    ['with what is put in its place', [a, b, c], [a, message('n'), c], before('b'), ['a'], 'n'],
    ['with what is inserted next', [a, b], [a, message('n'), b], before('b'), ['a'], 'n'],
    ['without what is inserted behind it', [a, b, c], [message('n'), a, b, c], before('b'), ['a'], 'b'],
    ['with all that is ahead when the last moves to the end', [a, b, c], [b, c, a], before('b'), ['a'], 'b'],
    [
      'with all that is ahead when the next moves to the end',
      [a, b, c, d],
      [a, c, d, b],
      before('b'),
      ['a'],
      'c',
    ],
    ['with what moves from ahead to the front', [a, b, c], [c, a, b], before('b'), ['a'], 'c'],
    ['with what is added at the end', [a, b], [a, b, c], after('b'), ['a', 'b'], 'c'],
    ['to the end', [a, b], [a], before('b'), ['a'], null],
    [
      'where it waits, past what is inserted',
      [a, wait('w'), b],
      [a, message('n'), wait('w'), b],
      at('w'),
      ['a'],
      'w',
    ],
    ['instead of a wait that is removed', [a, wait('w'), b], [a, message('n'), b], at('w'), ['a'], 'n'],
    ['in its branch', [branch('x', [a, b]), c], [branch('x', [a, d, b]), c], before('b'), ['x', 'a'], 'd'],
    ['with a new step of its branch', [branch('x', [a]), c], [branch('x', [b]), c], before('a'), ['x'], 'b'],
    [
      'after its branch when nothing is left there',
      [branch('x', [a]), c],
      [branch('x', []), c],
      before('a'),
      ['x'],
      'c',
    ],
    ['after its branch when that is removed', [branch('x', [a]), c], [c], before('a'), ['x'], 'c'],
    [
      'where the steps of its branch are now',
      [branch('x', [a, b]), c],
      [a, b, c],
      before('b'),
      ['x', 'a'],
      'b',
    ],
    [
      'in its branch, wherever that is',
      [branch('x', [a]), b, c],
      [b, branch('x', [a]), c],
      before('a'),
      ['x'],
      'a',
    ],
  ])('%s', (_, old, now, place, received, expected) =>
    expect(nextAfterEdit(steps(...old), steps(...now), place, new Set(received))).toBe(expected),
  );
});

describe('the changes between two versions', () => {
  it('are the steps that came, went, moved and changed', () => {
    const old = steps(a, branch('x', [b]), c);
    const now = steps(c, { id: 'a', message: 'A!' }, branch('x', [], [b]), d);
    expect(changesBetween(old, now)).toEqual({
      added: ['d'],
      removed: [],
      moved: ['c', 'b'],
      changed: ['a'],
    });
    expect(changesBetween(now, old)).toMatchObject({ added: [], removed: ['d'] });
  });

  it('do not count how a delay is written', () => {
    const [old, now] = [{ days: 2 }, { days: 2, hours: 0, minutes: 0 }].map((span) =>
      steps({ ...a, delay: span }, { id: 'w', kind: 'wait', for: span }),
    );
    expect(changesBetween(old ?? [], now ?? []).changed).toEqual([]);
  });

  it('are refused if no step is known by its id', () => {
    expect(problemOfEdit(steps(a), steps({ message: 'A' }))).toMatch(/by its id/);
    expect(problemOfEdit(steps(a), steps({ message: 'New' }, a))).toBeNull();
  });
});

const start = new Date('2026-03-10T12:00:00Z');
const DAY = 86_400_000;
const factsOf = (tags: string[], replies: Facts['replies']): Facts => ({
  lead: {
    firstName: 'Ada',
    lastName: '',
    emails: [],
    phones: ['+14155550123'],
    companyName: '',
    jobTitle: '',
    notes: '',
    contactOwnerEmail: null,
    timezone: null,
    customFields: {},
    tags,
    status: null,
    source: null,
    createdAt: start,
  },
  replies,
  lastMessage: null,
  contactedAt: { this: null, any: null },
  consented: new Set(),
});

/** Trees of steps, by ids of which each is in a tree once. */
const condition = fc.constantFrom({ field: 'tag', value: 'a' }, { field: 'replied' });
const { list } = fc.letrec<{ list: object[]; step: object }>((tie) => ({
  list: fc.array(tie('step'), { maxLength: 4, depthIdentifier: 'edits' }),
  step: fc.oneof(
    { depthIdentifier: 'edits', maxDepth: 3 },
    fc.record({ message: fc.constantFrom('One', 'Two'), messageType: fc.constantFrom('sms', 'imessage') }),
    fc.constant({ message: 'Hi' }),
    fc.integer({ min: 1, max: 3 }).map((days) => ({ kind: 'wait', for: { days } })),
    condition.map((one) => ({ kind: 'wait_until', any: [one], atMost: { days: 2 } })),
    fc.constant({ kind: 'do', addTags: ['a'] }),
    fc.constant({ kind: 'end' }),
    fc
      .record({ when: condition, inner: tie('list'), others: tie('list') })
      .map(({ when, inner, others }) => ({
        kind: 'branch',
        branches: [{ name: 'x', when: [when], steps: inner }],
        else: others,
      })),
  ),
}));
const named = (all: object[], ids: readonly number[]): CampaignStep[] => {
  const left = [...ids];
  const name = (given: CampaignStep[]): CampaignStep[] =>
    given.map((step) => {
      const id = `s${left.shift() ?? 0}`;
      return step.kind === 'branch'
        ? {
            ...step,
            id,
            branches: step.branches.map((one) => ({ ...one, steps: name(one.steps) })),
            else: name(step.else),
          }
        : { ...step, id };
    });
  return name(steps(...all));
};
/** Ids 0 to 59, so that two trees have about half of them in common, in any places. */
const tree = fc
  .tuple(
    list.filter((all) => all.length > 0),
    fc.uniqueArray(fc.nat(24), { minLength: 25, maxLength: 25 }),
  )
  .filter(([all]) => placedSteps(steps(...all)).length <= 25)
  .map(([all, ids]) => named(all, ids));
/** A lead on its way, as the database keeps it. */
class Journey {
  readonly received: string[] = [];
  /** The messages that it is to get, and of them the one that is being sent. */
  unsent: string[] = [];
  cursor: Cursor | null = { stepId: null, isPassed: false, at: start };
  isOver = false;
  version: CampaignStep[];
  latest: CampaignStep[];
  isSending = false;
  constructor(first: CampaignStep[]) {
    this.version = first;
    this.latest = first;
  }
  take(id: string): void {
    if (this.received.includes(id)) throw new Error(`it gets ${id} twice`);
    this.received.push(id);
  }
  go(facts: Facts, now: Date): void {
    if (this.isOver || this.isSending || this.cursor === null) return;
    const { rest, passed } = atOnce(
      walk(this.version, this.cursor, {
        facts,
        reaches: () => true,
        received: new Set(this.received),
        now,
      }),
    );
    for (const { stepId } of passed) this.take(stepId);
    if (rest.kind === 'waits') this.cursor = { stepId: rest.stepId, isPassed: false, at: rest.at };
    else if (rest.kind === 'sends') {
      this.cursor = null;
      this.unsent = rest.run.flatMap(({ id }) => (this.received.includes(id) ? [] : id));
    } else this.isOver = true;
  }
  /** A message that is being sent is settled before the lead comes to the steps that have changed meanwhile. */
  settle(outcome: 'sent' | 'returned'): void {
    this.isSending = false;
    if (outcome === 'sent') this.send();
    if (this.latest !== this.version) this.edit(this.latest);
  }
  send(): void {
    const id = this.unsent.shift();
    if (id === undefined) return;
    if (!stepsById(this.version).has(id)) throw new Error(`${id} was removed`);
    this.take(id);
    if (this.unsent.length > 0) return;
    this.isOver = this.latest === this.version && !goesOnAfter(this.version, id);
    this.cursor = { stepId: id, isPassed: true, at: start };
  }
  edit(now: CampaignStep[]): void {
    this.latest = now;
    if (this.isSending) return;
    if (!this.isOver) {
      const { stepId, isPassed } = this.cursor ?? { stepId: null, isPassed: false };
      this.cursor = cursorAfterEdit(
        { stepId, isPassed, arrivedAt: start, enteredAt: start },
        {
          old: this.version,
          steps: now,
          received: { steps: new Set(this.received), last: null },
          unsent: this.unsent.map((id) => ({ stepId: id })),
          now: start,
        },
      );
      this.isOver = this.cursor.isPassed;
      this.unsent = [];
    }
    this.version = now;
  }
}

const happening = fc.record({
  sends: fc.constantFrom('starts', 'sent', 'returned', null),
  days: fc.integer({ min: 0, max: 2 }),
  tags: fc.boolean(),
  replies: fc.boolean(),
  edits: fc.option(tree, { freq: 4 }),
});

describe('whatever is edited when', () => {
  it('nobody gets a step twice, and every lead ends', () => {
    fc.assert(
      fc.property(tree, fc.array(happening, { maxLength: 30 }), (first, happenings) => {
        const lead = new Journey(first);
        let now = start;
        let [tags, replies]: [string[], Facts['replies']] = [[], []];
        lead.go(factsOf(tags, replies), now);
        for (const { sends, days, tags: isTagged, replies: replied, edits } of happenings) {
          now = new Date(now.getTime() + days * DAY);
          if (isTagged) tags = ['a'];
          if (replied) replies = [{ at: now, text: 'Yes' }];
          if (sends === 'starts') lead.isSending ||= lead.unsent.length > 0;
          else if (sends !== null && lead.isSending) lead.settle(sends);
          if (edits) lead.edit(edits);
          lead.go(factsOf(tags, replies), now);
        }
        for (let turns = 0; turns < 60 && !lead.isOver; turns += 1) {
          now = new Date(now.getTime() + 3 * DAY);
          if (lead.isSending) lead.settle('returned');
          lead.send();
          lead.go(factsOf(tags, replies), now);
        }
        expect(lead.isOver).toBe(true);
      }),
      { numRuns: 400 },
    );
  });

  it('whoever only sees steps come and go gets them in reading order, and all that are ahead', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.record({ sends: fc.boolean(), where: fc.nat(9), removes: fc.boolean() }), {
          maxLength: 25,
        }),
        (length, happenings) => {
          let count = length;
          let current = steps(...Array.from({ length }, (_, number) => message(`m${number}`)));
          const lead = new Journey(current);
          lead.go(factsOf([], []), start);
          for (const { sends, where, removes } of happenings) {
            if (sends) {
              lead.send();
              lead.go(factsOf([], []), start);
              continue;
            }
            const at = where % (current.length + 1);
            if (lead.isOver || (removes && current.length < 2)) continue;
            const position = Math.max(
              -1,
              ...lead.received.map((id) => current.findIndex((one) => one.id === id)),
            );
            current = removes
              ? current.toSpliced(Math.min(at, current.length - 1), 1)
              : current.toSpliced(at, 0, ...steps(message(`m${(count += 1)}`)));
            const kept = current.filter(({ id = '' }) => !lead.received.includes(id));
            lead.edit(current);
            lead.go(factsOf([], []), start);
            const order = current.map(({ id }) => id);
            const places = lead.unsent.map((id) => order.indexOf(id));
            expect(places).toEqual(places.toSorted((x, y) => x - y));
            // Everything behind the last that it got is ahead of it, the new and the old.
            const last = Math.max(-1, ...lead.received.map((id) => order.indexOf(id)));
            expect(lead.unsent.length).toBeLessThanOrEqual(kept.length);
            if (position >= 0 && last >= 0) for (const place of places) expect(place).toBeGreaterThan(last);
            if (last >= 0) expect(places).toEqual(order.flatMap((_, place) => (place > last ? place : [])));
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it('a message keeps its place without a change', () => {
    fc.assert(
      fc.property(tree, (all) => {
        for (const { id, step } of placedSteps(all)) {
          if (!isMessageStep(step)) continue;
          const list = placedSteps(all).filter((one) => one.next === id);
          const passed = new Set(list.map((one) => one.id));
          expect(nextAfterEdit(all, all, before(id), passed)).toBe(id);
          expect(nextAfterEdit(all, all, at(id), new Set())).toBe(id);
        }
      }),
    );
  });
});
