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
