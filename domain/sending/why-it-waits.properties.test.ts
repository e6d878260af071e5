import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LineHistory, type PacedLine, usedUpAt } from './holds.ts';
import { DEFAULT_LIMITS } from './line-limits.ts';
import { ProvisioningStatus } from '../lines/line.ts';
import { chooseSends, type Lane, planQueue, type QueuedMessage } from './pacing.ts';
import { whyItWaits } from './why-it-waits.ts';

const MINUTE = 60_000;
// Five minutes before a local midnight, at noon, and in the night in which the clocks change.
const moment = fc
  .constantFrom('2026-06-11T03:55:00Z', '2026-06-10T16:00:00Z', '2026-11-01T05:30:00Z')
  .map((text) => new Date(text));
const timeOfDay = fc.constantFrom('00:00', '08:00', '12:30', '23:58');
const rarely = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { freq: 1 });
const mostly = <T>(usual: T, value: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: value });

const situation = moment.chain((now) => {
  const around = fc
    .integer({ min: -900, max: 900 })
    .map((minutes) => new Date(now.getTime() + minutes * MINUTE));
  const soon = fc.integer({ min: 1, max: 300 }).map((seconds) => new Date(now.getTime() + seconds * 1000));
  const line: fc.Arbitrary<PacedLine> = fc
    .record({
      active: mostly(true, fc.boolean()),
      provisioning: mostly('active', fc.constantFrom(...ProvisioningStatus.options)),
      unconnected: mostly(false, fc.boolean()),
      paused: mostly(false, fc.boolean()),
      suspended: mostly(false, fc.boolean()),
      pastDue: mostly(false, fc.boolean()),
      down: mostly(false, fc.boolean()),
      circuit: fc.oneof(
        fc.constant({ state: 'closed' } as const),
        fc.constant({ state: 'trial', trials: 0 } as const),
        soon.map((until) => ({ state: 'open', until, trials: 0 }) as const),
      ),
      lastFailure: rarely(fc.constantFrom('503', 'credentials refused: 20003')),
      restsUntil: rarely(around),
      quiet: fc.record({ enabled: fc.boolean(), start: timeOfDay, end: timeOfDay }).map((hours) => ({
        workspace: { ...hours, law: 'none' as const, appliesTo: ['message' as const] },
        campaigns: new Map(),
      })),
      usedUp: fc.record({ hourlyNew: rarely(around), dailyNew: rarely(around), dailyTotal: rarely(around) }),
      minGapSeconds: fc.constantFrom(0, 20, 600),
    })
    .map((given) => ({
      id: 'line-1',
      channel: 'imessage' as const,
      timezone: 'America/New_York',
      ...DEFAULT_LIMITS.imessage,
      hourlyNew: 5,
      warmupStartedAt: null,
      ...given,
    }));
  const message = fc
    .record({
      isNew: fc.boolean(),
      isAnswer: mostly(false, fc.boolean()),
      scheduledAt: around,
      window: fc.option(
        fc.record({ timezone: fc.constant('America/New_York'), start: timeOfDay, end: timeOfDay }),
      ),
      zones: fc.option(fc.constantFrom(['Asia/Tokyo'], ['America/New_York', 'America/Denver'])),
      optedOut: mostly(false, fc.boolean()),
    })
    .map(({ window, zones, isNew, isAnswer, ...rest }) => ({
      ...rest,
      isAnswer,
      isNew: isNew && !isAnswer,
      ...(window && { window }),
      recipient: { kind: 'message' as const, campaignId: null, zones, region: null },
    }));
  return fc.record({
    now: fc.constant(now),
    line,
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    history: fc.record({
      sentToday: mostly(0, fc.constantFrom(149, 150)),
      newToday: mostly(0, fc.constantFrom(49, 50)),
      newThisHour: mostly(0, fc.constantFrom(4, 5)),
      lastSentAt: fc.option(
        fc.integer({ min: 1, max: 900 }).map((ago) => new Date(now.getTime() - ago * 1000)),
      ),
    }),
  });
});

/** The plan of a line whose messages have a lane each, as the send plan makes it. */
function plan(line: PacedLine, history: LineHistory, queue: readonly QueuedMessage[], now: Date) {
  const lanes = queue.map(({ id, isNew, scheduledAt, window, recipient }): Lane => ({
    key: id,
    isNew,
    ...(window && { window }),
    ...(recipient && { recipient }),
    firstAt: scheduledAt,
    laterAt: scheduledAt > now ? scheduledAt : null,
  }));
  const { open, next } = planQueue(line, history, lanes, now);
  const found = queue.filter(({ id, isAnswer, scheduledAt }) =>
    open.some(
      ({ key, since, answersOnly }) =>
        key === id && scheduledAt >= since && scheduledAt <= now && (isAnswer || !answersOnly),
    ),
  );
  return { send: chooseSends(line, history, found, now, { batch: 16 }).send, next };
}

test('the plan sends only what waits for nothing but its turn, and otherwise looks again when the first wait ends', () => {
  fc.assert(
    fc.property(situation, ({ now, line: given, messages, history }) => {
      const line = { ...given, usedUp: usedUpAt(given, history, now) };
      const queue = messages.map((message, index) => ({
        ...message,
        id: `${index}`,
        address: `contact ${index}`,
        arrival: index,
        contactLastSentAt: null,
      }));
      const { send, next } = plan(line, history, queue, now);
      const waits = new Map(
        queue.map((message) => [
          message.id,
          whyItWaits({ ...line, lastSentAt: history.lastSentAt }, message, now),
        ]),
      );
      const isTrial = line.circuit?.state === 'trial';
      const isInTurn = (id: string): boolean => {
        const { reason, until } = waits.get(id) ?? { reason: null, until: null };
        // Of those that wait for a trial, one makes it.
        if (isTrial && (reason === 'carrier_pause' || reason === 'credentials_refused')) return true;
        return reason === 'scheduled' && until === null;
      };
      for (const id of send) expect([id, isInTurn(id)]).toEqual([id, true]);
      if (send.length > 0) return;
      const isInGap = next.reason === 'line_gap';
      const shown = queue.filter(({ optedOut }) => !optedOut);
      expect(shown.filter(({ id }) => isInTurn(id) && !(isTrial && isInGap))).toEqual([]);
      for (const { id, scheduledAt } of shown) {
        // What falls due while its cap is used up is looked at when that ends.
        if (scheduledAt > now) continue;
        const { reason, until } = waits.get(id) ?? { reason: null, until: null };
        if (next.at === null) expect([reason, until]).toEqual([next.reason, null]);
        // The line may have to wait out its gap first.
        if (until !== null && next.at !== null && !isInGap) expect(next.at <= until).toBe(true);
      }
    }),
    { numRuns: 3000 },
  );
});
