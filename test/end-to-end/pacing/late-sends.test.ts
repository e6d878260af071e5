import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/transactions.ts';
import { connected } from '#test/setup/database.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { PNG, uploaded } from '#test/support/files.ts';
import { linePacerId } from '#workflows/messages/wake.ts';

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
    await eventually(async () => (await attemptsTo(to))[0]?.isOver, 30_000);
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
  await eventually(async () => (await attemptsTo(to)).at(-1)?.outcome === 'accepted', 30_000);
  expect(await sentTo(app, to)).toHaveLength(1);
  expect((await attemptsTo(to)).map(({ outcome }) => outcome)).toEqual(['not_sent', 'accepted']);
}, 90_000);

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
}, 60_000);
