import {
  ActivityFailure,
  allHandlersFinished,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  isCancellation,
  patched,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { hasNoWorker, relabel } from './line-location.ts';
import {
  activateLine,
  addLineToAgencyInvoice,
  failLine,
  lookAtLineRequest,
  PROVISIONING_TIMEOUT_MS,
  provisioningAt,
  releaseNumber,
  settleLineInvoices,
} from './line-request-steps.ts';
import { createLoop, isHistoryLong } from './work-loop.ts';
import { CHECK_EVERY_MS, type LineRequestView } from './protocol/line-request.ts';
import type { Round } from './protocol/round.ts';
import { PAYMENTS_QUEUE } from './protocol/task-queues.ts';
import { checkPayment, giveUp } from './protocol/updates.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { decidesBy, onOrder, OPERATOR, SIGNALED } from './orders.ts';

const { giveUpLine } = proxyActivities<Activities>({
  ...OPERATOR,
  summary: 'Give the request up for an operator',
});
const { checkLinePayment } = proxyActivities<Activities>({
  ...OPERATOR,
  taskQueue: PAYMENTS_QUEUE,
  summary: 'Check the invoice at the payment provider for an operator',
});

const { cancelRequest } = proxyActivities<Activities>({
  ...SIGNALED,
  summary: 'Cancel the request for an operator',
});

export interface LineRequestInput extends WakeInput {
  /** The carrier's deadline for a healthy line, in milliseconds since the epoch. */
  provisionUntil?: number;
}

/**
 * One per line request. Opens the invoice and waits for its payment, or for the owner to connect the line; provisions the
 * line at the carrier; settles remaining invoices. A retry, or a late payment, starts it again.
 * @throws ApplicationFailure `LINE_FAILED` if the request fails.
 */
export async function lineRequest(input: LineRequestInput): Promise<string> {
  const line = { workspaceId: input.workspaceId, lineId: input.subjectId };
  const loop = createLoop(
    'requested',
    'retryRequested',
    'paymentSettled',
    decidesBy('cancelRequested', (order) => cancelRequest({ ...order, ...line })),
    'planChanged',
    'connected',
    'stepDue',
    'overdue',
  );
  let request: LineRequestView | null = null;
  let until = input.provisionUntil;
  let provisioning: CancellationScope | null = null;
  let isGivenUp = false;
  let isBilling = false;

  const allowedIn =
    (action: string, ...statuses: LineRequestView['status'][]) =>
    () =>
      request && !statuses.includes(request.status)
        ? `A request that is ${request.status} cannot be ${action}`
        : null;
  onOrder(checkPayment, loop, (order) => checkLinePayment({ ...order, ...line }), {
    description: 'Checks the open invoice at the payment provider.',
    refusal: allowedIn('checked for a payment', 'awaiting_payment'),
  });
  onOrder(
    giveUp,
    loop,
    async (order) => {
      const verdict = await giveUpLine({ ...order, ...line });
      isGivenUp = true;
      provisioning?.cancel();
      return verdict;
    },
    {
      description: 'Stops provisioning. The request fails, and payments are credited.',
      refusal: () =>
        isBilling
          ? 'A request whose line is provided cannot be given up'
          : allowedIn('given up', 'provisioning', 'unconnected', 'failed')(),
    },
  );

  let continues: boolean;
  do {
    request = await loop.run(() => lookAtLineRequest(line));
    if (request.home !== undefined) {
      await condition(allHandlersFinished);
      relabel(request.home);
      await continueAsNew<typeof lineRequest>(inputAt(request.home));
    }
    while (request.owes) {
      await settleLineInvoices(line);
      request = await loop.run(() => lookAtLineRequest(line));
    }
    if (request.releases === true && patched('releases-numbers')) {
      await releaseNumber(line);
      request = await loop.run(() => lookAtLineRequest(line));
    }
    if (request.status === 'provisioning') {
      until ??= Date.now() + PROVISIONING_TIMEOUT_MS;
      await provision(request.carrier, until);
      continues = !isHistoryLong();
      // An operator who gives up the request now still gets a verdict.
      if (!continues) await condition(allHandlersFinished);
    } else {
      until = undefined;
      continues = await loop.wait(waitOf(request), stateOf(request));
    }
  } while (continues);

  if (!loop.isOver) await continueAsNew<typeof lineRequest>(inputAt(line.workspaceId));
  if (request.status === 'failed')
    throw ApplicationFailure.nonRetryable(
      'There is no line; what was paid for it is credited',
      'LINE_FAILED',
    );
  return `the request is ${request.status}`;

  function inputAt(workspaceId: string): LineRequestInput {
    return {
      workspaceId,
      subjectId: line.lineId,
      ...(until !== undefined && { provisionUntil: until }),
    };
  }

  /** Provisions and activates the line. Returns early if no worker serves the carrier, which is then looked up again. */
  async function provision(carrier: string | undefined, by: number): Promise<void> {
    provisioning = new CancellationScope();
    isGivenUp = false;
    try {
      await provisioning.run(async () => {
        loop.setStatus('provisioning', 'the carrier allocates its number or address');
        await provisioningAt(carrier, by, 'Allocate a number or address at the carrier').allocateLine(line);
        loop.setStatus('provisioning', 'the carrier is told where to report replies and receipts');
        await provisioningAt(
          carrier,
          by,
          'Tell the carrier where to report replies and receipts',
        ).configureInbound(line);
        loop.setStatus('provisioning', 'it is probed until it is healthy, for half an hour at most');
        await provisioningAt(carrier, by, 'Probe the line until it is healthy').probeNewLine(line);
      });
    } catch (error) {
      if (isCancellation(error)) {
        if (isGivenUp) return;
        // An operator canceled the workflow. The sweep starts it again.
        throw error;
      }
      if (!(error instanceof ActivityFailure)) throw error;
      if (hasNoWorker(error) && Date.now() < by) return;
      // The decision is stored even if the workflow is canceled now.
      await CancellationScope.nonCancellable(() => failLine(line));
      return;
    }
    if (!allHandlersFinished() && patched('orders-before-billing')) {
      await condition(allHandlersFinished);
      if (isGivenUp) return;
    }
    // A line that is given up from here on would stay on the agency's invoice.
    isBilling = true;
    await CancellationScope.nonCancellable(async () => {
      await addLineToAgencyInvoice(line);
      await activateLine(line);
    });
    isBilling = false;
  }
}

function waitOf({ status, isChanged }: LineRequestView): Round {
  if (isChanged) return { nextAt: new Date().toISOString(), reason: 'the request has changed' };
  if (status === 'unconnected')
    return {
      nextAt: null,
      reason: 'its workspace has not connected it to a carrier yet',
      keepsOpen: true,
    };
  if (status === 'awaiting_payment') {
    const nextAt = new Date(Date.now() + CHECK_EVERY_MS).toISOString();
    return { nextAt, reason: 'its invoice is not paid yet' };
  }
  return { nextAt: null, reason: `the request is ${status}`, ended: true };
}

/** The status in the API. */
const stateOf = ({ status }: LineRequestView): string => (status === 'unconnected' ? 'provisioning' : status);
