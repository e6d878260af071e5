import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { CARRIER_QUEUE_TIMEOUT, lineQueue, PAYMENTS_QUEUE } from './protocol/task-queues.ts';
import { UNTIL_DONE } from './retries.ts';

/** The steps of a line request. Each is an idempotent activity. */

export interface LineOfRequest {
  workspaceId: string;
  lineId: string;
}

const options = { startToCloseTimeout: '1 minute', retry: UNTIL_DONE } as const;

const step = (summary: string) => proxyActivities<Activities>({ ...options, summary });
const paid = (summary: string) =>
  proxyActivities<Activities>({ ...options, taskQueue: PAYMENTS_QUEUE, summary });

export const { lookAtLineRequest } = step('Check what the request needs now');
export const { activateLine } = step('Activate the line');
export const { failLine } = step('Mark the request as failed; what was paid is credited');
export const { releaseNumber } = step('Release the number that the carrier has allocated');
export const { settleLineInvoices } = paid(
  'Issue, void or credit its invoices, and ask the payment provider about the open one',
);
export const { addLineToAgencyInvoice } = paid(
  "Add the line to the agency's next invoice, if the agency pays by invoice",
);

/**
 * The steps at the carrier.
 * @param until their common deadline, in milliseconds since the epoch.
 */
export function stepsAtCarrier(carrier: string | undefined, until: number) {
  const step = (summary: string) =>
    proxyActivities<Activities>({
      taskQueue: lineQueue(carrier ?? null),
      summary,
      scheduleToStartTimeout: CARRIER_QUEUE_TIMEOUT,
      startToCloseTimeout: '1 minute',
      scheduleToCloseTimeout: Math.max(1, until - Date.now()),
      // A line is found healthy within half a minute.
      retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
    });
  return {
    allocateLine: (line: LineOfRequest) =>
      step('Allocate a number or address at the carrier').allocateLine(line),
    configureInbound: (line: LineOfRequest) =>
      step('Tell the carrier where to report replies and receipts').configureInbound(line),
    probeNewLine: (line: LineOfRequest) => step('Probe the line until it is healthy').probeNewLine(line),
  };
}
