import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_PATIENCE, lineQueue, PAYMENTS_QUEUE } from './messages/task-queues.ts';

/** The steps of a line request, each an activity that may be begun again. */

const untilDone = {
  startToCloseTimeout: '1 minute',
  // Money is at stake: they are tried until they succeed.
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

/** A carrier that does not give a healthy line within this, all steps together, has failed. */
export const PROVISIONING_TIMEOUT_MS = 30 * 60_000;

/** How often a request that waits is looked at by itself; payments and cancels are told at once. */
export const LOOK_EVERY = '6 hours';

/** What the carrier does: no longer than until then, in milliseconds of the epoch. */
export const provisioningAt = (carrier: string | undefined, until: number, summary?: string) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier ?? null),
    ...(summary !== undefined && { summary }),
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: Math.max(1, until - Date.now()),
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
  });
