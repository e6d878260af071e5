import {
  ActivityFailure,
  CancellationScope,
  condition,
  isCancellation,
  patched,
  setCurrentDetails,
  workflowInfo,
} from '@temporalio/workflow';
import { isUnserved } from './line-home.ts';
import {
  activateLine,
  addLineToAgencyInvoice,
  failLine,
  lookAtLineRequest,
  LOOK_EVERY,
  PROVISIONING_TIMEOUT_MS,
  provisioningAt,
  settleLineInvoices,
} from './line-request-steps.ts';
import type { WorkLoop } from './work-loop.ts';

/** The loop of a run that started before signals had names; see `legacy-loop.ts`. */
export async function legacyLineRequest(
  line: { workspaceId: string; lineId: string },
  loop: WorkLoop,
  startNewRun: () => Promise<never>,
): Promise<string> {
  loop.runAgain();

  let until: number | null = null;

  while (loop.isSignaled()) {
    if (workflowInfo().continueAsNewSuggested) await startNewRun();
    const { status, owes, carrier, isChanged } = await loop.run(() => lookAtLineRequest(line));
    if (isChanged) loop.runAgain();
    if (status === 'provisioning') {
      until ??= Date.now() + PROVISIONING_TIMEOUT_MS;
      await provision(line, carrier, until);
      loop.runAgain();
      continue;
    }
    until = null;
    if (owes) {
      setCurrentDetails(`The request is **${status}**. Settles its invoices with the payment provider.`);
      await settleLineInvoices(line);
      loop.runAgain();
    } else if (status === 'unconnected') {
      setCurrentDetails('Waits for its owner to connect it to a carrier.');
      // Connecting it starts this workflow again.
      if (patched('idle workflows end')) await condition(loop.isSignaled, '1 day');
      else await condition(loop.isSignaled);
    } else if (status === 'awaiting_payment') {
      setCurrentDetails('Waits for the payment of its hosted invoice.');
      await condition(loop.isSignaled, LOOK_EVERY);
      loop.runAgain();
    } else {
      setCurrentDetails(`The request is **${status}**, and nothing is owed.`);
    }
  }
  return 'nothing is owed';
}

/**
 * Provisions and activates the line. If no worker serves the carrier, the caller looks the carrier up again. If an operator
 * cancels the workflow, the request stays as it is and the sweep starts the workflow again.
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
    // The decision is stored even if the workflow is canceled now.
    await CancellationScope.nonCancellable(() => failLine(line));
    return;
  }
  await CancellationScope.nonCancellable(async () => {
    await addLineToAgencyInvoice(line);
    await activateLine(line);
  });
}
