import {
  ActivityFailure,
  continueAsNew,
  isCancellation,
  log,
  proxyActivities,
  setCurrentDetails,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { processQueue } from './protocol/task-queues.ts';
import type { PolledRoundsInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

/** Without a heartbeat for so long, a process may be gone; its claims on rounds have expired as well. Each heartbeat is billed. */
const SILENT = '15s';
/** A process that is there takes its own task within this time. */
const GONE = '10s';

const pollingIn = (process: string) =>
  proxyActivities<Activities>({
    taskQueue: processQueue(process),
    summary: 'Deliver to webhooks, read inboxes and CRMs, and drain bulk intake whenever that is due',
    scheduleToStartTimeout: GONE,
    // It ends after a day.
    startToCloseTimeout: '25 hours',
    heartbeatTimeout: SILENT,
    // After Temporal was away, or when an operator unpauses it.
    retry: UNTIL_DONE,
  });

const { endLostRounds } = proxyActivities<Activities>({
  summary: 'End the rounds of its lines, so that others go on with them',
  startToCloseTimeout: '2 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/**
 * How often to look again for its rounds. Of a process that is suspended, or whose host has vanished, Temporal does not know that it is
 * gone: it gives tasks to its open polls until they expire after a minute. Each look comes after a process that is there would have taken
 * its task.
 */
const LOOKS = 6;

/**
 * One per worker process, whose only activity takes the rounds of the workflows that leave them to processes: each webhook POST, each poll of an inbox
 * and each drain happens in it, and the changes of metrics of busy workspaces are counted. Ends with its process.
 */
export async function polledRounds(input: PolledRoundsInput): Promise<string> {
  setCurrentDetails(
    `The process **${input.process}** takes the due rounds of ${input.kinds.join(', ')}. The heartbeat details of its activity say how many.`,
  );
  for (let looks = 1; looks <= LOOKS; looks += 1) {
    try {
      const { goesOn, reason } = await pollingIn(input.process).takeRounds();
      if (!goesOn) return reason;
      return await continueAsNew<typeof polledRounds>(input);
    } catch (error) {
      if (isCancellation(error) || !(error instanceof ActivityFailure)) throw error;
      if (looks === 1)
        log.warn('a worker process is lost; others take its rounds', { process: input.process });
      await endLostRounds({ process: input.process });
    }
  }
  return 'its process does not answer any more; others take its rounds';
}
