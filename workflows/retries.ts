import type { RetryPolicy } from '@temporalio/workflow';

/**
 * For activities whose work is in PostgreSQL and must not be lost: retried until they succeed. After an outage they continue within
 * a minute.
 */
export const UNTIL_DONE: RetryPolicy = {
  initialInterval: '1s',
  backoffCoefficient: 2,
  maximumInterval: '1 minute',
};
