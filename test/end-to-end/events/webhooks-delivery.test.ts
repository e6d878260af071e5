import { beforeAll, describe, expect, it, test } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import { finishDeliveries } from '#db/queries/events/webhook-deliveries.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { UNSUBSCRIBED_DELIVERIES_PER_DAY } from '#domain/accounts/limits.ts';
import { EVENT_NAMES } from '#domain/events/event.ts';
import { EVENT_PAYLOADS } from '#domain/events/payloads.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  type Endpoint,
  hang,
  type Received,
  registerWebhook,
  startTestEndpoint,
  verify,
} from '#test/support/endpoint.ts';
import { createLead, createWorkspace, createWorkspaceWithLine, insertRow } from '#test/support/factories.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

/** Creates a workspace that can send messages. Each test has its own, so that deliveries in flight do not affect the next. */
async function createSender(): Promise<{
  id: string;
  call: ApiClient;
  send: (to?: string, fields?: object) => Promise<string>;
}> {
  const { id, api: call } = await createWorkspaceWithLine(app);
  const send = async (to = phone(), fields: object = {}): Promise<string> => {
    const { status, body } = await call('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: to,
      ...fields,
    });
    expect(status).toBe(201);
    return body._id ?? body.message?._id ?? body.messageId;
  };
  return { id, call, send };
}

const log = async (call: ApiClient, path: string) =>
  (await call('GET', `${path}/deliveries`)).body.deliveries;
const arrivals = (target: Endpoint, count: number): Promise<Received[]> =>
  eventually(async () => target.received.length >= count && target.received);

test('deliveries of a workspace without a subscription are sent up to a number a day', async () => {
  const { id, api } = await createWorkspace(app, { subscription_status: 'none', plan: null });
  const target = await startTestEndpoint();
  const webhook = await registerWebhook(api, target.url, { events: ['lead.created'], retries: 'standard' });
  const create = () => api('POST', '/api/leads', { leads: [{ phone: phone() }] });
  await create();
  await arrivals(target, 1);
  await systemDb(app.pools).query(sql.type(NoRows)`
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, status, success)
    select ${id}, i, ${webhook.id}, i, 'lead.created', 'done', true
    from (select ${newId().slice(0, 8)} || lpad(to_hex(n), 16, '0') from generate_series(1, ${UNSUBSCRIBED_DELIVERIES_PER_DAY - 1}) n) as x (i)`);
  await create();
  const [last] = await eventually(async () => {
    const entries = await log(api, webhook.path);
    return entries[0].success === false && entries;
  });
  expect(last).toMatchObject({
    success: false,
    responseStatus: null,
    error: expect.stringContaining('5000 deliveries a day'),
  });
  expect(target.received).toHaveLength(1);
});

test('the result of an attempt that others have given up does not end the one that follows', async () => {
  const { id, api } = await createWorkspace(app);
  const target = await startTestEndpoint();
  const webhook = await registerWebhook(api, target.url, { events: ['lead.created'], retries: 'standard' });
  const deliveryId = newId();
  await insertRow(app, 'webhook_deliveries', {
    workspace_id: id,
    id: deliveryId,
    webhook_id: webhook.id,
    event_id: newId(),
    event: 'lead.created',
    status: 'sending',
    claimed_at: new Date(),
    attempt_count: 1,
  });
  const answer = { success: false, responseStatus: 500, error: 'late', latencyMs: 1, responseBody: null };
  const end = (attemptCount: number) =>
    withTenant(app.pools, id, (db) => finishDeliveries(db, [{ id: deliveryId, ...answer, attemptCount }]));
  const status = () =>
    systemDb(app.pools).oneFirst(
      sql.type(
        z.object({ status: z.string() }),
      )`select status from webhook_deliveries where id = ${deliveryId}`,
    );
  await end(1);
  expect(await status()).toBe('sending');
  await end(2);
  expect(await status()).toBe('done');
});

describe('events', () => {
  it('match their schemas and reach every subscriber in parallel, signed', async () => {
    const { id, call, send } = await createSender();
    const leadId = await createLead(app, id, { phones: ['+12025550199'] });
    const [one, two] = [await startTestEndpoint(), await startTestEndpoint()];
    const [first, second] = [
      await registerWebhook(call, one.url, { events: EVENT_NAMES }),
      await registerWebhook(call, two.url, { events: ['message.sent'] }),
    ];
    const sent = await send(undefined, {
      message: 'Hello {{ firstName }}',
      leadId,
      crmAContactId: 'crm-1',
      correlationId: 'c-1',
    });
    const failed = await send(phone('0002'));
    const fallback = await send(phone('0001'));
    const opened = await send(phone('0010'));
    const received = await eventually(async () => {
      const statuses = one.received.filter(({ json }) => json.event !== 'message.delivered');
      return statuses.length >= 5 && one.received;
    });
    const of = (messageId: string, event: string) => {
      const found = received.filter(({ json }) => json.messageId === messageId && json.event === event);
      expect(found).toHaveLength(1);
      return found[0]!;
    };
    for (const delivery of received) {
      const { event } = delivery.json as { event: keyof typeof EVENT_PAYLOADS };
      // Equal, so that there is no field beyond the schema.
      expect(EVENT_PAYLOADS[event].parse(delivery.json)).toEqual(delivery.json);
      verify(delivery, first.secret);
      expect(delivery.headers['x-svc-event']).toBe(event);
      expect(delivery.headers['content-type']).toBe('application/json');
    }
    expect(of(sent, 'message.sent').json).toMatchObject({
      workspaceId: id,
      leadId,
      lead: { _id: leadId, firstName: 'Ada' },
      crmAContactId: 'crm-1',
      crmBContactId: null,
      message: { _id: sent, message: 'Hello Ada', status: 'sent', correlationId: 'c-1' },
      data: {},
    });
    expect(of(failed, 'message.failed').json.data.error).toBe(
      of(failed, 'message.failed').json.message.errorMessage,
    );
    expect(of(fallback, 'message.fallback').json).toMatchObject({
      message: { status: 'fallback' },
      data: { reason: expect.any(String), checkedAddresses: [expect.stringMatching(/0001$/)] },
    });
    const read = of(opened, 'message.opened').json;
    expect(read.data.readAt).toBe(read.message.readAt);

    await arrivals(two, 2);
    for (const delivery of two.received) {
      verify(delivery, second.secret);
      expect(delivery.json.event).toBe('message.sent');
      const twin = received.find(
        ({ headers }) => headers['x-svc-event-id'] === delivery.headers['x-svc-event-id'],
      )!;
      expect(delivery.body).toBe(twin.body);
      expect(delivery.headers['x-svc-delivery-id']).not.toBe(twin.headers['x-svc-delivery-id']);
    }
    await eventually(async () => (await call('GET', second.path)).body.webhook.lastSuccessAt !== null);
  });

  it('are not retried after a failure, which is counted and logged', async () => {
    const { call, send } = await createSender();
    const target = await startTestEndpoint(500);
    const hook = await registerWebhook(call, target.url);
    await send();
    await send();
    const deliveries = await eventually(async () => {
      const all = await log(call, hook.path);
      return (
        all.length === 2 && all.every(({ success }: { success: boolean | null }) => success === false) && all
      );
    });
    expect(deliveries[0]).toMatchObject({
      responseStatus: 500,
      error: 'the endpoint responded 500',
      attemptCount: 1,
      event: 'message.sent',
    });
    expect(target.received).toHaveLength(2);
    const { webhook } = (await call('GET', hook.path)).body;
    expect(webhook).toMatchObject({
      failureCount: 2,
      lastSuccessAt: null,
      lastFailureAt: expect.any(String),
    });
  });

  it('succeed with a status line of 2xx, even if the body of the response ends early', async () => {
    const { call, send } = await createSender();
    const target = await startTestEndpoint((response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('short', () => response.destroy());
    });
    const hook = await registerWebhook(call, target.url);
    await send();
    const [delivery] = await eventually(async () => {
      const all = await log(call, hook.path);
      return all[0]?.success !== null && all.length === 1 && all;
    });
    expect(delivery).toMatchObject({ success: true, responseStatus: 200, error: null });
  });
});

test('deliveries that are committed late or held by an inactive webhook are not skipped', async () => {
  const { id: workspaceId, call, send } = await createSender();
  const [target, paused] = [await startTestEndpoint(), await startTestEndpoint()];
  const hook = await registerWebhook(call, target.url);
  const other = await registerWebhook(call, paused.url);
  await call('PATCH', other.path, { isActive: false });
  const insertDelivery = async (webhookId: string, at: Date): Promise<void> => {
    const event = {
      workspace_id: workspaceId,
      id: newId(at),
      event: 'message.sent',
      body: '{"event":"message.sent"}',
    };
    await insertRow(app, 'events', event);
    await insertRow(app, 'webhook_deliveries', {
      workspace_id: workspaceId,
      id: event.id,
      webhook_id: webhookId,
      event_id: event.id,
      event: event.event,
    });
  };
  const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);
  await send();
  await arrivals(target, 1);
  // The dispatcher has already passed these.
  await insertDelivery(hook.id, minutesAgo(1));
  await insertDelivery(other.id, minutesAgo(20 * 24 * 60));
  await call('PATCH', other.path, { isActive: true });
  await arrivals(target, 2);
  await arrivals(paused, 1);
});

test('deliveries are listed newest first even within a millisecond', async () => {
  const { call } = await createSender();
  const target = await startTestEndpoint();
  const hook = await registerWebhook(call, target.url, { events: ['message.failed'] });
  const failed: string[] = [];
  await call('POST', '/api/opt-outs', { address: '+12025550142' });
  for (let i = 0; i < 8; i++) {
    const { body } = await call('POST', '/api/messages', { message: `${i}`, recipientPhone: '+12025550142' });
    failed.push(body._id);
  }
  await arrivals(target, failed.length);
  const messageOf = new Map(
    target.received.map(({ headers, json }) => [headers['x-svc-delivery-id'], json.messageId]),
  );
  const logged = (await log(call, hook.path)).map(({ id }: { id: string }) => messageOf.get(id));
  expect(logged).toEqual(failed.toReversed());
});

test('what an endpoint answered to a failed delivery is kept until its contact is erased', async () => {
  const { id, call, send } = await createSender();
  const to = phone();
  const leadId = await createLead(app, id, { phones: [to] });
  const target = await startTestEndpoint((response) => {
    response.writeHead(422).end(`\0 ${to} is unknown ${'x'.repeat(3000)}`);
  });
  const hook = await registerWebhook(call, target.url);
  await send(to);
  const [sent] = await arrivals(target, 1);
  const one = async () =>
    (await call('GET', `${hook.path}/deliveries/${sent!.headers['x-svc-delivery-id']}`)).body.delivery;
  const failed = await eventually(async () => {
    const delivery = await one();
    return delivery.success === false && delivery;
  });
  expect(failed).toMatchObject({ responseStatus: 422, requestBody: sent!.body });
  expect(failed.responseBody).toMatch(new RegExp(`^\uFFFD \\${to} is unknown x+$`));
  expect(failed.responseBody).toHaveLength(2000);
  await call('POST', `${hook.path}/deliveries/${failed.id}/replay`);
  const [replay] = await log(call, hook.path);
  const replayed = (await call('GET', `${hook.path}/deliveries/${replay.id}`)).body.delivery;
  expect(replayed).toMatchObject({ isReplayOf: failed.id, success: false, responseBody: null });
  await call('DELETE', `/api/leads/${leadId}?erase=true`);
  await eventually(async () => (await one()).responseBody === null);
  expect(await one()).toMatchObject({ success: false, responseStatus: 422, requestBody: null });
});

describe('a replay', () => {
  it('sends the identical body to the current URL with the current secret, and names the original', async () => {
    const { call, send } = await createSender();
    const [before, after] = [await startTestEndpoint(500), await startTestEndpoint()];
    const hook = await registerWebhook(call, before.url);
    await send(undefined, { message: 'Grüße 👋 "quoted"' });
    const [original] = await arrivals(before, 1);
    const originalId = original!.headers['x-svc-delivery-id'];
    await eventually(async () => (await log(call, hook.path))[0]?.success === false);

    await call('PATCH', hook.path, { url: after.url });
    const rotated = await call('POST', `${hook.path}/rotate-secret`);
    const replay = await call('POST', `${hook.path}/deliveries/${originalId}/replay`);
    expect(replay.status).toBe(200);
    expect(replay.body).toMatchObject({
      success: true,
      isReplayOf: originalId,
      responseStatus: 204,
      error: null,
      attemptCount: 1,
    });
    const again = await call('POST', `${hook.path}/deliveries/${replay.body.deliveryId}/replay`);
    expect(again.body).toMatchObject({ success: true, isReplayOf: originalId });
    expect(new Set([originalId, replay.body.deliveryId, again.body.deliveryId]).size).toBe(3);

    expect(after.received).toHaveLength(2);
    for (const [index, { body }] of [replay, again].entries()) {
      const delivery = after.received[index]!;
      expect(delivery.body).toBe(original!.body);
      verify(delivery, rotated.body.secret);
      expect(delivery.headers).toMatchObject({
        'x-svc-replay': 'true',
        'x-svc-event': 'message.sent',
        'x-svc-event-id': original!.headers['x-svc-event-id'],
        'x-svc-delivery-id': body.deliveryId,
      });
    }
    const entries = await log(call, hook.path);
    expect(entries.map(({ id }: { id: string }) => id)).toEqual([
      again.body.deliveryId,
      replay.body.deliveryId,
      originalId,
    ]);
    expect(
      entries.filter(({ isReplayOf }: { isReplayOf?: string }) => isReplayOf === originalId),
    ).toHaveLength(2);
    expect(entries.find(({ id }: { id: string }) => id === originalId)).not.toHaveProperty('isReplayOf');
  });

  it('returns 502 if the endpoint fails, 404 for an unknown delivery and 409 while the webhook is inactive', async () => {
    const { call, send } = await createSender();
    const target = await startTestEndpoint();
    const [hook, other] = [
      await registerWebhook(call, target.url),
      await registerWebhook(call, target.url, { events: ['message.reply'] }),
    ];
    await send();
    await arrivals(target, 1);
    const [delivery] = await log(call, hook.path);
    const replay = `deliveries/${delivery.id}/replay`;
    target.behave(503);
    const failed = await call('POST', `${hook.path}/${replay}`);
    expect([failed.status, failed.body.responseStatus, failed.body.success]).toEqual([502, 503, false]);
    expect((await call('POST', `${other.path}/${replay}`)).status).toBe(404);
    expect((await call('POST', `${hook.path}/deliveries/${'0'.repeat(24)}/replay`)).status).toBe(404);
    expect((await call('POST', `${hook.path}/deliveries/nonsense/replay`)).status).toBe(404);
    await call('PATCH', hook.path, { isActive: false });
    expect((await call('POST', `${hook.path}/${replay}`)).status).toBe(409);
    expect((await call('POST', `${hook.path}/deliveries/${'0'.repeat(24)}/replay`)).status).toBe(404);
    expect(target.received).toHaveLength(2);
  });
});

describe('an inactive webhook', () => {
  it('gets nothing, and once active again its pending deliveries but not the events in between', async () => {
    const { call, send } = await createSender();
    const target = await startTestEndpoint(hang);
    const watcher = await startTestEndpoint();
    const hook = await registerWebhook(call, target.url);
    await registerWebhook(call, watcher.url);
    // More than are sent in parallel, so that the rest waits.
    for (let index = 0; index < 11; index += 1) await send();
    await arrivals(watcher, 11);
    await eventually(async () => target.open() === 8);
    await call('PATCH', hook.path, { isActive: false });
    await send();
    await arrivals(watcher, 12);

    const taken = target.received.length;
    expect(taken).toBe(8);
    // An active webhook would get its next deliveries now.
    target.behave(204);
    target.drop();
    await eventually(async () => target.open() === 0);
    await send();
    await arrivals(watcher, 13);
    expect(target.received).toHaveLength(8);
    await call('PATCH', hook.path, { isActive: true });
    await arrivals(target, 11);
    await send();
    await arrivals(target, 12);
    const events = target.received.map(({ headers }) => headers['x-svc-event-id']);
    expect(new Set(events).size).toBe(12);
  });

  it('gets nothing more after it is deleted with its log', async () => {
    const { call, send } = await createSender();
    const target = await startTestEndpoint(hang);
    const hook = await registerWebhook(call, target.url);
    for (let index = 0; index < 9; index += 1) await send();
    await eventually(async () => target.open() === 8);
    expect((await call('DELETE', hook.path)).status).toBe(200);
    expect((await call('GET', `${hook.path}/deliveries`)).status).toBe(404);
    const watcher = await startTestEndpoint();
    await registerWebhook(call, watcher.url);
    await send();
    await arrivals(watcher, 1);
    expect(target.received).toHaveLength(8);
  });
});

describe('hanging endpoints', () => {
  it('delay no other endpoint, no other workspace and no send', async () => {
    const [stuck, healthy] = [await createSender(), await createSender()];
    const black = await startTestEndpoint(hang);
    const fine = await startTestEndpoint();
    const elsewhere = await startTestEndpoint();
    const first = await registerWebhook(stuck.call, black.url);
    for (let index = 1; index < 20; index += 1) await registerWebhook(stuck.call, black.url);
    await registerWebhook(stuck.call, fine.url);
    await registerWebhook(healthy.call, elsewhere.url);
    for (let index = 0; index < 10; index += 1) await stuck.send();
    await eventually(async () => black.open() === 160);

    await Promise.all([stuck.send(), healthy.send()]);
    await Promise.all([arrivals(fine, 11), arrivals(elsewhere, 1)]);
    // While they still hang.
    expect(black.open()).toBe(160);

    // The hanging deliveries fail after 10 seconds.
    await eventually(async () =>
      systemDb(app.pools).exists(sql.type(z.unknown())`
        select from webhook_deliveries where workspace_id = ${stuck.id} and webhook_id = ${first.id} and success = false`),
    );
    const entry = (await log(stuck.call, first.path)).find(
      ({ success }: { success: boolean | null }) => success === false,
    );
    expect(entry).toMatchObject({ success: false, responseStatus: null, error: 'timeout', attemptCount: 1 });
    expect(entry.latencyMs).toBeGreaterThanOrEqual(10_000);
  });
});
