import { describe, expect, it } from 'vitest';
import { mapInTurns, nextTurn, yielding } from './turns.ts';

/** Holds the event loop, in milliseconds. */
function hold(time: number): void {
  const end = performance.now() + time;
  while (performance.now() < end);
}

/** Counts the iterations of the event loop until it is stopped. */
function countIterations(): { readonly count: number; stop: () => void } {
  let count = 0;
  const next = (): void => {
    count += 1;
    immediate = setImmediate(next);
  };
  let immediate = setImmediate(next);
  return {
    get count() {
      return count;
    },
    stop: () => clearImmediate(immediate),
  };
}

describe('turns of the event loop', () => {
  it('are given to one at a time, in their order', async () => {
    const iterations = countIterations();
    const order: [string, number][] = [];
    await Promise.all(
      ['a', 'b', 'c'].map((name) => nextTurn().then(() => order.push([name, iterations.count]))),
    );
    iterations.stop();
    expect(order.map(([name]) => name)).toEqual(['a', 'b', 'c']);
    expect(new Set(order.map(([, iteration]) => iteration)).size).toBe(3);
  });

  it.each([
    ['map', mapInTurns],
    [
      'take',
      async (items: number[], work: (item: number) => number) => {
        const results: number[] = [];
        for await (const item of yielding(items)) results.push(work(item));
        return results;
      },
    ],
  ])('others get theirs while a long list is worked on: %s', async (_name, run) => {
    const iterations = countIterations();
    const seen: number[] = [];
    const doubled = await run([1, 2, 3], (item) => {
      seen.push(iterations.count);
      hold(11);
      return item * 2;
    });
    iterations.stop();
    expect(doubled).toEqual([2, 4, 6]);
    expect(new Set(seen).size).toBe(3);
  });
});
