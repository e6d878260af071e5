import { AsyncLocalStorage } from 'node:async_hooks';

/** What a process works for: a request, or a task of a workflow. Every log line of that work names it. */
type LogContext =
  | { requestId: string }
  | { workflowId: string | undefined; activityType: string; attempt: number };

const current = new AsyncLocalStorage<LogContext>();

/** Runs work whose log lines name what it is for. */
export const inLogContext = <T>(subject: LogContext, work: () => T): T => current.run(subject, work);

/** @returns an object of its own for each line, because the logger adds to it. */
export const logContext = (): Partial<LogContext> => ({ ...current.getStore() });
