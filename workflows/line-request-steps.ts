import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_PATIENCE, lineQueue, PAYMENTS_QUEUE } from './messages/task-queues.ts';

/** The steps of a line request. Each is an idempotent activity. */

const untilDone = {
  startToCloseTimeout: '1 minute',
  // Retried until they succeed, because they concern payments.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

const step = (summary: string) => proxyActivities<Activities>({ ...untilDone, summary });
const paid = (summary: string) =>
  proxyActivities<Activities>({ ...untilDone, taskQueue: PAYMENTS_QUEUE, summary });

export const { lookAtLineRequest } = step('See what the request is at');
export const { activateLine } = step('Let the line send, warming up');
export const { failLine } = step('Give the request up, and owe back what was paid');
export const { settleLineInvoices } = paid('Make, void or credit its invoices, and ask about the open one');
export const { addLineToAgencyInvoice } = paid("Put the line on the agency's next invoice");

/** The time that a carrier has to provide a healthy line, for all steps together. */
export const PROVISIONING_TIMEOUT_MS = 30 * 60_000;

/** How often a waiting request is examined without a signal. Payments and cancellations are signaled at once. */
export const LOOK_EVERY = '6 hours';

/** The steps at the carrier. @param until their common deadline, in milliseconds since the epoch. */
export const provisioningAt = (carrier: string | undefined, until: number, summary?: string) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier ?? null),
    ...(summary !== undefined && { summary }),
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: Math.max(1, until - Date.now()),
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
  });
