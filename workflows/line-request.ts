import {
  ActivityFailure,
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  patched,
  proxyActivities,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { isUnserved } from './line-home.ts';
import { CARRIER_PATIENCE, lineQueue, PAYMENTS_QUEUE } from './messages/task-queues.ts';
import { WAKE } from './messages/signals.ts';
import type { WakeInput } from './messages/wake.ts';

const untilDone = {
  startToCloseTimeout: '1 minute',
  // Money is at stake: they are tried until they succeed.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
} as const;
const { lookAtLineRequest, activateLine, failLine } = proxyActivities<Activities>(untilDone);
const { settleLineInvoices, addLineToAgencyInvoice } = proxyActivities<Activities>({
  ...untilDone,
  taskQueue: PAYMENTS_QUEUE,
});

/** A carrier that does not give a healthy line within this, all steps together, has failed. */
const PATIENCE_MS = 30 * 60_000;
const provisioningAt = (carrier: string | undefined, until: number) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier ?? null),
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '1 minute',
    scheduleToCloseTimeout: Math.max(1, until - Date.now()),
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
  });

/** How often a request that waits is looked at by itself; payments and cancels wake it at once. */
const LOOK_EVERY = '6 hours';

const wake = defineSignal(WAKE);

/**
 * One per line request: does what the request's state, which is PostgreSQL's, asks for next, and
 * ends with the request. A retry, or a payment that comes after the end, starts it again.
 */
export async function lineRequest(input: WakeInput): Promise<void> {
  let woken = true;
  setHandler(wake, () => void (woken = true), {
    description: 'The request, or what was paid for it, has changed.',
  });
  setDefaultSignalHandler(() => void (woken = true));
  const line = { workspaceId: input.workspaceId, lineId: input.subjectId };

  let until: number | null = null;

  while (woken) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof lineRequest>(input);
    // Lowered before the look: what is committed from here on raises it again.
    woken = false;
    const { status, owes, carrier, isChanged } = await lookAtLineRequest(line);
    if (isChanged) woken = true;
    if (status === 'provisioning') {
      until ??= Date.now() + PATIENCE_MS;
      await provision(line, carrier, until);
      woken = true;
      continue;
    }
    until = null;
    if (owes) {
      setCurrentDetails(`The request is **${status}**. Settles its invoices with the payment provider.`);
      await settleLineInvoices(line);
      woken = true;
    } else if (status === 'unconnected') {
      setCurrentDetails('Waits for its owner to connect it to a carrier.');
      // Connecting it starts this workflow again.
      if (patched('idle workflows end')) await condition(() => woken, '1 day');
      else await condition(() => woken);
    } else if (status === 'awaiting_payment') {
      setCurrentDetails('Waits for the payment of its hosted invoice.');
      await condition(() => woken, LOOK_EVERY);
      woken = true;
    } else {
      setCurrentDetails(`The request is **${status}**, and nothing is owed.`);
    }
  }
}

/**
 * The steps from a carrier's line to an active one. Where a carrier has no worker, the caller looks again at which
 * carrier it is; where an operator cancels, the request stays as it is, and the sweep goes on with it.
 */
async function provision(
  line: { workspaceId: string; lineId: string },
  carrier: string | undefined,
  until: number,
): Promise<void> {
  const steps = () => provisioningAt(carrier, until);
  try {
    setCurrentDetails('Provisioning: the carrier allocates the identity.');
    await steps().allocateLine(line);
    setCurrentDetails('Provisioning: replies and receipts are directed here.');
    await steps().configureInbound(line);
    setCurrentDetails('Provisioning: probed until it is healthy, for half an hour at most.');
    await steps().probeNewLine(line);
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    if (isUnserved(error) && Date.now() < until) return;
    // What was decided is written down, whoever cancels meanwhile.
    await CancellationScope.nonCancellable(() => failLine(line));
    return;
  }
  await CancellationScope.nonCancellable(async () => {
    await addLineToAgencyInvoice(line);
    await activateLine(line);
  });
}
