import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { forEachConcurrently, forEachInTurn } from './for-each.ts';

const running = new AbortController().signal;

describe('forEachInTurn', () => {
  it('works on what follows an item that fails, and throws at the end', async () => {
    const ended: number[] = [];
    const work = async (item: number): Promise<void> => {
      if (item < 3) throw new Error(`failed ${item}`);
      ended.push(item);
    };
    await expect(forEachInTurn([1, 2, 3, 4], running, work)).rejects.toThrow('failed 1');
    expect(ended).toEqual([3, 4]);
  });
});

describe('forEachConcurrently', () => {
  it('works on as many items at once as it may', async () => {
    let [current, most] = [0, 0];
    await forEachConcurrently([1, 2, 3, 4, 5], { atOnce: 2, canceled: running }, async () => {
      current += 1;
      most = Math.max(most, current);
      await turn();
      current -= 1;
    });
    expect(most).toBe(2);
  });

  it('throws the first error after the items that have started, and starts no more', async () => {
    const ended: number[] = [];
    const work = async (item: number): Promise<void> => {
      if (item === 1) throw new Error('lock timeout');
      await turn();
      ended.push(item);
    };
    await expect(forEachConcurrently([1, 2, 3], { atOnce: 2, canceled: running }, work)).rejects.toThrow(
      'lock timeout',
    );
    expect(ended).toEqual([2]);
  });

  it('starts no more items once canceled', async () => {
    const canceling = new AbortController();
    const started: number[] = [];
    await forEachConcurrently([1, 2, 3], { atOnce: 1, canceled: canceling.signal }, async (item) => {
      started.push(item);
      if (item === 2) canceling.abort();
    });
    expect(started).toEqual([1, 2]);
  });
});
