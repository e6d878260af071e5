import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleOverlapPolicy,
  type ScheduleOptions,
} from '@temporalio/client';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';

/** What runs by the clock, and nothing of it per line: a line's rhythm is its pacer's. */
const SCHEDULES = [
  everyMinute('sweep', 'sweep'),
  everyMinute('line-health', 'lineHealth'),
  everyMinute('retention', 'retention'),
];

function everyMinute(scheduleId: string, workflowType: string): ScheduleOptions {
  return {
    scheduleId,
    spec: { intervals: [{ every: '1 minute' }] },
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    action: { type: 'startWorkflow', workflowType, taskQueue: MAIN_QUEUE, workflowId: scheduleId },
  };
}

/** Brings the server's schedules to what this build says. */
export async function upsertSchedules(client: Client): Promise<void> {
  for (const schedule of SCHEDULES) {
    try {
      await client.schedule.create(schedule);
    } catch (error) {
      if (!(error instanceof ScheduleAlreadyRunning)) throw error;
      await client.schedule
        .getHandle(schedule.scheduleId)
        .update((previous) => ({ ...previous, ...schedule }));
    }
  }
}
