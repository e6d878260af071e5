import { expect, test, vi } from 'vitest';
import { type BatchOptions, createBatches } from './batches.ts';

/** Batches whose work ends when `finish` is called. */
function heldBatches(options: BatchOptions, refused: readonly string[] = []) {
  const calls: { owner: string; items: readonly string[]; finish(): void }[] = [];
  const batches = createBatches<string>(
    (owner, items) =>
      new Promise((resolve, reject) => {
        const finish = (): void =>
          items.some((item) => refused.includes(item)) ? reject(new Error('refused')) : resolve();
        calls.push({ owner, items, finish });
      }),
    options,
  );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { batches, calls, turn };
}

test('items that arrive while a batch is under way are done together after it', async () => {
  const { batches, calls, turn } = heldBatches({ maxSize: 10, concurrency: 1 });
  const first = batches.add('a', '1');
  await turn();
  const later = [batches.add('a', '2'), batches.add('a', '3')];
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([['1']]);
  calls[0]?.finish();
  await first;
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([['1'], ['2', '3']]);
  calls[1]?.finish();
  await Promise.all(later);
});

test('no batch has more items than allowed or items of two owners', async () => {
  const { batches, calls, turn } = heldBatches({ maxSize: 2, concurrency: 1 });
  const done = ['1', '2', '3'].map((item) => batches.add('a', item)).concat(batches.add('b', '4'));
  await turn();
  for (const { finish } of calls) finish();
  await turn();
  calls[2]?.finish();
  await Promise.all(done);
  expect(calls.map(({ owner, items }) => [owner, items])).toEqual([
    ['a', ['1', '2']],
    ['b', ['4']],
    ['a', ['3']],
  ]);
});

test('of a batch that fails, each item is done alone, and fails only by itself', async () => {
  const { batches, calls, turn } = heldBatches({ maxSize: 10, concurrency: 1 }, ['2']);
  const done = Promise.allSettled(['1', '2', '3'].map((item) => batches.add('a', item)));
  await turn();
  for (let index = 0; index < 4; index += 1) {
    calls[index]?.finish();
    await turn();
  }
  expect(calls.map(({ items }) => items)).toEqual([['1', '2', '3'], ['1'], ['2'], ['3']]);
  expect((await done).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

test('a batch begins beside another one with enough items, and with fewer after a moment', async () => {
  const { batches, calls, turn } = heldBatches({ maxSize: 10, concurrency: 3, minConcurrentSize: 2 });
  const done = [batches.add('a', '1')];
  await turn();
  done.push(batches.add('a', '2'));
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([['1']]);
  done.push(batches.add('a', '3'));
  await turn();
  expect(calls.map(({ items }) => items)).toEqual([['1'], ['2', '3']]);
  done.push(batches.add('a', '4'));
  await vi.waitFor(() => expect(calls.map(({ items }) => items)).toEqual([['1'], ['2', '3'], ['4']]));
  for (const { finish } of calls) finish();
  await Promise.all(done);
});
