import { describe, expect, it } from 'vitest';
import { createInTaskRounds } from './in-task-rounds.ts';

const never = new AbortController().signal;
/** A round that lasts until it is ended. */
function lasting() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { round: () => promise, end: () => resolve('done') };
}

describe('rounds within workflow tasks', () => {
  it('take place up to 30 at once', async () => {
    const rounds = createInTaskRounds();
    const { round, end } = lasting();
    const running = Array.from({ length: 30 }, () => rounds.run('a', never, round));
    expect(await rounds.run('a', never, round)).toBeNull();
    end();
    expect(await Promise.all(running)).toEqual(running.map(() => 'done'));
    expect(await rounds.run('a', never, round)).toBe('done');
  });

  it('give back the places of rounds that failed', async () => {
    const rounds = createInTaskRounds();
    const fails = () => Promise.reject(new Error('failed'));
    for (let n = 0; n < 31; n += 1) await expect(rounds.run('a', never, fails)).rejects.toThrow('failed');
  });

  it('do not take place where one took too long, and do elsewhere', async () => {
    const rounds = createInTaskRounds();
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
