import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_QUEUE_TIMEOUT, lineQueue, PAYMENTS_QUEUE } from './messages/task-queues.ts';

/** The steps of a line request. Each is an idempotent activity. */

const untilDone = {
  startToCloseTimeout: '1 minute',
  // Retried until they succeed, because they concern payments.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;

const step = (summary: string) => proxyActivities<Activities>({ ...untilDone, summary });
const paid = (summary: string) =>
  proxyActivities<Activities>({ ...untilDone, taskQueue: PAYMENTS_QUEUE, summary });

export const { lookAtLineRequest } = step('Check what the request needs now');
export const { activateLine } = step('Activate the line');
export const { failLine } = step('Mark the request as failed; what was paid is credited');
export const { settleLineInvoices } = paid(
  'Issue, void or credit its invoices, and ask the payment provider about the open one',
);
export const { addLineToAgencyInvoice } = paid(
  "Add the line to the agency's next invoice, if the agency pays by invoice",
);

/** The time limit for all steps together, until the carrier has provided a healthy line. */
export const PROVISIONING_TIMEOUT_MS = 30 * 60_000;

/** The steps at the carrier. @param until their common deadline, in milliseconds since the epoch. */
export const provisioningAt = (carrier: string | undefined, until: number, summary: string) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier ?? null),
    summary,
    scheduleToStartTimeout: CARRIER_QUEUE_TIMEOUT,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: Math.max(1, until - Date.now()),
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
  });
