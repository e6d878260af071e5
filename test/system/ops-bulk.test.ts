import { afterAll, beforeAll, expect, test } from 'vitest';
import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { countLines, readBacklog } from '#db/queries/messages/backlog.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { auditOf } from '#test/support/operators.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { newId, newWorkspaceId } from '#domain/base/ids.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const BY = ['--by', 'Dana', '--reason', 'maintenance'];

async function verdict(...args: string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await ops([...args, ...BY], environment(app.config));
  expect([status, stderr], args.join(' ')).toEqual([0, '']);
  return JSON.parse(stdout) as Record<string, unknown>;
}
const statusOf = async (...args: string[]) => (await ops([...args, ...BY], environment(app.config))).status;

async function world(): Promise<{ workspace: TestWorkspace; api: ApiClient; lineId: string }> {
  const workspace = await createWorkspace(app);
  return {
    workspace,
    api: apiClient(app.url, workspace.key),
    lineId: await createLine(app, workspace.id),
  };
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
async function send(api: ApiClient, fields: object) {
  const recipientPhone = phone();
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: String(body._id), to: recipientPhone };
}
const get = async (api: ApiClient, id: string) => (await api('GET', `/api/messages/${id}`)).body;

test('messages that wait are canceled by filter, after a look at how many, and only once', async () => {
  const { workspace, api, lineId } = await world();
  const other = await world();
  const later = { fromLineId: lineId, scheduledDate: inAnHour() };
  const ids = [await send(api, later), await send(api, later), await send(api, later)].map(({ id }) => id);
  const kept = await send(other.api, { fromLineId: other.lineId, scheduledDate: inAnHour() });
  const sent = await send(api, { fromLineId: lineId });
  await eventually(async () => (await sentTo(app, sent.to)).length === 1);

  const filter = ['--workspace', workspace.id, '--since', new Date(Date.now() - 60_000).toISOString()];
  expect(await verdict('cancel', ...filter)).toEqual({
    toBeCanceled: 3,
    dryRun: true,
    workspaces: [{ workspaceId: workspace.id, messages: 3 }],
  });
  expect((await get(api, ids[0] ?? '')).status).toBe('scheduled');
  expect(await verdict('cancel', ...filter, '--yes')).toMatchObject({ canceled: 3 });
  for (const id of ids) expect((await get(api, id)).status).toBe('canceled');
  expect((await get(other.api, kept.id)).status).toBe('scheduled');
  expect(await verdict('cancel', ...filter, '--yes')).toMatchObject({ canceled: 0 });
  expect(await auditOf(app, workspace.id)).toEqual(
    expect.arrayContaining(ids.map((id) => `Dana: message.skipped ${id} maintenance`)),
  );
  expect(await statusOf('cancel')).toBe(2);
  for (const since of ['5', 'foo 2', '2026-11-28', '2026-11-28T09:00:00', '1h'])
    expect([since, await statusOf('cancel', '--since', since, '--yes')]).toEqual([since, 2]);
  expect(await statusOf('cancel', '--line', lineId, '--workspace', other.workspace.id)).toBe(1);
  expect(await statusOf('cancel', '--line', lineId, '--status', 'sent')).toBe(2);
});

test('messages that wait move to another line, and leave from there', async () => {
  const { workspace, api, lineId } = await world();
  const other = await createLine(app, workspace.id);
  await verdict('pause', '--line', lineId, '--yes');
  const waiting = [await send(api, { fromLineId: lineId }), await send(api, { fromLineId: lineId })];
  expect(await verdict('move', '--line', lineId, '--to', other)).toMatchObject({
    toBeMoved: 2,
    dryRun: true,
  });
  expect(await verdict('move', '--line', lineId, '--to', other, '--yes')).toMatchObject({ moved: 2 });
  for (const { id, to } of waiting) {
    const [carried] = await eventually(async () => {
      const found = await sentTo(app, to);
      return found.length > 0 && found;
    });
    expect(carried?.lineId).toBe(other);
    const { events } = (await api('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.find(({ type }: { type: string }) => type === 'moved')?.text).toContain(
      'an operator moved it',
    );
  }
  expect(await statusOf('move', '--line', lineId, '--to', (await world()).lineId)).toBe(1);
});

test('messages that have failed are sent again once, except those that may have been sent', async () => {
  const { workspace, api, lineId } = await world();
  await verdict('pause', '--line', lineId, '--yes');
  const messages = [];
  for (let count = 0; count < 5; count += 1) messages.push(await send(api, { fromLineId: lineId }));
  const [refused, unknown, accepted, optedOut, sentInPart] = messages;
  const fail = (id: string | undefined, reason: string) =>
    withTenant(app.pools, workspace.id, (db) =>
      db.query(sql.type(NoRows)`
        update messages set status = 'failed', error_message = ${reason}, updated_at = now()
        where workspace_id = ${workspace.id} and id = ${id ?? ''}`),
    );
  await fail(refused?.id, '30034: not registered');
  // As if the clock of the database were ahead of that of the command.
  await withTenant(app.pools, workspace.id, (db) =>
    db.query(sql.type(NoRows)`
      update messages set created_at = now() + interval '2 seconds'
      where workspace_id = ${workspace.id} and id = ${refused?.id ?? ''}`),
  );
  await fail(unknown?.id, 'outcome_unknown');
  await fail(accepted?.id, '30005: unknown handset');
  await fail(optedOut?.id, 'recipient_opted_out');
  await fail(sentInPart?.id, 'only a part was sent: the file is too large');
  const attempted = (message: typeof accepted, outcome: string, carrierMessageId: string | null) =>
    withTenant(app.pools, workspace.id, (db) =>
      db.query(sql.type(NoRows)`
        insert into attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by, outcome,
          finished_at, carrier_message_id)
        values (${workspace.id}, ${message?.id ?? ''}, ${message?.id ?? ''}, ${lineId}, 'primary', 'imessage', 'simulated',
          ${message?.to ?? ''}, true, now(), now(), ${outcome}, now(), ${carrierMessageId})`),
    );
  await attempted(accepted, 'accepted', null);
  await attempted(refused, 'refused', null);
  await attempted(sentInPart, 'refused', 'CM1');
  await verdict('resume', '--line', lineId, '--yes');
  expect(await verdict('resend', '--line', lineId)).toMatchObject({ toBeResent: 1, dryRun: true });
  const [first, second] = await Promise.all([
    verdict('resend', '--line', lineId, '--yes'),
    verdict('resend', '--line', lineId, '--yes'),
  ]);
  expect(Number(first['resent']) + Number(second['resent'])).toBe(1);
  await eventually(async () => (await sentTo(app, refused?.to ?? '')).length === 1);
  for (const message of [unknown, accepted, optedOut, sentInPart])
    expect(await sentTo(app, message?.to ?? '')).toEqual([]);
  expect((await get(api, refused?.id ?? '')).status).toBe('failed');
  expect(await verdict('resend', '--line', lineId, '--yes')).toMatchObject({ resent: 0 });
  expect(await auditOf(app, workspace.id)).toContain(`Dana: message.resent ${refused?.id} maintenance`);
});

test('a failed answer to a message that was taken back is sent again as a message of its own, with all others', async () => {
  const { workspace, api, lineId } = await world();
  const question = await send(api, { fromLineId: lineId });
  await eventually(async () => (await get(api, question.id)).sentAt !== null);
  await verdict('pause', '--line', lineId, '--yes');
  const answer = { fromLineId: lineId, recipientPhone: question.to, replyToMessageId: question.id };
  const failed = [await send(api, answer), await send(api, { fromLineId: lineId })];
  await withTenant(app.pools, workspace.id, async (db) => {
    await db.query(sql.type(NoRows)`
      update messages set status = 'failed', error_message = 'not registered', updated_at = now()
      where workspace_id = ${workspace.id} and id = any(${sql.array(
        failed.map(({ id }) => id),
        'text',
      )})`);
    await db.query(sql.type(NoRows)`
      update messages set unsent_at = now() where workspace_id = ${workspace.id} and id = ${question.id}`);
  });
  expect(await verdict('resend', '--line', lineId, '--yes')).toMatchObject({ resent: 2 });
});

test('lines and campaigns pause and resume by filter', async () => {
  const { workspace, api, lineId } = await world();
  await createLine(app, workspace.id);
  expect(await verdict('pause', '--workspace', workspace.id)).toEqual({ toBePausedLines: 2, dryRun: true });
  expect(await verdict('pause', '--workspace', workspace.id, '--yes')).toEqual({ pausedLines: 2 });
  expect(await verdict('resume', '--line', lineId, '--yes')).toEqual({ resumedLines: 1 });
  expect(await verdict('resume', '--workspace', workspace.id)).toEqual({ toBeResumedLines: 1, dryRun: true });
  expect(await verdict('resume', '--workspace', workspace.id, '--yes')).toEqual({ resumedLines: 1 });
  const { campaign } = (
    await api('POST', '/api/campaigns', { name: 'One', steps: [{ message: 'Hi' }], start: true })
  ).body;
  expect(await verdict('pause', '--campaign', campaign._id, '--yes')).toEqual({ pausedCampaigns: 1 });
  expect((await api('GET', `/api/campaigns/${campaign._id}`)).body.campaign.status).toBe('paused');
  expect(await verdict('pause', '--campaign', campaign._id, '--yes')).toEqual({ pausedCampaigns: 0 });
  expect(await verdict('resume', '--campaign', campaign._id, '--yes')).toEqual({ resumedCampaigns: 1 });
});

test('a filter that names nothing, or that the command cannot apply, changes nothing and says so', async () => {
  const { workspace, lineId } = await world();
  for (const command of ['cancel', 'resend', 'pause', 'resume'])
    for (const filter of [
      ['--line', newId()],
      ['--campaign', newId()],
      ['--workspace', newWorkspaceId()],
    ])
      expect([command, ...filter, await statusOf(command, ...filter, '--yes')]).toEqual([
        command,
        ...filter,
        1,
      ]);
  for (const command of ['pause-all-lines', 'resume-all-lines'])
    expect([command, await statusOf(command, '--workspace', newWorkspaceId())]).toEqual([command, 1]);
  const both = ['--workspace', workspace.id];
  for (const filter of [
    [...both, '--since', inAnHour()],
    [...both, '--status', 'pending'],
    ['--since', inAnHour()],
    ['--line', lineId, '--campaign', newId()],
  ])
    expect([...filter, await statusOf('pause', ...filter, '--yes')]).toEqual([...filter, 2]);
  expect(await verdict('pause', ...both)).toEqual({ toBePausedLines: 1, dryRun: true });
});

test('the counts of what waits and fails leave out test mode', async () => {
  const { workspace } = await world();
  const twin = await openTestMode(app, workspace);
  const counted = await withSystem(app.pools, async (db) => {
    const begin = await readBacklog(db);
    for (const [key, workspaceId] of Object.entries({ twin: twin.id, live: workspace.id }))
      for (const statement of [
        sql.fragment`drip_buffer (workspace_id, id, draft, created_at)
          values (${workspaceId}, ${newId()}, '{}', now() - interval '1 minute')`,
        sql.fragment`workflow_wakes (workspace_id, workflow_id, wake_at, sweep_at, requested_by, lowered_by)
          values (${workspaceId}, ${`${key}:overdue`}, now(), now() - interval '1 minute', '0', '0')`,
        sql.fragment`attempts (workspace_id, id, message_id, line_id, kind, channel, carrier, address, is_new, started_at, answer_by)
          values (${workspaceId}, ${newId()}, ${newId()}, ${newId()}, 'primary', 'sms', 'simulated', '', false, now(), now())`,
        sql.fragment`set_aside (workspace_id, workflow_id, activity, id, subject, reason, failures, set_aside_at)
          values (${workspaceId}, ${`${key}:fails`}, 'draftReply', ${newId()}, '{}', 'Error', 5, null),
            (${workspaceId}, ${`${key}:aside`}, 'draftReply', ${newId()}, '{}', 'Error', 20, now())`,
        sql.fragment`ai_usage (workspace_id, day, tokens)
          select id, (now() at time zone timezone)::date, ai_tokens_per_day from workspaces where id = ${workspaceId}`,
      ])
        await db.query(sql.type(NoRows)`insert into ${statement}`);
    const end = await readBacklog(db);
    for (const workspaceId of [twin.id, workspace.id])
      for (const table of ['drip_buffer', 'workflow_wakes', 'attempts', 'set_aside', 'ai_usage'])
        await db.query(
          sql.type(NoRows)`delete from ${sql.identifier([table])} where workspace_id = ${workspaceId}`,
        );
    return Object.fromEntries(
      Object.entries(end).map(([name, count]) => [name, count - begin[name as keyof typeof begin]]),
    );
  });
  expect(counted).toMatchObject({
    bufferedDrips: 1,
    lateDripWorkspaces: 1,
    overdueWorkflows: 1,
    openAttempts: 1,
    failingWork: 1,
    setAside: 1,
    exhaustedModelBudgets: 1,
  });
});

test('what waits for a webhook that is inactive or deleted is neither open nor late', async () => {
  const { workspace, api } = await world();
  const register = async (isActive: boolean): Promise<string> => {
    const input = { name: 'Mine', url: 'https://hooks.example.com/', events: ['line.down'], isActive };
    return (await api('POST', '/api/webhooks', input)).body.webhook._id;
  };
  const ids = [await register(true), await register(false), await register(true)];
  expect((await api('DELETE', `/api/webhooks/${ids[2]}`)).status).toBe(200);
  const [begin, end] = await withSystem(app.pools, async (db) => {
    const before = await readBacklog(db);
    for (const webhookId of ids)
      await db.query(sql.type(NoRows)`
        insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, created_at)
        values (${workspace.id}, ${newId()}, ${webhookId}, ${newId()}, 'line.down', now() - interval '11 minutes')`);
    const after = await readBacklog(db);
    await db.query(sql.type(NoRows)`delete from webhook_deliveries where workspace_id = ${workspace.id}`);
    return [before, after];
  });
  const more = ({ openDeliveries, lateWebhooks }: typeof end) => [
    openDeliveries - begin.openDeliveries,
    lateWebhooks - begin.lateWebhooks,
  ];
  expect(more(end)).toEqual([1, 1]);
});

test('top says whose work waits and fails, and a probe asks the carrier of one line at once', async () => {
  const { workspace, api, lineId } = await world();
  await verdict('pause', '--line', lineId, '--yes');
  await send(api, { fromLineId: lineId });
  const twin = await openTestMode(app, workspace);
  const { id } = await send(twin.api, { recipientPhone: phone('0002') });
  await eventually(async () => (await get(twin.api, id)).status === 'failed');
  const found = JSON.parse((await ops(['top', '--limit', '1000'], environment(app.config))).stdout) as {
    queues: { lineId: string }[];
  };
  expect(found).toMatchObject({
    failures: expect.any(Array),
    webhooks: expect.any(Array),
    drips: [],
    lines: [],
  });
  expect(found.queues.find((queue) => queue.lineId === lineId)).toMatchObject({
    workspaceId: workspace.id,
    carrier: 'simulated',
    due: 1,
  });
  // Nobody is called for what fails in test mode.
  expect(JSON.stringify(found)).not.toContain(twin.id);
  expect((await countLines(systemDb(app.pools))).map(({ carrier }) => carrier)).not.toContain('test');
  // Its rounds do not run: nobody but the command has the line probed.
  await app.temporal.schedule.getHandle('housekeeping').pause();
  for await (const { workflowId } of app.temporal.workflow.list({
    query: "WorkflowType = 'housekeeping' AND ExecutionStatus = 'Running'",
  }))
    await app.temporal.workflow.getHandle(workflowId).terminate();
  const probed = await ops(['probe', lineId], environment(app.config));
  expect(probed.stderr).toBe('');
  expect(JSON.parse(probed.stdout)).toMatchObject({ lineId, status: 'healthy', reason: null });
}, 200_000);
