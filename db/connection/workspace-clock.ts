import { AsyncLocalStorage } from 'node:async_hooks';
import { setAhead } from '#domain/base/clock.ts';

/** Work for one workspace: a request, a task of a workflow, or a transaction. */
interface Scope {
  workspaceId: string;
  /** How far the workspace's clock is ahead, in milliseconds; null: it is not a twin, or the clock was not read yet. */
  aheadMs: number | null;
}

const scopes = new AsyncLocalStorage<Scope>();
setAhead(() => scopes.getStore()?.aheadMs ?? 0);

/** Whether the current work is for a workspace in test mode, whose clock has been read. */
export const isTestTime = (): boolean => (scopes.getStore()?.aheadMs ?? null) !== null;

/** Runs work in which `currentTime` returns the workspace's time, as its latest transaction has read it. */
export const inWorkspaceTime = <T>(workspaceId: string, work: () => T): T =>
  scopes.run({ workspaceId, aheadMs: null }, work);

/** Runs a transaction of a workspace whose clock it has read. */
export function withClock<T>(workspaceId: string, aheadMs: number | null, work: () => T): T {
  const outer = scopes.getStore();
  if (outer?.workspaceId === workspaceId) outer.aheadMs = aheadMs;
  return scopes.run({ workspaceId, aheadMs }, work);
}
