import {
  allHandlersFinished,
  ApplicationFailure,
  condition,
  continueAsNew,
  patched,
  proxyActivities,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { setWorkspaceAttribute } from './line-location.ts';
import { createProvisioning, PROVISIONING_TIMEOUT_MS, type Provisioning } from './line-provisioning.ts';
import {
  type LineOfRequest,
  lookAtLineRequest,
  releaseNumber,
  settleLineInvoices,
} from './line-request-steps.ts';
import { createLoop, isHistoryLong, type WorkLoop } from './work-loop.ts';
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
  const provisioning = createProvisioning(line, loop);
  const look = () => loop.run(() => lookAtLineRequest(line));
  let request: LineRequestView | null = null;
  let until = input.provisionUntil;
  const inputAt = (workspaceId: string): LineRequestInput => ({
    workspaceId,
    subjectId: line.lineId,
    ...(until !== undefined && { provisionUntil: until }),
  });
  answerOperators(line, loop, provisioning, () => request?.status);

  let continues: boolean;
  do {
    request = await look();
    if (request.home !== undefined) {
      await condition(allHandlersFinished);
      setWorkspaceAttribute(request.home);
      await continueAsNew<typeof lineRequest>(inputAt(request.home));
    }
    while (request.owes) {
      await settleLineInvoices(line);
      request = await look();
    }
    if (request.releases === true && patched('releases-numbers')) {
      await releaseNumber(line);
      request = await look();
    }
    if (request.status === 'provisioning') {
      until ??= Date.now() + PROVISIONING_TIMEOUT_MS;
      await provisioning.run(request.carrier, until);
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
}

type Status = LineRequestView['status'];

/** The orders of operators. @param status in the last round; undefined: before the first. */
function answerOperators(
  line: LineOfRequest,
  loop: WorkLoop,
  provisioning: Provisioning,
  status: () => Status | undefined,
): void {
  const refusal = (action: string, ...statuses: Status[]): string | null => {
    const now = status();
    return now && !statuses.includes(now) ? `A request that is ${now} cannot be ${action}` : null;
  };
  onOrder(checkPayment, loop, (order) => checkLinePayment({ ...order, ...line }), {
    description: 'Checks the open invoice at the payment provider.',
    refusal: () => refusal('checked for a payment', 'awaiting_payment'),
  });
  onOrder(
    giveUp,
    loop,
    async (order) => {
      const verdict = await giveUpLine({ ...order, ...line });
      provisioning.giveUp();
      return verdict;
    },
    {
      description: 'Stops provisioning. The request fails, and payments are credited.',
      refusal: () =>
        provisioning.isBilling
          ? 'A request whose line is provided cannot be given up'
          : refusal('given up', 'provisioning', 'unconnected', 'failed'),
    },
  );
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
