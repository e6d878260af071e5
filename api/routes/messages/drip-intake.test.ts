import { expect, test, vi } from 'vitest';
import type { ApiPools } from '#db/connection/pools.ts';
import type { DripRequest } from './drip-batch.ts';
import { createDripIntake } from './drip-intake.ts';

/** Its batches do not end. */
function intakeWithoutEnd() {
  let batches = 0;
  const connect = (): Promise<never> => {
    batches += 1;
    return new Promise(() => {});
  };
  const pools = { intake: { connect } } as unknown as ApiPools;
  const intake = createDripIntake(pools, {} as never, { intakeBatch: { observe() {} } } as never);
  return { intake, begun: () => batches };
}

test('a batch that does not end does not hold up a later request', async () => {
  const { intake, begun } = intakeWithoutEnd();
  const accept = (workspaceId: string): void =>
    void intake.accept({
      caller: { workspace: { id: workspaceId } },
      idempotencyKey: 'key',
    } as DripRequest);

  accept('first');
  await vi.waitFor(() => expect(begun()).toBe(1));
  accept('second');
  await vi.waitFor(() => expect(begun()).toBe(2));
});

test('requests that both batches left waiting begin another one when the first ends', async () => {
  const batches: PromiseWithResolvers<Map<object, object>>[] = [];
  const connect = (): Promise<unknown> => {
    const batch = Promise.withResolvers<Map<object, object>>();
    batches.push(batch);
    return batch.promise.then((result) => ({
      result: { result, signals: [], wakes: { runAfterCommit() {}, withEvents: [] } },
    }));
  };
  const pools = { intake: { connect } } as unknown as ApiPools;
  const intake = createDripIntake(pools, {} as never, { intakeBatch: { observe() {} } } as never);
  const accept = (workspaceId: string): void =>
    void intake.accept({
      caller: { workspace: { id: workspaceId } },
      idempotencyKey: 'key',
    } as DripRequest);

  accept('first');
  await vi.waitFor(() => expect(batches).toHaveLength(1));
  accept('second');
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  vi.useFakeTimers();
  try {
    accept('third');
    // Both batches run, so the timer of the third request finds no connection.
    await vi.advanceTimersByTimeAsync(100);
    expect(batches).toHaveLength(2);
    batches[0]?.resolve(new Map());
    await vi.advanceTimersByTimeAsync(100);
    expect(batches).toHaveLength(3);
  } finally {
    vi.useRealTimers();
  }
});
