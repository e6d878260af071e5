import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { PAYMENTS_QUEUE } from './messages/task-queues.ts';
import { WAKE, type WakeInput } from './messages/wake.ts';

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

/** A carrier that does not give a healthy line within this has failed (decisions §6). */
const PATIENCE = '30 minutes';
const { allocateLine, configureInbound, probeNewLine } = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: PATIENCE,
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' },
});

/** How often a request that waits is looked at by itself; payments and cancels wake it at once. */
const LOOK_EVERY = '6 hours';

const wake = defineSignal(WAKE);

/**
 * One per line request (specification §3.1): does what the request's state, which is PostgreSQL's, asks for next, and
 * ends with the request. A retry, or a payment that comes after the end, starts it again.
 */
export async function lineRequest(input: WakeInput): Promise<void> {
  let woken = true;
  setHandler(wake, () => void (woken = true), {
    description: 'The request, or what was paid for it, has changed.',
  });
  const line = { workspaceId: input.workspaceId, lineId: input.subjectId };

  while (woken) {
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof lineRequest>(input);
    // Lowered before the look: what is committed from here on raises it again.
    woken = false;
    const { status, owes } = await lookAtLineRequest(line);
    if (status === 'provisioning') {
      await provision(line);
      woken = true;
    } else if (owes) {
      setCurrentDetails(`The request is **${status}**. Settles its invoices with the payment provider.`);
      await settleLineInvoices(line);
      woken = true;
    } else if (status === 'unconnected') {
      setCurrentDetails('Waits for its owner to connect it to a carrier.');
      await condition(() => woken);
    } else if (status === 'awaiting_payment') {
      setCurrentDetails('Waits for the payment of its hosted invoice.');
      await condition(() => woken, LOOK_EVERY);
      woken = true;
    } else {
      setCurrentDetails(`The request is **${status}**, and nothing is owed.`);
    }
  }
}

async function provision(line: { workspaceId: string; lineId: string }): Promise<void> {
  try {
    setCurrentDetails('Provisioning: the carrier allocates the identity.');
    await allocateLine(line);
    setCurrentDetails('Provisioning: replies and receipts are directed here.');
    await configureInbound(line);
    setCurrentDetails(`Provisioning: probed until it is healthy, for ${PATIENCE} at most.`);
    await probeNewLine(line);
  } catch (error) {
    if (!(error instanceof ActivityFailure)) throw error;
    return failLine({ ...line, reason: reasonOf(error) });
  }
  await addLineToAgencyInvoice(line);
  await activateLine(line);
}

const reasonOf = ({ cause }: ActivityFailure): string =>
  cause instanceof ApplicationFailure ? cause.message : 'the carrier gave no healthy line in time';
