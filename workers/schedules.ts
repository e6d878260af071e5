import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

/** What runs by the clock, and nothing of it per line: a line's rhythm is its pacer's. */
const HOUSEKEEPING = {
  scheduleId: 'housekeeping',
  spec: { intervals: [{ every: '10 minutes' }] },
  // A run that takes long is followed by the next at once: between two of them nobody sweeps.
  policies: { overlap: ScheduleOverlapPolicy.BUFFER_ONE, catchupWindow: '1 minute' },
  action: {
    type: 'startWorkflow',
    workflowType: 'housekeeping',
    taskQueue: MAIN_QUEUE,
    workflowId: 'housekeeping',
  },
} as const satisfies ScheduleOptions;

/** Of the version before. */
const FORMER = ['sweep', 'line-health', 'retention'];

/** Brings the server's schedules to what this build says. */
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

/** Longer than it takes until what a crash has swallowed counts as overdue. */
const AFTER_START = '40s';

/** After a crash of everything, what was lost need not wait for the next turn of housekeeping. */
export async function sweepAfterStart(client: Client): Promise<void> {
  await client.workflow.start('sweep', {
    taskQueue: MAIN_QUEUE,
    workflowId: 'sweep-after-start',
    workflowIdConflictPolicy: 'USE_EXISTING',
    startDelay: AFTER_START,
  });
}
