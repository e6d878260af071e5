import { ScheduleNotFoundError } from '@temporalio/client';
import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/rows.ts';
import { systemDb } from '#db/transactions.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { MAIN_QUEUE } from '#workflows/messages/task-queues.ts';
import { linePacerId } from '#workflows/messages/wake.ts';

let app: OwnApp;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const schedule = (id: string) => app.temporal.schedule.getHandle(id).describe();

describe('housekeeping', () => {
  it('replaces the former schedules and wakes overdue workflows at once', async () => {
    await app.temporal.schedule.create({
      scheduleId: 'line-health',
      spec: { intervals: [{ every: '1 minute' }] },
      action: { type: 'startWorkflow', workflowType: 'lineHealth', taskQueue: MAIN_QUEUE },
    });
    const workspace = await createWorkspace(app);
    const lineId = await createLine(app, workspace.id);
    const to = phone();
    const message = { message: 'Hello', recipientPhone: to };
    expect((await apiClient(app.url, workspace.key)('POST', '/api/messages', message)).status).toBe(201);
    // The pacer's signal is lost, and it is overdue.
    const pacer = app.temporal.workflow.getHandle(linePacerId(lineId));
    await eventually(() => pacer.terminate().then(() => true));
    await systemDb(app.pools).query(sql.type(NoRows)`
      update workflow_wakes set wake_at = now() - interval '1 minute', sweep_at = now() - interval '1 second'`);

    await app.startWorker();
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect(await signalsOf(app, linePacerId(lineId))).toEqual(['overdue']);
    await expect(schedule('line-health')).rejects.toThrow(ScheduleNotFoundError);
    expect((await schedule('housekeeping')).spec.intervals).toMatchObject([{ every: 600_000 }]);
  });

  it('probes every line, whatever becomes of the others', async () => {
    const workspace = await createWorkspace(app);
    const long = new Date(Date.now() - 600_000);
    const add = (status: string) =>
      createLine(app, workspace.id, 'imessage', { health_status: status, health_checked_at: long });
    const lines = await Promise.all(['healthy', 'healthy', 'down', 'degraded', 'unknown'].map(add));
    const silent = await add('healthy');
    await workspace.api('POST', `/simulated/carrier/lines/${silent}`, { down: true });
    const handle = await app.temporal.workflow.start('housekeeping', {
      taskQueue: MAIN_QUEUE,
      workflowId: `housekeeping-${workspace.id}`,
    });
    const health = await eventually(async () => {
      const { body } = await workspace.api('GET', '/api/lines/by-user');
      const checks = body.lines.map(
        ({ _id, healthCheck }: { _id: string; healthCheck: { status: string; lastCheckedAt: string } }) =>
          Date.parse(healthCheck.lastCheckedAt) > long.getTime() && ([_id, healthCheck.status] as const),
      );
      return checks.every(Boolean) && new Map<string, string>(checks);
    });
    await handle.terminate();
    expect(health).toEqual(new Map([...lines.map((id) => [id, 'healthy'] as const), [silent, 'degraded']]));
  });

  it('runs one activity besides the probes of lines', async () => {
    const names = await eventually(async () => {
      const runs = app.temporal.workflow.list({ query: "WorkflowType = 'housekeeping'" });
      for await (const { workflowId, runId } of runs) {
        const { events } = await app.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
        // One that has come to the end of a turn; that of the test above has not.
        if (!events?.some(({ timerStartedEventAttributes: timer }) => timer)) continue;
        return events.flatMap(
          ({ activityTaskScheduledEventAttributes: activity }) => activity?.activityType?.name ?? [],
        );
      }
      return undefined;
    });
    expect(names.filter((name) => name !== 'probeLines')).toEqual(['trim']);
  });
});
