import { setImmediate } from 'node:timers/promises';
import { type Client, ServiceError } from '@temporalio/client';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createWaker } from './temporal.ts';

const UNAVAILABLE = 14;
const INVALID_ARGUMENT = 3;

/** A client that records the workflows it signals and refuses some with a gRPC status. */
function stubClient(statusOf: (workflowId: string) => number | null) {
  const attempts: string[] = [];
  const client = {
    withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
    workflow: {
      async signalWithStart(_type: string, { workflowId }: { workflowId: string }) {
        attempts.push(workflowId);
        const code = statusOf(workflowId);
        if (code === null) return;
        const cause = Object.assign(new Error('refused'), { code, details: 'refused', metadata: {} });
        throw new ServiceError('failed to signal', { cause });
      },
    },
  };
  return { attempts, client: client as unknown as Client };
}

const pacers = Array.from({ length: 200 }, (_, index) => `line-pacer:${index}`);
const BAD = 'line-pacer:bad';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('waking workflows', () => {
  it.each([UNAVAILABLE, INVALID_ARGUMENT])(
    'is not delayed by a wake that Temporal never accepts (status %i)',
    async (status) => {
      const { attempts, client } = stubClient((id) => (id === BAD ? status : null));
      const waker = createWaker(client, pino({ level: 'silent' }));
      for (const id of [BAD, ...pacers]) waker.wake(id, 'w1', 'messagesDue');
      // The fake clock does not advance, so there is no retry.
      await setImmediate();
      expect(new Set(attempts)).toEqual(new Set([BAD, ...pacers]));
      await waker.close();
    },
  );

  it('stops for a wake that can never succeed, and is retried for one that may', async () => {
    const { attempts, client } = stubClient((id) => (id === BAD ? INVALID_ARGUMENT : UNAVAILABLE));
    const waker = createWaker(client, pino({ level: 'silent' }));
    for (const id of [BAD, 'line-pacer:later', 'no-such-kind:1']) waker.wake(id, 'w1', 'messagesDue');
    await vi.advanceTimersByTimeAsync(10_000);
    // Tried with all search attributes, without the latest, and without any.
    expect(attempts.filter((id) => id === BAD)).toHaveLength(3);
    expect(attempts.filter((id) => id === 'line-pacer:later').length).toBeGreaterThan(2);
    expect(waker.waiting).toBe(1);
    await waker.close();
  });

  it('is tried one last time on close', async () => {
    let up = false;
    const { client } = stubClient(() => (up ? null : UNAVAILABLE));
    const waker = createWaker(client, pino({ level: 'silent' }));
    for (const id of pacers) waker.wake(id, 'w1', 'messagesDue');
    await vi.advanceTimersByTimeAsync(1000);
    expect(waker.waiting).toBe(200);
    up = true;
    await waker.close();
    expect(waker.waiting).toBe(0);
  });
});
