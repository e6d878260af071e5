import { ApplicationFailure, TemporalFailure } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * Histories hold ids only, and keep the failures of activities with their messages, stacks and causes. What an error
 * says, which may be about a person, goes to the process's log instead.
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
            message: `${activityType} failed; the log of the worker says why`,
            type: error instanceof Error ? error.name : 'Error',
          });
        }
      },
    },
  });
}
