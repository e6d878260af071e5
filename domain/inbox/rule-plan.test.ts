import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OpeningHours } from './opening-hours.ts';
import { RuleInput } from './rule.ts';
import { noAnswerAt, planOf, TEXT_EVERY_MS, type Texted, type Waiting } from './rule-plan.ts';

const now = new Date('2026-11-30T15:00:00Z'); // Monday, 10:00 in New York
const OFFICE = OpeningHours.parse({ hours: [{ days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' }] });
const contact = (fields: Partial<Texted> = {}): Texted => ({
  barredBy: null,
  lastTextAt: null,
  hours: OFFICE,
  timezone: 'America/New_York',
  snippets: new Map([['6b0000000000000000000001', 'From the snippet']]),
  ...fields,
});
const rule = (...actions: object[]) => RuleInput.parse({ name: 'A rule', on: 'reply', do: actions }).do;

describe('what a rule does', () => {
  it('is all that it says, of several replies the first that may be sent', () => {
    const away = { reply: { text: 'We are closed', outsideHoursOnly: true } };
    const actions = rule(
      { addTags: ['new'], ...away },
      { reply: { text: 'One moment' }, snooze: { hours: 2 } },
    );
    expect(planOf(actions, contact(), now)).toMatchObject({
      lead: [{ addTags: ['new'] }, {}],
      text: 'One moment',
      withheld: null,
      conversation: { status: 'snoozed', snoozedUntil: new Date('2026-11-30T17:00:00Z') },
      did: ['addTags', 'reply', 'snooze'],
    });
    const night = new Date('2026-12-01T03:00:00Z');
    expect(planOf(actions, contact(), night).text).toBe('We are closed');
    expect(planOf(rule(away), contact(), now)).toMatchObject({ text: null, withheld: 'open_hours', did: [] });
  });

  it('takes the text of a snippet, unless that was deleted', () => {
    const actions = rule({ reply: { snippetId: '6b0000000000000000000001' } });
    expect(planOf(actions, contact(), now).text).toBe('From the snippet');
    expect(planOf(actions, contact({ snippets: new Map() }), now).withheld).toBe('no_snippet');
  });

  it('sends nothing to whom nothing may be sent, and does the rest', () => {
    const actions = rule({ reply: { text: 'Hello' }, close: true, notify: true });
    expect(planOf(actions, contact({ barredBy: 'opted_out' }), now)).toMatchObject({
      text: null,
      withheld: 'opted_out',
      conversation: { status: 'closed' },
      notifies: true,
      did: ['close', 'notify'],
    });
  });

  it('texts a contact once in 12 hours, whatever the rules are and however often something happens', () => {
    const action = fc.record(
      {
        reply: fc.record({ text: fc.constantFrom('One', 'Two'), outsideHoursOnly: fc.boolean() }),
        addTags: fc.constant(['tag']),
        notify: fc.constant(true),
      },
      { requiredKeys: [] },
    );
    const rules = fc.array(
      fc.array(
        action.filter((one) => Object.keys(one).length > 0),
        { minLength: 1, maxLength: 3 },
      ),
      { minLength: 1, maxLength: 5 },
    );
    // The contact answers each text at once, as a program would, and writes or calls in between.
    const happenings = fc.array(fc.integer({ min: 0, max: 20 * 3_600_000 }), { maxLength: 40 });
    fc.assert(
      fc.property(rules, happenings, (all, pauses) => {
        const texts: number[] = [];
        let [at, runs] = [now.getTime(), 0];
        const answers: number[] = [];
        function happens(): void {
          for (const actions of all) {
            runs += 1;
            const last = texts.at(-1);
            const lastTextAt = last === undefined ? null : new Date(last);
            const plan = planOf(rule(...actions), contact({ lastTextAt }), new Date(at));
            // A plan has nothing that a rule could follow.
            expect(Object.keys(plan).toSorted()).toEqual([
              'conversation',
              'did',
              'lead',
              'notifies',
              'text',
              'withheld',
            ]);
            if (plan.text === null) continue;
            texts.push(at);
            answers.push(at);
          }
        }
        for (const pause of pauses) {
          at += pause;
          happens();
          while (answers.shift() !== undefined) happens();
        }
        const gaps = texts.slice(1).map((text, index) => text - (texts[index] ?? 0));
        expect(gaps.every((gap) => gap >= TEXT_EVERY_MS)).toBe(true);
        // One round for each happening, and one for each answered text.
        expect(runs).toBe(all.length * (pauses.length + texts.length));
      }),
    );
  });
});

describe('a contact whom nobody answers', () => {
  const since = new Date('2026-11-30T12:00:00Z');
  const HOUR = 3_600_000;
  const at = (fields: Partial<Waiting>) =>
    noAnswerAt({ status: 'open', snoozedUntil: null, since, lastRunAt: null, ...fields }, HOUR);

  it('waits since the first message, until the rule was done or the conversation is closed', () => {
    expect(at({})).toEqual(new Date('2026-11-30T13:00:00Z'));
    expect(at({ since: null })).toBeNull();
    expect(at({ status: 'closed' })).toBeNull();
    expect(at({ lastRunAt: new Date('2026-11-30T13:00:00Z') })).toBeNull();
    expect(at({ lastRunAt: new Date('2026-11-30T11:00:00Z') })).not.toBeNull();
  });

  it('waits until a snooze is over', () => {
    const snoozedUntil = new Date('2026-11-30T18:00:00Z');
    expect(at({ status: 'snoozed', snoozedUntil })).toEqual(snoozedUntil);
    expect(at({ status: 'snoozed', snoozedUntil: new Date('2026-11-30T12:30:00Z') })).toEqual(
      new Date('2026-11-30T13:00:00Z'),
    );
  });
});
