import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * Replaces the errors of activities before Temporal stores them. Histories must hold ids only, but an error's message,
 * stack and cause may contain personal data. The original error goes to the process's log.
 */
export function failuresWithoutData(logger: Logger): ActivityInterceptorsFactory {
  return ({ info, cancellationSignal }) => ({
    inbound: {
      async execute(input, next) {
        try {
          return await next(input);
        } catch (error) {
          const isAbort = cancellationSignal.aborted && error instanceof Error && error.name === 'AbortError';
          if (error instanceof TemporalFailure || isAbort) throw error;
          const { activityType, attempt, workflowExecution } = info;
          logger.warn({ error, activityType, attempt, ...workflowExecution }, 'an activity failed');
          throw ApplicationFailure.create({
            message: `${activityType} failed; see the worker's log for the reason`,
            type: error instanceof Error ? error.name : 'Error',
          });
        }
      },
    },
  });
}
