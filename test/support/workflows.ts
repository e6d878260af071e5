import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import type { TestApp } from './app.ts';

/** Wakes overdue workflows, as the schedule of the sweep does. */
export const runSweep = (app: Pick<TestApp, 'temporal'>): Promise<unknown> =>
  app.temporal.workflow.execute('sweep', { taskQueue: MAIN_QUEUE, workflowId: `sweep-${newId()}` });

/** Deletes expired rows and files, as the daily schedule does. */
export const runRetention = (app: TestApp): Promise<unknown> =>
  app.temporal.workflow.execute('retention', { taskQueue: MAIN_QUEUE, workflowId: `retention-${newId()}` });

/** The names of the signals that a workflow has received, in order. */
export async function signalsOf(app: TestApp, workflowId: string): Promise<string[]> {
  const { events } = await app.temporal.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(
    ({ workflowExecutionSignaledEventAttributes: signaled }) => signaled?.signalName ?? [],
  );
}

/** The types of the activities that a workflow has run, as tasks of their own or within its workflow tasks, in order. */
export async function activitiesOf(app: Pick<TestApp, 'temporal'>, workflowId: string): Promise<string[]> {
  const { events } = await app.temporal.workflow.getHandle(workflowId).fetchHistory();
  return (events ?? []).flatMap(
    ({ activityTaskScheduledEventAttributes: scheduled, markerRecordedEventAttributes: marker }) => {
      if (scheduled) return scheduled.activityType?.name ?? [];
      const [data] = marker?.details?.['data']?.payloads ?? [];
      if (marker?.markerName !== 'core_local_activity' || !data?.data) return [];
      return LocalActivity.parse(JSON.parse(Buffer.from(data.data).toString())).activity_type;
    },
  );
}

/** What the SDK notes of an activity within a workflow task. */
const LocalActivity = z.object({ activity_type: z.string() });
