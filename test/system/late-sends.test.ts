import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { receiveReceipts } from '#db/commands/inbox/carrier-events.ts';
import { settleAccepted } from '#db/commands/sending/accepted-sends.ts';
import { type AttemptRow, insertAttempts } from '#db/queries/sending/attempts.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { NoRows } from '#db/connection/rows.ts';
import { age } from '#test/support/age.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { PNG, uploaded } from '#test/support/files.ts';
import { runSweep } from '#test/support/workflows.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const Attempt = z.object({ id: z.string(), outcome: z.string().nullable(), isOver: z.boolean() });
const attemptsTo = (address: string) =>
  systemDb(app.pools).any(sql.type(Attempt)`
    select id, outcome, answer_by < now() is_over from attempts where address = ${address} order by id`);

test('a worker that was stalled until its attempt was given up does not send any more', async () => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  await createLine(app, workspace.id);
  const url = await uploaded(app, workspace.key, { name: 'dot.png', content: PNG, type: 'image/png' });
  const to = phone();
  await connected(app.ownerUrl, async (owner) => {
    // Between claiming the message and calling the carrier, the worker reads the attachment: here it stalls.
    await owner.query('begin; lock table attachments in access exclusive mode');
    const { body } = await api('POST', '/api/messages', {
      message: 'Once',
      recipientPhone: to,
      attachmentUrls: [url],
    });
    expect(body._id).toBeDefined();
    await eventually(async () => (await attemptsTo(to))[0]?.isOver);
    // As another worker does meanwhile: the carrier knows nothing of the attempt, and the message is retried.
    await owner.query(`update attempts set outcome = 'not_sent', finished_at = now() where address = $1`, [
      to,
    ]);
    await owner.query(
      `update messages set status = 'scheduled', scheduled_at = now() + interval '1 second' where address = $1`,
      [to],
    );
    await owner.query('commit');
  });
  await eventually(async () => (await attemptsTo(to)).at(-1)?.outcome === 'accepted');
  expect(await sentTo(app, to)).toHaveLength(1);
  expect((await attemptsTo(to)).map(({ outcome }) => outcome)).toEqual(['not_sent', 'accepted']);
});

test('a message that the carrier accepts after its attempt was given up counts as sent and gets its receipts', async () => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  await createLine(app, workspace.id);
  const to = phone('0009');
  await api('POST', '/api/messages', { message: 'Late', recipientPhone: to });
  await eventually(async () => (await attemptsTo(to)).length === 1);
  await systemDb(app.pools).query(sql.type(z.unknown())`
    update attempts set outcome = 'unknown', finished_at = now() where address = ${to}`);
  await eventually(async () => (await attemptsTo(to))[0]?.outcome === 'accepted');
  const [carrierMessage] = await sentTo(app, to);
  const [row] = await systemDb(app.pools).any(
    sql.type(
      z.object({ reason: z.string(), carrierMessageId: z.string() }),
    )`select reason, carrier_message_id from attempts where address = ${to}`,
  );
  expect(row).toEqual({ reason: 'accepted_late', carrierMessageId: carrierMessage?.id });
  expect((await api('GET', '/api/lines/by-user')).body.lines[0].usage.totalMessages).toBe(1);
});

test('a message that arrives before its carrier answers is stored as sent and delivered together', async () => {
  const { id: workspaceId } = await createWorkspace(app);
  const [lineId, id, address] = [await createLine(app, workspaceId), newId(), phone()];
  const [now, arrived] = [new Date(), new Date(Date.now() - 1000)];
  await insertRow(app, 'messages', {
    workspace_id: workspaceId,
    id,
    line_id: lineId,
    channel: 'imessage',
    status: 'sending',
    address,
    body: 'Fast',
    scheduled_at: now.toISOString(),
    source: 'api',
  });
  const attempt: AttemptRow = {
    id: newId(),
    messageId: id,
    lineId,
    kind: 'primary',
    channel: 'imessage',
    carrier: 'simulated',
    address,
    isNew: false,
    contactLastSentAt: null,
    startedAt: now,
    answerBy: now,
  };
  const carrierMessageId = `carrier ${id}`;
  const receipt = (eventId: string, at: Date) => ({
    lineId,
    event: { kind: 'receipt' as const, eventId, carrierMessageId, status: 'delivered' as const, at },
  });
  const inWorkspace = <T>(work: (db: TenantDb) => Promise<T>) => withTenant(app.pools, workspaceId, work);
  await inWorkspace((db) => insertAttempts(db, [attempt]));
  await inWorkspace((db) => receiveReceipts(db, [receipt('first', arrived), receipt('again', now)]));
  const send = { attempt, carrierMessageId, text: 'Fast', at: now, happenedIn: [] };
  await inWorkspace((db) => settleAccepted(db, [send], now));

  const Stored = z.object({ status: z.string(), sentAt: z.date(), deliveredAt: z.date() });
  expect(
    await systemDb(app.pools).one(sql.type(Stored)`
      select status, sent_at, delivered_at from messages where workspace_id = ${workspaceId} and id = ${id}`),
  ).toEqual({ status: 'delivered', sentAt: now, deliveredAt: arrived });
  const Told = z.object({ event: z.string(), status: z.string(), deliveredAt: z.string().nullable() });
  expect(
    await systemDb(app.pools).any(sql.type(Told)`
      select event, body::jsonb -> 'message' ->> 'status' status, body::jsonb -> 'message' ->> 'deliveredAt' delivered_at
      from events where workspace_id = ${workspaceId} and message_id = ${id} order by event desc`),
  ).toEqual([
    { event: 'message.sent', status: 'sent', deliveredAt: null },
    { event: 'message.delivered', status: 'delivered', deliveredAt: expect.any(String) },
  ]);
});

test('a message whose outcome is unknown is sent although the run that was to ask for it is lost', async () => {
  const { id: workspaceId, api } = await createWorkspace(app);
  const lineId = await createLine(app, workspaceId);
  const [to, next] = [phone(), phone()];
  const { body } = await api('POST', '/api/messages', {
    message: 'Interrupted',
    recipientPhone: to,
    scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
  });
  // As after a crash between the commit of the attempt and the call.
  const attempt: AttemptRow = {
    id: newId(),
    messageId: body._id,
    lineId,
    kind: 'primary',
    channel: 'imessage',
    carrier: 'simulated',
    address: to,
    isNew: false,
    contactLastSentAt: null,
    startedAt: new Date(),
    answerBy: new Date(Date.now() + 3_600_000),
  };
  await withTenant(app.pools, workspaceId, async (db) => {
    await insertAttempts(db, [attempt]);
    await db.query(sql.type(NoRows)`
      update messages set status = 'sending' where workspace_id = ${workspaceId} and id = ${body._id}`);
  });
  await api('POST', '/api/messages', { message: 'Next', recipientPhone: next });
  await eventually(async () => (await attemptsTo(next))[0]?.outcome === 'accepted');
  const pacer = linePacerId(lineId);
  const Wake = z.object({ isResting: z.boolean() });
  // Once the line has nothing else to do.
  await eventually(() =>
    systemDb(app.pools).maybeOneFirst(sql.type(Wake)`
      select wake_at > now() + interval '5 seconds' is_resting from workflow_wakes where workflow_id = ${pacer}`),
  );
  await app.temporal.workflow.getHandle(pacer).terminate();
  await age(app.pools, 'attempts', ['answer_by'], '2 hours', `id = '${attempt.id}'`);
  await age(app.pools, 'workflow_wakes', ['wake_at', 'sweep_at'], '2 hours', `workflow_id = '${pacer}'`);
  await runSweep(app);
  await eventually(async () => (await attemptsTo(to)).at(-1)?.outcome === 'accepted');
  expect((await attemptsTo(to)).map(({ outcome }) => outcome)).toEqual(['not_sent', 'accepted']);
});

test('a fallback SMS is not sent again while nobody knows yet whether it left', async () => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  const lineId = await createLine(app, workspace.id);
  await api('PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'simulated',
    fromNumber: '+14155550100',
  });
  const to = phone('0009');
  const { body } = await api('POST', '/api/messages', {
    message: 'Once',
    recipientPhone: to,
    forceFallback: true,
  });
  await eventually(async () => (await attemptsTo(to)).length === 1);
  // Another round starts while the first one waits for the response, as after a crash.
  await app.temporal.workflow.getHandle(linePacerId(lineId)).terminate();
  const next = phone();
  await api('POST', '/api/messages', { message: 'Next', recipientPhone: next });
  await eventually(async () => (await attemptsTo(next))[0]?.outcome === 'accepted');
  await eventually(
    async () => (await api('GET', `/api/messages/${body._id}`)).body.fallbackSmsDispatched === true,
  );
  expect((await attemptsTo(to)).map(({ outcome }) => outcome)).toEqual(['accepted']);
  expect(await sentTo(app, to)).toHaveLength(1);
});
