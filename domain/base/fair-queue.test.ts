import { describe, expect, it } from 'vitest';
import { Busy, createFairQueue } from './fair-queue.ts';

/** A queue whose work ends when the test ends it; `now` returns the payers whose work is running. */
function controlledQueue(options: { size: number; share: number; maxWaiting?: number; timeoutMs?: number }) {
  const queue = createFairQueue({ maxWaiting: 1000, timeoutMs: 60_000, ...options });
  const running: { payer: string; end(): void }[] = [];
  const ask = (payer: string, signal?: AbortSignal): Promise<void> =>
    queue.run(
      payer,
      async () => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const entry = { payer, end: resolve };
        running.push(entry);
        await promise;
        running.splice(running.indexOf(entry), 1);
      },
      signal,
    );
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    ask,
    settle,
    now: () => running.map(({ payer }) => payer),
    async endOne(payer: string) {
      running.find((entry) => entry.payer === payer)?.end();
      await settle();
    },
    async endAll() {
      while (running.length > 0) {
        for (const { end } of running) end();
        await settle();
      }
    },
  };
}

describe('a fair queue', () => {
  it('gives one payer no more than its share, however many requests it has waiting', async () => {
    const { ask, settle, now, endAll } = controlledQueue({ size: 4, share: 2 });
    const asked = Array.from({ length: 50 }, () => ask('busy'));
    await settle();
    expect(now()).toEqual(['busy', 'busy']);
    const other = ask('other');
    await settle();
    expect(now()).toEqual(['busy', 'busy', 'other']);
    await endAll();
    await Promise.all([...asked, other]);
  });

  it('gives the next free slot to a newcomer when all slots are taken', async () => {
    const { ask, settle, now, endOne, endAll } = controlledQueue({ size: 2, share: 1 });
    const asked = ['a', 'b'].flatMap((payer) => Array.from({ length: 20 }, () => ask(payer)));
    await settle();
    asked.push(ask('newcomer'));
    await endOne('a');
    expect(now().toSorted()).toEqual(['b', 'newcomer']);
    await endAll();
    await Promise.all(asked);
  });

  it('keeps a slot free for a workspace that has nothing running', async () => {
    const { ask, settle, now, endAll } = controlledQueue({ size: 8, share: 4 });
    const asked = ['a', 'b'].flatMap((payer) => Array.from({ length: 20 }, () => ask(payer)));
    await settle();
    expect(now()).toHaveLength(6);
    asked.push(ask('newcomer'));
    await settle();
    expect(now()).toContain('newcomer');
    await endAll();
    await Promise.all(asked);
  });

  it('gives a free slot to the workspace with the fewest running', async () => {
    const { ask, settle, now, endOne, endAll } = controlledQueue({ size: 6, share: 5 });
    const asked = Array.from({ length: 20 }, () => ask('a'));
    await settle();
    expect(now()).toHaveLength(5);
    asked.push(...Array.from({ length: 5 }, () => ask('b')));
    for (let turn = 0; turn < 2; turn += 1) await endOne('a');
    expect(now().toSorted()).toEqual(['a', 'a', 'a', 'b', 'b']);
    await endAll();
    await Promise.all(asked);
  });

  it('refuses requests when it is full, and still serves those that wait', async () => {
    const { ask, settle, endAll } = controlledQueue({ size: 1, share: 1, maxWaiting: 2 });
    const served = [ask('a'), ask('a'), ask('a')];
    await settle();
    await expect(ask('a')).rejects.toThrow(Busy);
    const other = ask('b');
    await endAll();
    await expect(Promise.all([...served, other])).resolves.toHaveLength(4);
  });

  it('refuses a request that waited too long, and does not run it later', async () => {
    const { ask, now, endAll, settle } = controlledQueue({ size: 1, share: 1, timeoutMs: 20 });
    const first = ask('a');
    await expect(ask('b')).rejects.toThrow(Busy);
    await endAll();
    await first;
    await settle();
    expect(now()).toEqual([]);
  });

  it('takes back the place of a request that nobody waits for any more', async () => {
    const { ask, now, endOne, endAll } = controlledQueue({ size: 1, share: 1, maxWaiting: 1 });
    const first = ask('a');
    const leaving = new AbortController();
    const left = ask('a', leaving.signal).catch((error: unknown) => error);
    leaving.abort(new Error('gone'));
    expect(await left).toEqual(new Error('gone'));
    await expect(ask('a', leaving.signal)).rejects.toThrow('gone');
    const next = ask('a');
    await endOne('a');
    expect(now()).toEqual(['a']);
    await endAll();
    await Promise.all([first, next]);
    expect(now()).toEqual([]);
  });

  it('frees the slot of work that fails', async () => {
    const queue = createFairQueue({ size: 1, share: 1, maxWaiting: 10, timeoutMs: 60_000 });
    await expect(queue.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    await expect(queue.run('b', async () => 'served')).resolves.toBe('served');
  });
});
