import { ScheduleOverlapPolicy } from '@temporalio/client';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { housekeepingEvery, upsertSchedules } from '#workers/schedules.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp({ environment: { WORKER_QUEUES: 'main,carrier-simulated' } });
});
afterAll(() => app.stop());

const schedule = () => app.temporal.schedule.getHandle('housekeeping');

/** Runs of ten minutes are too long for a test. */
const RUN_MS = 10_000;
/** On a busy machine, the steps of a run take longer than the third of `RUN_MS` that the limit of the product leaves them. */
const RUN_TIMEOUT = '2 minutes';

/** Ids of the runs that have completed, with the types of activities that timed out. */
async function completed(): Promise<Map<string, string[]>> {
  const runs = new Map<string, string[]>();
  const query = "WorkflowType = 'housekeeping' AND ExecutionStatus = 'Completed'";
  for await (const { workflowId } of app.temporal.workflow.list({ query })) {
    const { events = [] } = await app.temporal.workflow.getHandle(workflowId).fetchHistory();
    const types = new Map(
      (events ?? []).map((event) => [
        String(event.eventId),
        event.activityTaskScheduledEventAttributes?.activityType?.name ?? '',
      ]),
    );
    runs.set(
      workflowId,
      (events ?? []).flatMap(
        ({ activityTaskTimedOutEventAttributes: timedOut }) =>
          types.get(String(timedOut?.scheduledEventId)) ?? [],
      ),
    );
  }
  return runs;
}

test('the first run starts at once, and no other beside it', async () => {
  const { info } = await eventually(async () => {
    const found = await schedule().describe();
    return found.info.runningActions.length > 0 && found;
  });
  expect(info.runningActions).toHaveLength(1);
  await schedule().trigger(ScheduleOverlapPolicy.SKIP);
  await eventually(async () => (await schedule().describe()).info.numActionsSkippedOverlap === 1);
});

test('sweeps and probes go on while no worker serves the housekeeping queue', async () => {
  const { action, ...housekeeping } = housekeepingEvery(RUN_MS);
  await schedule().update((previous) => ({
    ...previous,
    ...housekeeping,
    action: { ...action, workflowRunTimeout: RUN_TIMEOUT },
  }));
  const query = "WorkflowType = 'housekeeping' AND ExecutionStatus = 'Running'";
  for await (const { workflowId } of app.temporal.workflow.list({ query }))
    // It may have ended since it was listed.
    await app.temporal.workflow
      .getHandle(workflowId)
      .terminate()
      .catch(() => {});
  await eventually(async () => (await completed()).size > 0);

  const workspace = await createWorkspace(app);
  const checked = new Date(Date.now() - 600_000);
  const lineId = await createLine(app, workspace.id, 'imessage', {
    health_status: 'unknown',
    health_checked_at: checked,
  });
  const to = phone();
  await app.stopWorker();
  await workspace.api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  // The pacer's signal is lost, and it is overdue.
  await eventually(() =>
    app.temporal.workflow
      .getHandle(linePacerId(lineId))
      .terminate()
      .then(() => true),
  );
  await systemDb(app.pools).query(sql.type(NoRows)`
    update workflow_wakes set wake_at = now() - interval '1 minute', sweep_at = now() - interval '1 second'`);
  const before = (await completed()).size;
  await app.startWorker();
  await eventually(async () => (await sentTo(app, to)).length === 1);
  expect(await signalsOf(app, linePacerId(lineId))).toContain('overdue');
  await eventually(async () => {
    const { body } = await workspace.api('GET', '/api/lines/by-user');
    return Date.parse(body.lines[0].healthCheck.lastCheckedAt) > checked.getTime();
  });

  // One run follows the other, although none found a worker to delete expired data.
  const runs = await eventually(async () => {
    const now = await completed();
    return now.size >= before + 2 && now;
  }, 90_000);
  for (const timedOut of runs.values()) expect(timedOut).toEqual(['trim']);
}, 240_000);

test('a worker of an earlier release leaves the schedule of a newer one alone, and updates that of an older', async () => {
  const withVersion = (version: number) => {
    const housekeeping = housekeepingEvery(RUN_MS);
    return schedule().update((previous) => ({
      ...previous,
      ...housekeeping,
      action: { ...housekeeping.action, memo: { version } },
    }));
  };
  const interval = async () => (await schedule().describe()).spec.intervals?.[0]?.every;
  await withVersion(1000);
  await upsertSchedules(app.temporal);
  expect(await interval()).toBe(RUN_MS);
  await withVersion(1);
  await upsertSchedules(app.temporal);
  expect(await interval()).toBe(600_000);
  const { action } = await schedule().describe();
  expect(action.workflowRunTimeout).toBe(900_000);
});
