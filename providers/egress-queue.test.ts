import { expect, test } from 'vitest';
import { createQueue } from './egress-queue.ts';

const never = new AbortController().signal;

test('the queue admits up to the limit per key, then in order of arrival', async () => {
  const queue = createQueue(2);
  const order: string[] = [];
  const enter = (key: string, name: string) =>
    queue.enter(key, never).then((leave) => (order.push(name), leave));
  const [first, second] = await Promise.all([enter('a', 'first'), enter('a', 'second')]);
  const third = enter('a', 'third');
  const fourth = enter('a', 'fourth');
  await enter('b', 'another key');
  expect(order).toEqual(['first', 'second', 'another key']);
  second();
  await third;
  first();
  await fourth;
  expect(order).toEqual(['first', 'second', 'another key', 'third', 'fourth']);
});

test('a request that is aborted while it waits leaves the queue', async () => {
  const queue = createQueue(1);
  const leave = await queue.enter('a', never);
  const hasty = new AbortController();
  const givenUp = queue.enter('a', hasty.signal);
  const patient = queue.enter('a', never);
  hasty.abort(new Error('timeout'));
  await expect(givenUp).rejects.toThrow('timeout');
  leave();
  (await patient)();
  await expect(queue.enter('a', never)).resolves.toBeTypeOf('function');
});
