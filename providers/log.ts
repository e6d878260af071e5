import { type Logger, pino } from 'pino';

/**
 * Structured logs. Ids, codes and durations only: no bodies, addresses, names, keys or queries. Errors of the
 * database are cut down to what holds no values (a unique violation's detail quotes the row).
 */
export function createLogger(name: string, level: string): Logger {
  return pino({
    name,
    level,
    base: { name },
    serializers: { error: describeError },
    redact: ['*.authorization', '*.password', '*.secret', '*.authToken'],
  });
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

/** Which column did not fit its schema, and how; not what it held. */
function describeIssue(issue: unknown): unknown {
  const { path, code, expected } = issue as { path?: unknown; code?: unknown; expected?: unknown };
  return { path, code, expected };
}
