import { AsyncLocalStorage } from 'node:async_hooks';

/** What the current work belongs to: a request, or a task of a workflow. Every log line of that work names it. */
type LogContext =
  | { requestId: string }
  | {
      workflowId: string | undefined;
      activityType: string;
      attempt: number;
      workspaceId: string | undefined;
    };

const current = new AsyncLocalStorage<LogContext>();

/** Runs work whose log lines name the given context. */
export const inLogContext = <T>(subject: LogContext, work: () => T): T => current.run(subject, work);

/** @returns a new object for each line, because the logger adds to it. */
export const logContext = (): Partial<LogContext> => ({ ...current.getStore() });

/**
 * Runs shared work outside the context of the request or task that happens to start it: its log lines and spans must
 * not name that one alone.
 */
export function forMany<Args extends unknown[], T>(work: (...args: Args) => T): (...args: Args) => T {
  const apart = AsyncLocalStorage.snapshot();
  return (...args) => apart(() => work(...args));
}
