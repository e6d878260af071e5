import { hostname } from 'node:os';
import type { Client } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Polling } from '#activities/base/polled-rounds.ts';
import { newId } from '#domain/base/ids.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { type PolledRoundsInput, polledRoundsId } from '#workflows/protocol/workflow-ids.ts';

/** How long a process takes no rounds after an operator has terminated its run, or Temporal was away. */
const LOOK_EVERY_MS = 2000;

/** The name of this process in Temporal: a host may have several, one after the other too. */
export const processName = (): string => `${hostname()}-${newId().slice(-8)}`;

/**
 * Keeps a run of `polledRounds` whose activity takes the rounds of this process.
 * @param isServing whether Temporal sends tasks to the build of this process.
 */
export function keepPolledRun(
  temporal: Client,
  process: string,
  polling: Polling,
  isServing: () => boolean,
  logger: Logger,
): { stop(): Promise<void> } {
  let isFailing = false;
  let isLooking = false;

  async function look(): Promise<void> {
    if (isLooking || polling.isActive || !isServing()) return;
    isLooking = true;
    try {
      await start();
      isFailing = false;
    } catch (error) {
      if (!isFailing) logger.warn({ error }, 'this process takes no rounds until Temporal starts its run');
      isFailing = true;
    } finally {
      isLooking = false;
    }
  }

  async function start(): Promise<void> {
    const input: PolledRoundsInput = { process, kinds: polling.kinds };
    await temporal.workflow.start('polledRounds', {
      taskQueue: MAIN_QUEUE,
      workflowId: polledRoundsId(process),
      // It runs while the activity is retried, or paused by an operator.
      workflowIdConflictPolicy: 'USE_EXISTING',
      args: [input],
      staticSummary: 'Takes the rounds of webhooks, inboxes and bulk intake that one worker process runs',
    });
  }

  let looking = look();
  const timer = setInterval(() => (looking = look()), LOOK_EVERY_MS);
  return {
    async stop() {
      clearInterval(timer);
      await looking;
      await polling.stop();
    },
  };
}
