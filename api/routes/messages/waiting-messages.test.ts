import { expect, test } from 'vitest';
import { LimitReached, WORKSPACE_LIMITS } from '#domain/accounts/limits.ts';
import { createLogger } from '#providers/log.ts';
import { createWaitingMessages } from './waiting-messages.ts';

const { max } = WORKSPACE_LIMITS.waitingMessages;
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a workspace with a million waiting messages gets no more until some are sent', async () => {
  let time = 0;
  const waiting = new Map([
    ['full', max - 2],
    ['empty', 0],
  ]);
  let counts = 0;
  const count = async (id: string): Promise<number> => {
    counts += 1;
    return waiting.get(id) ?? 0;
  };
  const limit = createWaitingMessages(count, createLogger('test', 'silent'), () => time);
  // The first is admitted while its count is under way.
  limit.admit('full');
  limit.admit('empty');
  await settled();
  limit.admit('full');
  expect(() => limit.admit('full')).toThrow(LimitReached);
  for (let index = 0; index < 1000; index += 1) limit.admit('empty');
  expect(counts).toBe(2);

  waiting.set('full', 10);
  time += 11_000;
  expect(() => limit.admit('full')).toThrow(LimitReached);
  await settled();
  limit.admit('full');
  expect(counts).toBe(3);
});

test('what cannot be counted is admitted, and counted again later', async () => {
  let time = 0;
  let counts = 0;
  const count = async (): Promise<number> => {
    counts += 1;
    throw new Error('the database is away');
  };
  const limit = createWaitingMessages(count, createLogger('test', 'silent'), () => time);
  limit.admit('a');
  await settled();
  limit.admit('a');
  expect(counts).toBe(1);
  time += 600_000;
  limit.admit('a');
  expect(counts).toBe(2);
});
