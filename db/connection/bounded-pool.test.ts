import type { DatabasePool, QuerySqlToken } from 'slonik';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isStuck } from '#providers/readiness.ts';
import { AcquireTimeoutError, boundPool, watchPools } from './bounded-pool.ts';
import { isOverload } from './overload.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const query = {} as QuerySqlToken;

/** A pool whose queries end when they are told to. */
function startedPool() {
  const ends: ((value: unknown) => void)[] = [];
  const pool = { query: () => new Promise((resolve) => ends.push(resolve)) };
  const others = ['any', 'anyFirst', 'connect', 'exists', 'many', 'manyFirst', 'maybeOne', 'maybeOneFirst'];
  const more = ['one', 'oneFirst', 'record', 'stream', 'transaction'];
  const unused = Object.fromEntries([...others, ...more].map((name) => [name, () => Promise.resolve()]));
  return { pool: { ...unused, ...pool } as unknown as DatabasePool, ends };
}

test('work that gets no connection in time fails as overload, never starts, and takes no later turn', async () => {
  const { pool, ends } = startedPool();
  const bounded = boundPool(pool, { size: 1, acquireMs: 5000 });
  const first = bounded.query(query);
  const late = bounded.query(query).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(5000);
  const error = await late;
  expect(error).toBeInstanceOf(AcquireTimeoutError);
  expect(isOverload(error)).toBe(true);

  const next = bounded.query(query);
  ends[0]?.('first');
  expect(await first).toBe('first');
  await vi.advanceTimersByTimeAsync(0);
  expect(ends).toHaveLength(2);
  ends[1]?.('next');
  expect(await next).toBe('next');
});

test('a process is stuck when nothing has succeeded in one of its pools for a minute, until something does', async () => {
  const [idle, hanging] = [startedPool(), startedPool()];
  const pools = [idle, hanging].map(({ pool }) => boundPool(pool, { size: 1, acquireMs: 5000 }));
  const watch = watchPools(pools, (pool) => pool.query(query));
  for (let seconds = 0; seconds < 60; seconds += 10) {
    await vi.advanceTimersByTimeAsync(10_000);
    idle.ends.splice(0).forEach((end) => end(null));
    expect(isStuck({ watch })).toBe(false);
  }
  await vi.advanceTimersByTimeAsync(10_000);
  idle.ends.splice(0).forEach((end) => end(null));
  expect(isStuck({ watch })).toBe(true);

  hanging.ends.splice(0).forEach((end) => end(null));
  await vi.advanceTimersByTimeAsync(0);
  expect(isStuck({ watch })).toBe(false);
  watch.close();
});
