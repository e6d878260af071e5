import { describe, expect, it } from 'vitest';
import { takeFairly } from './fair-batch.ts';

const queuesOf = (lengths: Record<string, number>): Map<string, string[]> =>
  new Map(
    Object.entries(lengths).map(([name, length]) => [
      name,
      Array.from({ length }, (_, index) => `${name}${index}`),
    ]),
  );

describe('takeFairly', () => {
  it('takes everything, in the order of each queue, if it fits', () => {
    const queues = queuesOf({ a: 2, b: 1 });
    expect(takeFairly(queues, 10)).toEqual(['a0', 'a1', 'b0']);
    expect(queues.size).toBe(0);
  });

  it('takes all of a short queue, however long the others are', () => {
    expect(takeFairly(queuesOf({ long: 100, short: 2 }), 10)).toEqual(
      expect.arrayContaining(['short0', 'short1']),
    );
  });

  it('fills the batch with what a long queue has', () => {
    const queues = queuesOf({ long: 100, short: 2 });
    expect(takeFairly(queues, 10)).toHaveLength(10);
    expect(queues.get('long')).toHaveLength(92);
  });

  it('serves next time who got nothing, if there are more queues than places', () => {
    const queues = queuesOf({ a: 2, b: 2, c: 2 });
    expect([takeFairly(queues, 2), takeFairly(queues, 2), takeFairly(queues, 2)]).toEqual([
      ['a0', 'b0'],
      ['c0', 'a1'],
      ['b1', 'c1'],
    ]);
  });
});
