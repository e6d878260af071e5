import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
} from '@temporalio/client';
import type { Logger } from 'pino';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { startAllInNewNamespace } from '#db/wakes/wakes.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';

/**
 * The version of `housekeepingEvery`, to be raised with every change of it. The schedule's action carries it as a memo, so
 * that a worker of an earlier release that starts during an upgrade leaves the newer schedule alone.
 */
const VERSION = 3;
const EVERY_MS = 10 * 60_000;

/** The only schedule. Lines have no schedules, because their pacers set their own timers. */
export const housekeepingEvery = (runMs: number) =>
  ({
    scheduleId: 'housekeeping',
    spec: { intervals: [{ every: runMs }] },
    // A long run is followed by the next one at once, because no sweeps run in between.
    // When Temporal is back after an outage, the run that it missed starts at once.
    policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 hour' },
    action: {
      type: 'startWorkflow',
      workflowType: 'housekeeping',
      args: [{ runMs }],
      taskQueue: MAIN_QUEUE,
      workflowId: 'housekeeping',
      // A run that exceeds all of its own time limits must not prevent the next one forever.
      workflowRunTimeout: runMs * 1.5,
      memo: { version: VERSION },
    },
  }) as const satisfies ScheduleOptions;

/** Creates the server's schedules, or updates those of an earlier version. */
export async function upsertSchedules(client: Client): Promise<void> {
  const housekeeping = housekeepingEvery(EVERY_MS);
  try {
    const created = await client.schedule.create(housekeeping);
    // By `triggerImmediately`, Temporal would not know the first run as one that the next must wait for.
    await created.trigger(ScheduleOverlapPolicy.SKIP);
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    const handle = client.schedule.getHandle(housekeeping.scheduleId);
    const { action } = await handle.describe();
    const version = Number(action.memo?.['version'] ?? 0);
    if (version < VERSION) await handle.update((previous) => ({ ...previous, ...housekeeping }));
  }
}

/** Longer than its activities may take. A sweep that hangs must not prevent the next one. */
const SWEEP_TIMEOUT = '20 minutes';

/** Lets the sweep start all workflows if Temporal's namespace is a new one. */
export async function startAllIfNew(
  client: Client,
  pools: Pools,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  const { namespace } = client.options;
  const { namespaceInfo } = await client.workflowService.describeNamespace({ namespace });
  const id = namespaceInfo?.id;
  if (id && (await startAllInNewNamespace(systemDb(pools), id)))
    logger.warn({ namespace }, 'no workflow has run in this namespace; the sweep starts all');
}

/** Starts sweeps at and after the process start, so that what waits, and signals lost in a crash, need not wait for housekeeping. */
export const sweepAfterStart = (client: Client): Promise<void> =>
  startSweep(client, 'sweep-after-start', { again: true });

/** Starts the workflow `sweep`, unless the one with this id is running. */
export async function startSweep(
  client: Client,
  workflowId: string,
  options: { again?: boolean; carriers?: readonly string[] } = {},
): Promise<void> {
  await client.workflow.start('sweep', {
    taskQueue: MAIN_QUEUE,
    workflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
    args: [options],
    workflowRunTimeout: SWEEP_TIMEOUT,
  });
}
