import {
  ActivityFailure,
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  patched,
} from '@temporalio/workflow';
import { hasNoWorker } from './line-location.ts';
import {
  activateLine,
  addLineToAgencyInvoice,
  failLine,
  type LineOfRequest,
  stepsAtCarrier,
} from './line-request-steps.ts';
import type { WorkLoop } from './work-loop.ts';

/** The time limit for all steps together, until the carrier has provided a healthy line. */
export const PROVISIONING_TIMEOUT_MS = 30 * 60_000;

/** How the line of a request is provisioned and activated. */
export interface Provisioning {
  /**
   * Provisions and activates the line, or fails the request. Returns early if no worker serves the carrier, which is then looked up again.
   * @param by the deadline, in milliseconds since the epoch.
   */
  run(carrier: string | undefined, by: number): Promise<void>;
  /** Ends the run: an operator has given the request up. */
  giveUp(): void;
  /** A line that is given up from now on would stay on the agency's invoice. */
  readonly isBilling: boolean;
}

export function createProvisioning(line: LineOfRequest, loop: WorkLoop): Provisioning {
  let scope: CancellationScope | null = null;
  let isGivenUp = false;
  let isBilling = false;

  return {
    async run(carrier, by) {
      const { allocateLine, configureInbound, probeNewLine } = stepsAtCarrier(carrier, by);
      scope = new CancellationScope();
      isGivenUp = false;
      try {
        await scope.run(async () => {
          loop.setStatus('provisioning', 'the carrier allocates its number or address');
          await allocateLine(line);
          loop.setStatus('provisioning', 'the carrier is told where to report replies and receipts');
          await configureInbound(line);
          loop.setStatus('provisioning', 'it is probed until it is healthy, for half an hour at most');
          await probeNewLine(line);
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
      isBilling = true;
      await CancellationScope.nonCancellable(async () => {
        await addLineToAgencyInvoice(line);
        await activateLine(line);
      });
      isBilling = false;
    },
    giveUp() {
      isGivenUp = true;
      scope?.cancel();
    },
    get isBilling() {
      return isBilling;
    },
  };
}
