import { afterEach, describe, expect, it, vi } from 'vitest';
import { createBriefRounds } from './brief-rounds.ts';

const never = new AbortController().signal;
/** A round that lasts until it is ended. */
function lasting() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { round: () => promise, end: () => resolve('done') };
}

describe('brief rounds', () => {
  afterEach(() => void vi.useRealTimers());

  it('take place up to 12 of a carrier at once; others wait, up to 30 in all', async () => {
    const rounds = createBriefRounds();
    const { round, end } = lasting();
    const started = vi.fn(round);
    const running = Array.from({ length: 30 }, () => rounds.run('a', never, started));
    expect(await rounds.run('a', never, started)).toBeNull();
    await vi.waitFor(() => expect(started).toHaveBeenCalledTimes(12));
    end();
    expect(await Promise.all(running)).toEqual(running.map(() => 'done'));
    expect(await rounds.run('a', never, started)).toBe('done');
  });

  it('do not wait longer than a second', async () => {
    vi.useFakeTimers();
    const rounds = createBriefRounds();
    const { round } = lasting();
    const running = Array.from({ length: 12 }, () => rounds.run('a', never, round));
    const waiting = rounds.run('a', never, round);
    await vi.advanceTimersByTimeAsync(1000);
    expect(await waiting).toBeNull();
    expect(running).toHaveLength(12);
  });

  it('give back the places of rounds that failed', async () => {
    const rounds = createBriefRounds();
    const fails = () => Promise.reject(new Error('failed'));
    for (let n = 0; n < 31; n += 1) await expect(rounds.run('a', never, fails)).rejects.toThrow('failed');
  });

  it('do not take place where one took too long, and do elsewhere', async () => {
    const rounds = createBriefRounds();
    const cut = new AbortController();
    const { round, end } = lasting();
    const slow = rounds.run('a', cut.signal, round);
    cut.abort();
    expect(await rounds.run('a', never, round)).toBeNull();
    end();
    expect(await slow).toBe('done');
    expect(await rounds.run('b', never, round)).toBe('done');
  });
});
