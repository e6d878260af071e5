import { expect, test } from 'vitest';
import { retryAt } from './webhook-retries.ts';

const NOW = new Date('2026-03-02T12:00:00.000Z');
const secondsUntil = (attempt: Partial<Parameters<typeof retryAt>[0]>): number | null => {
  const at = retryAt({ attempts: 1, status: 503, blocked: false, retryAfter: null, ...attempt }, NOW);
  return at && (at.getTime() - NOW.getTime()) / 1000;
};

test('an attempt is followed by six more, the last after a day', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7].map((attempts) => secondsUntil({ attempts }));
  expect(delays).toEqual([5, 60, 600, 3600, 21_600, 86_400, null]);
});

test.each([null, 408, 429, 500, 503, 599])('%s is retried', (status) => {
  expect(secondsUntil({ status })).toBe(5);
});

test.each([301, 400, 401, 404, 410, 422])('%s is not retried', (status) => {
  expect(secondsUntil({ status })).toBeNull();
});

test('nothing is retried where nothing may be sent', () => {
  expect(secondsUntil({ status: null, blocked: true })).toBeNull();
});

test('an endpoint may ask for more time, in seconds or by a date, but for a day at most', () => {
  const after = (retryAfter: string) => secondsUntil({ status: 429, retryAfter });
  expect(after('120')).toBe(120);
  expect(after('Mon, 02 Mar 2026 12:05:00 GMT')).toBe(300);
  expect([after('1'), after('soon'), after('Mon, 02 Mar 2026 11:00:00 GMT')]).toEqual([5, 5, 5]);
  expect(after('999999999')).toBe(86_400);
});

const MINUTE_MS = 60_000;
const DOWN_MS = 120 * MINUTE_MS;

/** What an endpoint gets of an event a minute while it answers 503 for two hours: how many, in which attempt, and after how many seconds. */
function deliveredLate(retries: 'none' | 'standard') {
  const late = Array.from({ length: 120 }, (_, minute) => {
    const happened = NOW.getTime() + minute * MINUTE_MS;
    let at: Date | null = new Date(happened);
    for (let attempts = 1; ; attempts += 1) {
      if (at === null) return 'never';
      if (at.getTime() >= NOW.getTime() + DOWN_MS)
        return `attempt ${attempts}, after ${(at.getTime() - happened) / 1000} s`;
      const failure = { attempts, status: 503, blocked: false, retryAfter: null };
      at = retries === 'none' ? null : retryAt(failure, at);
    }
  });
  return Object.fromEntries([...Map.groupBy(late, (how) => how)].map(([how, { length }]) => [how, length]));
}

// As docs/webhooks.md says.
test('an endpoint that is down for two hours gets everything with retries, and nothing of it without', () => {
  expect(deliveredLate('none')).toEqual({ never: 120 });
  expect(deliveredLate('standard')).toEqual({
    'attempt 3, after 65 s': 1,
    'attempt 4, after 665 s': 10,
    'attempt 5, after 4265 s': 60,
    'attempt 6, after 25865 s': 49,
  });
});
