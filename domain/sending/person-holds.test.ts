import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { dayBounds } from '../base/calendar.ts';
import { type PacedLine, usedUpAt } from './holds.ts';
import { DEFAULT_LIMITS } from './line-limits.ts';
import { chooseSends, planQueue, type QueuedMessage } from './pacing.ts';
import { personHold } from './person-holds.ts';

const NOW = new Date('2026-06-10T14:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * HOUR);
const inHours = (hours: number): Date => hoursAgo(-hours);

describe('a message of a campaign is held', () => {
  const rules = { frequencyCap: { messages: 1, days: 7 }, contactBusy: true };
  const nothing = { cappedSince: null, memberAnsweredAt: null };
  const held = (
    facts: Partial<typeof nothing | { cappedSince: Date; memberAnsweredAt: Date }>,
    isAnswer = false,
  ) => personHold(rules, { ...nothing, ...facts }, isAnswer, NOW);

  it.each([
    [
      'by the cap, until the oldest message no longer counts',
      { cappedSince: hoursAgo(1) },
      ['frequency_cap', 167],
    ],
    ['by the cap no longer, once it does not count', { cappedSince: hoursAgo(7 * 24) }, null],
    ['for a day after a member wrote', { memberAnsweredAt: hoursAgo(1) }, ['contact_busy', 23]],
    ['no longer, a day after a member wrote', { memberAnsweredAt: hoursAgo(24) }, null],
    [
      'by the longer of both',
      { cappedSince: hoursAgo(167), memberAnsweredAt: hoursAgo(2) },
      ['contact_busy', 22],
    ],
  ] as const)('%s', (_, facts, expected) => {
    const hold = held(facts);
    expect(hold && [hold.reason, (hold.until.getTime() - NOW.getTime()) / HOUR]).toEqual(expected);
  });

  it('as an answer by no cap, but while a member writes', () => {
    expect(held({ cappedSince: hoursAgo(1) }, true)).toBeNull();
    expect(held({ memberAnsweredAt: hoursAgo(1) }, true)?.reason).toBe('contact_busy');
  });

  it('by nothing that is switched off', () => {
    const off = { frequencyCap: null, contactBusy: false };
    expect(
      personHold(off, { cappedSince: hoursAgo(1), memberAnsweredAt: hoursAgo(1) }, false, NOW),
    ).toBeNull();
  });
});

const timeOfDay = fc.constantFrom('08:00', '12:30', '20:00');
const situation = fc.record({
  cap: fc.option(
    fc.record({ messages: fc.integer({ min: 1, max: 3 }), days: fc.integer({ min: 1, max: 9 }) }),
  ),
  answeredAfter: fc.array(fc.integer({ min: -20, max: 200 }), { maxLength: 3 }),
  contactGapSeconds: fc.constantFrom(0, 60, 9000),
  dailyTotal: fc.constantFrom(1, 150),
  quiet: fc.record({ start: timeOfDay, end: timeOfDay }),
  messages: fc.array(
    fc.record({
      line: fc.constantFrom('one', 'two'),
      address: fc.constantFrom('phone', 'mail'),
      afterHours: fc.integer({ min: -5, max: 100 }),
    }),
    { minLength: 1, maxLength: 7 },
  ),
});

test('caps on persons, conversations, pacing and quiet hours bind together, and everything is sent', () => {
  fc.assert(
    fc.property(situation, ({ cap, answeredAfter, contactGapSeconds, dailyTotal, quiet, messages }) => {
      const rules = { frequencyCap: cap, contactBusy: true };
      const line = (id: string): PacedLine => ({
        id,
        channel: 'imessage',
        active: true,
        down: false,
        timezone: 'America/New_York',
        ...DEFAULT_LIMITS.imessage,
        dailyTotal,
        hourlyNew: 5,
        minGapSeconds: 0,
        contactGapSeconds,
        warmupStartedAt: null,
        usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
        quiet: {
          workspace: { enabled: true, ...quiet, law: 'none', appliesTo: ['campaign'] },
          campaigns: new Map(),
        },
      });
      const lines = [line('one'), line('two')];
      const queue = messages.map(({ line: lineId, address, afterHours }, index) => ({
        id: String(index),
        lineId,
        address,
        scheduledAt: inHours(afterHours),
        moves: 0,
      }));
      const sent: { at: Date; address: string; lineId: string }[] = [];
      const answers = answeredAfter.map(inHours).toSorted((a, b) => a.getTime() - b.getTime());
      let now = NOW;
      let looks = 0;
      for (; queue.length > 0; looks += 1) {
        if (looks > 2000) throw new Error(`${queue.length} messages are pushed on for ever`);
        let next: Date | null = answers.find((at) => at > now) ?? null;
        const soon = (at: Date | null): void => {
          if (at !== null && (next === null || at < next)) next = at;
        };
        for (const paced of lines) {
          const memberAnsweredAt = answers.findLast((at) => at <= now) ?? null;
          const cappedSince = cap === null ? null : (sent.at(-cap.messages)?.at ?? null);
          const hold = personHold(rules, { cappedSince, memberAnsweredAt }, false, now);
          const mine = queue
            .filter(({ lineId }) => lineId === paced.id)
            .map(({ id, address, scheduledAt }, index): QueuedMessage => ({
              id,
              address,
              scheduledAt,
              arrival: index,
              isNew: false,
              isAnswer: false,
              contactLastSentAt: sent.findLast((one) => one.address === address)?.at ?? null,
              recipient: { kind: 'campaign', campaignId: null, zones: null, region: null },
              leadId: 'lead',
              isStep: true,
              personHold: hold,
            }));
          const { start } = dayBounds(paced.timezone, now);
          const sentToday = sent.filter((one) => one.lineId === paced.id && one.at >= start).length;
          const history = { sentToday, newToday: 0, newThisHour: 0, lastSentAt: null };
          paced.usedUp = usedUpAt(paced, history, now);
          const lanes = mine.map(({ id, scheduledAt, recipient }) => ({
            key: id,
            isNew: false,
            ...(recipient && { recipient }),
            firstAt: scheduledAt,
            laterAt: scheduledAt > now ? scheduledAt : null,
          }));
          const { open, next: look } = planQueue(paced, history, lanes, now);
          const found = mine.filter(
            ({ id, scheduledAt }) =>
              scheduledAt <= now && open.some(({ key, since }) => key === id && since <= scheduledAt),
          );
          const choice = chooseSends(paced, history, found, now, { batch: 16 });
          for (const id of choice.send) {
            const [message] = queue.splice(
              queue.findIndex((one) => one.id === id),
              1,
            );
            sent.push({ at: now, address: message?.address ?? '', lineId: paced.id });
            expect(hold).toBeNull();
          }
          for (const message of queue) {
            const until = choice.held.get(message.id)?.until ?? null;
            if (until !== null) {
              expect(until > now).toBe(true);
              message.scheduledAt = until;
              message.moves += 1;
            } else if (
              choice.contactGaps.has(message.address) &&
              message.lineId === paced.id &&
              message.scheduledAt <= now
            )
              message.scheduledAt = choice.contactGaps.get(message.address) ?? now;
            soon(message.scheduledAt > now ? message.scheduledAt : null);
          }
          soon(choice.send.length > 0 ? new Date(now.getTime() + 1) : look.at);
        }
        now = next !== null && next > now ? next : new Date(now.getTime() + 1000);
        // A hold begins anew only after a send or an answer.
        for (const { moves } of queue) expect(moves).toBeLessThanOrEqual(sent.length + answers.length + 1);
      }
      for (const { at } of sent) {
        if (cap !== null) {
          const since = at.getTime() - cap.days * DAY;
          const within = sent.filter((one) => one.at.getTime() > since && one.at <= at);
          expect(within.length).toBeLessThanOrEqual(cap.messages);
        }
        expect(answers.some((answer) => answer <= at && at.getTime() < answer.getTime() + DAY)).toBe(false);
      }
    }),
    { numRuns: 300 },
  );
});
