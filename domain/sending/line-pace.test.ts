import { expect, test } from 'vitest';
import { DEFAULT_LIMITS } from './line-limits.ts';
import { capsOf } from './line-pace.ts';

const START = new Date('2026-03-02T09:00:00Z');
const line = {
  id: '6b0262d4038365ab20002576',
  channel: 'imessage' as const,
  timezone: 'UTC',
  ...DEFAULT_LIMITS.imessage,
  hourlyNew: 5,
  warmupStartedAt: START,
};
const usage = { sentToday: 7, newToday: 4, newThisHour: 1 };

test('a line in its warm-up shows the cap of today and the days until it reaches its limit', () => {
  const caps = capsOf(line, usage, new Date('2026-03-04T10:00:00Z'));
  expect(caps).toMatchObject({
    dailyTotal: { used: 7, limit: 150 },
    dailyNew: { used: 4, limit: 24 },
    hourlyNew: { used: 1, limit: 5 },
    warmup: { startedAt: START.toISOString() },
  });
  expect(caps.warmup?.limits.slice(0, 3)).toEqual([20, 22, 24]);
  expect(caps.warmup?.limits.at(-1)).toBe(50);
});

test('a line without a warm-up, or after its warm-up, shows its own limit', () => {
  const after = new Date('2026-06-01T10:00:00Z');
  expect(capsOf(line, usage, after)).toMatchObject({ dailyNew: { limit: 50 }, warmup: null });
  expect(capsOf({ ...line, warmupStartedAt: null }, usage, START)).toMatchObject({
    dailyNew: { limit: 50 },
    warmup: null,
  });
});
