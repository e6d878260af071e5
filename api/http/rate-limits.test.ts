import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#providers/log.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';

/** What a carrier reports is counted in memory, so nothing connects to this database. */
const NO_DATABASE = 'postgres://nobody@localhost:1/none';

let limits: RateLimits;
beforeEach(() => {
  vi.useFakeTimers();
  limits = createRateLimits(NO_DATABASE, 10, createLogger('api', 'silent'));
});
afterEach(async () => {
  await limits.close();
  vi.useRealTimers();
});

/** @returns how many of so many callbacks of a line, all at once, are accepted. */
async function accepted(lineId: string, callbacks: number): Promise<number> {
  const results = await Promise.allSettled(
    Array.from({ length: callbacks }, () => limits.consumeCallback(lineId)),
  );
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'RATE_LIMITED' });
  return results.filter(({ status }) => status === 'fulfilled').length;
}

describe('callbacks of a line', () => {
  it('are accepted up to a thousand beyond a hundred a second, for each line', async () => {
    expect(await accepted('busy', 1500)).toBe(1100);
    expect(await accepted('other', 1)).toBe(1);
  });

  it('are accepted at a hundred a second without end', async () => {
    for (let second = 0; second < 180; second += 1) {
      expect(await accepted('steady', 100)).toBe(100);
      await vi.advanceTimersByTimeAsync(1000);
    }
  });

  it('are accepted again after a burst: a hundred after a second, a thousand more after a minute', async () => {
    await accepted('busy', 1500);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await accepted('busy', 200)).toBe(100);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await accepted('busy', 1500)).toBe(1100);
  });
});
