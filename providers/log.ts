import { type DestinationStream, type Logger, pino } from 'pino';
import { logContext } from './log-context.ts';

/**
 * Structured logs with ids, codes and durations only: no bodies, addresses, names, keys or queries. Database errors
 * are reduced to fields without values, because the detail of a unique violation quotes the row. Each line names the
 * request or the task that it is about (`log-context.ts`).
 */
export function createLogger(name: string, level: string, destination?: DestinationStream): Logger {
  const options = {
    name,
    level,
    base: { name },
    mixin: logContext,
    serializers: { error: describeError },
    redact: ['*.authorization', '*.password', '*.secret', '*.authToken'],
  };
  return destination ? pino(options, destination) : pino(options);
}

function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error };
  const { code, constraint, issues } = error as { code?: string; constraint?: string; issues?: unknown };
  const cause = error.cause instanceof Error ? describeError(error.cause) : undefined;
  return {
    type: error.constructor.name,
    message: error.message,
    ...(code !== undefined && { code }),
    ...(constraint !== undefined && { constraint }),
    ...(Array.isArray(issues) && { issues: issues.map(describeIssue) }),
    ...(cause && { cause }),
    stack: error.stack
      ?.split('\n')
      .slice(1, 6)
      .map((line) => line.trim()),
  };
}

/** The column that did not match its schema, without its value. */
function describeIssue(issue: unknown): unknown {
  const { path, code, expected } = issue as { path?: unknown; code?: unknown; expected?: unknown };
  return { path, code, expected };
}
