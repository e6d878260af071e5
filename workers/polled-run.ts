import { hostname } from 'node:os';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { RoundPoller } from '#activities/base/round-poller.ts';
import { newId } from '#domain/base/ids.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { type PolledRoundsInput, polledRoundsId } from '#workflows/protocol/workflow-ids.ts';

/** How long a process takes no rounds after an operator has terminated its run, or Temporal was away. */
const LOOK_EVERY_MS = 2000;

/** A run lasts a day, or as long as an operator pauses it. One whose tasks fail must not outlive its process for ever. */
const RUN_TIMEOUT = '7 days';

/** The name of this process in Temporal: a host may have several, one after the other too. */
export const processName = (): string => `${hostname()}-${newId().slice(-8)}`;

/**
 * Keeps a run of `polledRounds` whose activity takes the rounds of this process.
 * @param options.isServing whether Temporal sends tasks to the build of this process.
 * @param options.afterLoss called when the run is gone, until it succeeds: Temporal may have lost everything.
 */
export function keepPolledRun(
  temporal: Client,
  process: string,
  poller: RoundPoller,
  { isServing, afterLoss }: { isServing: () => boolean; afterLoss: () => Promise<void> },
  logger: Logger,
): { stop(): Promise<void> } {
  let isFailing = false;
  let isLooking = false;
  let runId: string | null = null;
  let isLost = false;

  async function look(): Promise<void> {
    if (!isServing() || (poller.isActive && !isLost)) return;
    isLooking = true;
    try {
      if (!poller.isActive) await start();
      if (isLost) await afterLoss();
      isLost = false;
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error }, 'this process takes no rounds until Temporal starts its run');
      isFailing = true;
    } finally {
      isLooking = false;
    }
  }

  async function start(): Promise<void> {
    const input: PolledRoundsInput = { process, kinds: poller.kinds };
    const { firstExecutionRunId } = await temporal.workflow.start('polledRounds', {
      taskQueue: MAIN_QUEUE,
      workflowId: polledRoundsId(process),
      // It runs while the activity is retried, or paused by an operator.
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [input],
      workflowRunTimeout: RUN_TIMEOUT,
      staticSummary:
        'Takes the rounds of webhooks, inboxes, CRMs and bulk intake that one worker process runs',
    });
    isLost ||= runId !== null && runId !== firstExecutionRunId;
    runId = firstExecutionRunId;
  }

  let looking = look();
  const timer = setInterval(() => {
    if (!isLooking) looking = look();
  }, LOOK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
      await poller.stop();
    },
  };
}
