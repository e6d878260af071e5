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
import type { News } from './listen.ts';

/** The loop of a run that started before signals had names; see `formerly.ts`. */
export async function formerLineRequest(
  line: { workspaceId: string; lineId: string },
  news: News,
  goOn: () => Promise<never>,
): Promise<string> {
  news.tell('begun');

  let until: number | null = null;

  while (news.any()) {
    if (workflowInfo().continueAsNewSuggested) await goOn();
    const { status, owes, carrier, isChanged } = await news.after(() => lookAtLineRequest(line));
    if (isChanged) news.tell('changed');
    if (status === 'provisioning') {
      until ??= Date.now() + PROVISIONING_TIMEOUT_MS;
      await provision(line, carrier, until);
      news.tell('done');
      continue;
    }
    until = null;
    if (owes) {
      setCurrentDetails(`The request is **${status}**. Settles its invoices with the payment provider.`);
      await settleLineInvoices(line);
      news.tell('done');
    } else if (status === 'unconnected') {
      setCurrentDetails('Waits for its owner to connect it to a carrier.');
      // Connecting it starts this workflow again.
      if (patched('idle workflows end')) await condition(news.any, '1 day');
      else await condition(news.any);
    } else if (status === 'awaiting_payment') {
      setCurrentDetails('Waits for the payment of its hosted invoice.');
      await condition(news.any, LOOK_EVERY);
      news.tell('done');
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
