import { DefaultLogger, type LogLevel } from '@temporalio/worker';
import type { Logger } from 'pino';

const LEVELS = {
  TRACE: 'trace',
  DEBUG: 'debug',
  INFO: 'info',
  WARN: 'warn',
  ERROR: 'error',
} as const satisfies Record<LogLevel, string>;

/** Said at every start, and meant so: carriers and webhooks have workers that run activities only. */
const EXPECTED = 'No workflows registered';

/** What Temporal's SDK has to say from warnings on, as lines of the process's own log. */
export function temporalLogger(logger: Logger): DefaultLogger {
  return new DefaultLogger('WARN', ({ level, message, meta }) => {
    if (!message.startsWith(EXPECTED)) logger[LEVELS[level]]({ temporal: meta }, message);
  });
}
