import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

/** The only schedule. Lines have no schedules, because their pacers set their own timers. */
const HOUSEKEEPING = {
  scheduleId: 'housekeeping',
  spec: { intervals: [{ every: '10 minutes' }] },
  // A long run is followed by the next at once, because nothing is swept between two runs.
  policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 minute' },
  action: {
    type: 'startWorkflow',
    workflowType: 'housekeeping',
    taskQueue: MAIN_QUEUE,
    workflowId: 'housekeeping',
  },
} as const satisfies ScheduleOptions;

/** The schedules of the previous version, to be deleted. */
const FORMER = ['sweep', 'line-health', 'retention'];

/** Creates or updates the server's schedules for this build. */
export async function upsertSchedules(client: Client): Promise<void> {
  try {
    await client.schedule.create({ ...HOUSEKEEPING, state: { triggerImmediately: true } });
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
    await client.schedule
      .getHandle(HOUSEKEEPING.scheduleId)
      .update((previous) => ({ ...previous, ...HOUSEKEEPING }));
  }
  for (const scheduleId of FORMER) {
    await client.schedule
      .getHandle(scheduleId)
      .delete()
      .catch((error: unknown) => {
        if (!(error instanceof ScheduleNotFoundError)) throw error;
      });
  }
}

/** Longer than it takes until a workflow counts as overdue. */
const AFTER_START = '40s';

/** Starts a sweep after the process start, so that signals lost in a crash need not wait for housekeeping. */
export async function sweepAfterStart(client: Client): Promise<void> {
  await client.workflow.start('sweep', {
    taskQueue: MAIN_QUEUE,
    workflowId: 'sweep-after-start',
    workflowIdConflictPolicy: 'USE_EXISTING',
    startDelay: AFTER_START,
  });
}
