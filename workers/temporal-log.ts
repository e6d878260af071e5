import { DefaultLogger, type LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

const LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** Logged at every start, and expected: the workers of carriers and webhooks run activities only. */
const EXPECTED = 'No workflows registered';

/** Writes warnings and errors of Temporal's SDK to the process's log. */
export function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (!message.startsWith(EXPECTED)) logger[LEVELS[level]]({ temporal: meta }, message);
  });
}
