import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from './line-limits.ts';
import type { PacedLine } from './holds.ts';
import { holdsOf, planQueue } from './pacing.ts';

const NOW = new Date('2026-06-10T14:20:00Z');
const inMinutes = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const sometime = fc.option(fc.integer({ min: -120, max: 600 }).map(inMinutes));
const lines: fc.Arbitrary<PacedLine> = fc
  .record({
    active: fc.boolean(),
    down: fc.boolean(),
    paused: fc.boolean(),
    pastDue: fc.boolean(),
    usable: fc.boolean(),
    circuit: fc.option(fc.integer({ min: 1, max: 5 }).map((minutes) => inMinutes(minutes))),
    usedUp: fc.record({ hourlyNew: sometime, dailyNew: sometime, dailyTotal: sometime }),
    minGapSeconds: fc.constantFrom(0, 20, 600),
  })
  .map(({ usable, circuit, ...line }) => ({
    id: 'line-1',
    channel: 'imessage',
    timezone: 'America/New_York',
    ...DEFAULT_LIMITS.imessage,
    hourlyNew: 5,
    warmupStartedAt: null,
    ...line,
    // Otherwise hardly any line could send.
    ...(usable && { active: true, down: false, paused: false, pastDue: false }),
    ...(circuit && { circuit: { state: 'open' as const, until: circuit, trials: 0 } }),
  }));

test('no message that is due before the end of a hold may be sent before it', () => {
  fc.assert(
    fc.property(
      lines,
      fc.option(fc.integer({ min: -15, max: 0 }).map(inMinutes)),
      fc.boolean(),
      fc.integer({ min: 0, max: 600 }).map(inMinutes),
      (line, lastSentAt, isNew, time) => {
        const { all, newContacts } = holdsOf(line, { lastSentAt }, NOW);
        const applying = [all, isNew ? newContacts : null].filter((hold) => hold !== null);
        const isHeld = applying.some(({ at }) => at === null || time < at);
        const lane = { key: 'a', isNew, firstAt: time, laterAt: null };
        const { open } = planQueue(line, { lastSentAt }, [lane], time);
        if (isHeld) expect(open).toEqual([]);
      },
    ),
    { numRuns: 2000 },
  );
});

test('a line that can send holds no message', () => {
  fc.assert(
    fc.property(lines, fc.boolean(), (line, isNew) => {
      const { all, newContacts } = holdsOf(line, { lastSentAt: null }, NOW);
      const lane = { key: 'a', isNew, firstAt: NOW, laterAt: null };
      const { open } = planQueue(line, { lastSentAt: null }, [lane], NOW);
      if (open.length > 0) expect([all, isNew ? newContacts : null]).toEqual([null, null]);
    }),
  );
});
