import { MockActivityEnvironment } from '@temporalio/testing';
import { pino } from 'pino';
import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Dependencies } from '#activities/dependencies.ts';
import { createLineHealthActivities } from '#activities/lines/line-health.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { age } from '#test/support/age.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { newId } from '#domain/base/ids.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { withStandIns } from '#test/support/stand-ins.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());

const schedule = () => app.temporal.schedule.getHandle('housekeeping').describe();

describe('housekeeping', () => {
  it('wakes overdue workflows at once', async () => {
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

    const address = phone();
    await insertRow(app, 'conversations', {
      workspace_id: workspace.id,
      address,
      last_inbound_at: new Date(Date.now() - 3_600_000),
      status: 'snoozed',
      snoozed_until: new Date(Date.now() - 60_000),
    });

    await app.startWorker();
    await eventually(async () => (await sentTo(app, to)).length === 1);
    expect(await signalsOf(app, linePacerId(lineId))).toEqual(['overdue']);
    // A snooze that is over is told of.
    const Told = z.object({ event: z.string(), to: z.string(), by: z.string() });
    const told = await eventually(async () => {
      const rows = await systemDb(app.pools).any(sql.type(Told)`
        select event, body::jsonb ->> 'to' "to", body::jsonb -> 'by' ->> 'type' "by" from events
        where workspace_id = ${workspace.id} and body::jsonb ->> 'address' = ${address}`);
      return rows.length > 0 && rows;
    });
    expect(told).toEqual([{ event: 'conversation.status_changed', to: 'open', by: 'system' }]);
    const { spec, policies } = await schedule();
    expect(spec.intervals).toMatchObject([{ every: 600_000 }]);
    // What an outage of Temporal has missed starts when it is back, also behind a run that still goes on.
    expect(policies).toMatchObject({ catchupWindow: 3_600_000, overlap: 'BUFFER_ONE' });
  });

  it('goes on after a step that fails', async () => {
    const called: string[] = [];
    const step = (name: string, result: unknown) => async () => {
      called.push(name);
      return result;
    };
    const activities = {
      wakeOverdue: step('wakeOverdue', 2),
      rehomeStranded: step('rehomeStranded', 1),
      countDays: () => Promise.reject(new Error('the database is down')),
      judgeIdleLines: step('judgeIdleLines', 0),
      carriersToProbe: step('carriersToProbe', []),
    };
    await withStandIns(activities, async (client) => {
      const done: unknown = await client.workflow.execute('housekeeping', {
        args: [{ runMs: 1000 }],
        taskQueue: MAIN_QUEUE,
        workflowId: 'housekeeping',
      });
      expect(done).toEqual({ woken: 2, rehomed: 1, probed: 0 });
    });
    expect(called).toEqual(['wakeOverdue', 'rehomeStranded', 'judgeIdleLines', 'carriersToProbe']);
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
      args: [{ runMs: 600_000 }],
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

describe('probes', () => {
  const LONG_AGO = new Date(Date.now() - 600_000);
  /** Probes the lines of a carrier of its own, whose lines have accounts as their settings. */
  async function probe(
    lines: readonly {
      workspaceId: string;
      account: string;
      fields?: Record<string, string | Date | number>;
    }[],
    answer: (account: string, lineId: string) => Promise<void>,
    reporting: () => 'pass' | 'fail' | 'unknown' = () => 'unknown',
  ) {
    const name = `carrier-${newId()}`;
    const ids: string[] = [];
    for (const { workspaceId, account, fields } of lines)
      ids.push(
        await createLine(app, workspaceId, 'imessage', {
          carrier: name,
          carrier_config: JSON.stringify({ account }),
          health_checked_at: LONG_AGO,
          ...fields,
        }),
      );
    const asked: string[] = [];
    const checked: string[] = [];
    const carrier = {
      name,
      config: z.object({ account: z.string() }),
      account: ({ account }: { account: string }) => (account.startsWith('shared') ? account : undefined),
      probe({ account }: { account: string }, lineId: string) {
        asked.push(account);
        return answer(account, lineId);
      },
      async *checkConnection(_config: unknown, { callbackUrl }: { callbackUrl: string }) {
        checked.push(callbackUrl);
        yield { name: 'callback', result: reporting(), text: 'The number reports replies to no URL.' };
      },
    };
    const { probeLines } = createLineHealthActivities({
      pools: app.pools,
      carriers: { get: () => carrier },
      secrets: createSecretBox(app.config.encryptionKeys),
      publicUrl: app.url,
      logger: pino({ level: 'silent' }),
    } as unknown as Dependencies);
    return {
      ids,
      asked,
      checked,
      run: () => new MockActivityEnvironment().run(() => probeLines({ carrier: name })),
      health: async () => {
        const rows = await systemDb(app.pools).any(
          sql.type(
            z.object({ id: z.string(), healthStatus: z.string(), healthCheckedAt: z.date() }),
          )`select id, health_status, health_checked_at from lines where carrier = ${name}`,
        );
        return ids.map((id) => rows.find((row) => row.id === id));
      },
    };
  }

  it('ask an account once for all of its lines, and each of them counts a failure', async () => {
    const [one, two] = [await createWorkspace(app), await createWorkspace(app)];
    const probes = await probe(
      [
        { workspaceId: one.id, account: 'shared-1' },
        { workspaceId: one.id, account: 'shared-1' },
        { workspaceId: two.id, account: 'shared-1', fields: { health_status: 'down', failed_probes: 3 } },
        { workspaceId: two.id, account: 'shared-2' },
        { workspaceId: two.id, account: 'own' },
        { workspaceId: two.id, account: 'own' },
      ],
      async (account) => {
        if (account === 'shared-2') throw new Error('suspended');
      },
    );
    expect(await probes.run()).toBe(6);
    expect(probes.asked.toSorted()).toEqual(['own', 'own', 'shared-1', 'shared-2']);
    expect((await probes.health()).map((line) => line?.healthStatus)).toEqual([
      'healthy',
      'healthy',
      'healthy',
      'degraded',
      'healthy',
      'healthy',
    ]);
    expect(await probes.run()).toBe(0);
  });

  it('spare healthy lines for which the carrier has just accepted a message', async () => {
    const { id: workspaceId } = await createWorkspace(app);
    const line = (fields: Record<string, string | Date | number> = {}) => ({
      workspaceId,
      account: 'own',
      fields,
    });
    const probes = await probe(
      [
        line(),
        line({ health_status: 'degraded', failed_probes: 1 }),
        line(),
        line({ recorded_hold: 'carrier_pause' }),
      ],
      async () => {},
    );
    const sentAt = new Date(Date.now() - 30_000);
    const attempt = (lineId: string | undefined, outcome: string | null) =>
      insertRow(app, 'attempts', {
        workspace_id: workspaceId,
        id: newId(sentAt),
        message_id: newId(),
        line_id: lineId ?? '',
        kind: 'primary',
        channel: 'imessage',
        carrier: 'own',
        address: '+14155550100',
        is_new: false,
        started_at: sentAt,
        answer_by: sentAt,
        outcome,
      });
    const [accepted, degraded, open, paused] = probes.ids;
    await attempt(accepted, 'accepted');
    await attempt(degraded, 'accepted');
    await attempt(open, null);
    await attempt(paused, 'accepted');
    expect(await probes.run()).toBe(4);
    expect(probes.asked).toHaveLength(3);
    const health = await probes.health();
    expect(health.map((row) => row?.healthStatus)).toEqual(['healthy', 'healthy', 'healthy', 'healthy']);
    expect(health[0]?.healthCheckedAt).toEqual(sentAt);
    for (const row of health.slice(1))
      expect(row?.healthCheckedAt.getTime()).toBeGreaterThan(sentAt.getTime());
  });

  it('ask once an hour whether replies are reported, and at each probe while they are not', async () => {
    const { id: workspaceId, api } = await createWorkspace(app);
    let result: 'pass' | 'fail' | 'unknown' = 'fail';
    const probes = await probe(
      [{ workspaceId, account: 'own', fields: { health_checked_at: new Date(Date.now() - 7_200_000) } }],
      async () => {},
      () => result,
    );
    const [lineId = ''] = probes.ids;
    const shown = async () => (await api('GET', `/api/lines/${lineId}`)).body.line.healthCheck;
    const troubles = async () =>
      (await api('GET', '/api/attention')).body.items.map(({ reason }: { reason: string | null }) => reason);
    const probeAgain = async () => {
      await age(app.pools, 'lines', ['health_checked_at'], '2 minutes', `id = '${lineId}'`);
      expect(await probes.run()).toBe(1);
    };
    await probes.run();
    expect(await shown()).toMatchObject({
      status: 'healthy',
      inbox: { reason: 'The number reports replies to no URL.' },
    });
    expect(await troubles()).toContain('replies_not_reported');
    await age(app.pools, 'lines', ['inbox_failing_since'], '11 minutes', `id = '${lineId}'`);
    result = 'unknown';
    await probeAgain();
    expect(await shown()).toMatchObject({ status: 'degraded', inbox: {} });
    result = 'pass';
    await probeAgain();
    expect(await shown()).toMatchObject({ status: 'healthy' });
    expect(await shown()).not.toHaveProperty('inbox');
    expect(await troubles()).not.toContain('replies_not_reported');
    await age(app.pools, 'lines', ['health_checked_at'], '70 minutes', `id = '${lineId}'`);
    await probes.run();
    expect(probes.checked).toEqual(
      Array.from({ length: 4 }, () => expect.stringMatching(`/callbacks/carriers/carrier-.*/${lineId}$`)),
    );
    expect(probes.asked).toHaveLength(4);
  });

  it('of a workspace whose lines hang do not delay those of others', async () => {
    const [hanging, other] = [await createWorkspace(app), await createWorkspace(app)];
    const release = Promise.withResolvers<void>();
    const probes = await probe(
      [
        ...Array.from({ length: 300 }, () => ({ workspaceId: hanging.id, account: 'hangs' })),
        ...Array.from({ length: 30 }, () => ({ workspaceId: other.id, account: 'answers' })),
      ],
      (account) => (account === 'hangs' ? release.promise : Promise.resolve()),
    );
    const running = probes.run();
    await eventually(async () => probes.asked.filter((account) => account === 'answers').length === 30);
    expect(probes.asked.filter((account) => account === 'hangs').length).toBeLessThan(300);
    release.resolve();
    expect(await running).toBe(330);
  });
});
