import { beforeAll, describe, expect, it, test } from 'vitest';
import { RETRY_DELAYS_MS } from '#domain/events/webhook-retries.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { type Endpoint, registerWebhook, startTestEndpoint, verify } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, createWorkspaceWithLine } from '#test/support/factories.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

async function send(api: ApiClient, fields: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    ...fields,
  });
  expect(status).toBe(201);
  return body._id;
}

const arrived = (endpoint: Endpoint, count: number) =>
  eventually(async () => endpoint.received.length >= count && endpoint.received);

/** Waits until the only delivery of a webhook was attempted so many times. */
const attempted = (api: ApiClient, path: string, attempts: number) =>
  eventually(async () => {
    const [delivery] = (await api('GET', `${path}/deliveries`)).body.deliveries;
    return delivery?.attemptCount === attempts && delivery;
  });

/** Test mode with a webhook that retries, whose endpoint has failed once. */
async function failOnce(behaviour: Parameters<typeof startTestEndpoint>[0]) {
  const { api } = await openTestMode(app, await createWorkspace(app));
  const endpoint = await startTestEndpoint(behaviour);
  const hook = await registerWebhook(api, endpoint.url, { retries: 'standard' });
  await send(api);
  const failed = await attempted(api, hook.path, 1);
  const waitsMs = async (): Promise<number> => {
    const { nextAttemptAt } = (await api('GET', `${hook.path}/deliveries`)).body.deliveries[0];
    return Date.parse(nextAttemptAt) - Date.parse((await api('GET', '/api/test/clock')).body.now);
  };
  return { api, endpoint, hook, failed, waitsMs };
}

describe('a webhook that retries', { timeout: 120_000 }, () => {
  it('is sent a failed event again after the promised times under the same id, until there are no more', async () => {
    const { api, endpoint, hook, failed, waitsMs } = await failOnce(503);
    expect(failed).toMatchObject({ success: false, responseStatus: 503 });
    for (const [index, delay] of RETRY_DELAYS_MS.entries()) {
      // The clock goes on by itself.
      expect(await waitsMs()).toBeLessThanOrEqual(delay);
      if (delay > 60_000) {
        await advanceClock(api, delay / 1000 - 60);
        expect(endpoint.received).toHaveLength(index + 1);
      }
      await advanceClock(api, 60);
      await attempted(api, hook.path, index + 2);
    }
    const [last] = (await api('GET', `${hook.path}/deliveries`)).body.deliveries;
    expect(last).toMatchObject({ success: false, attemptCount: 7, eventId: failed.eventId });
    expect(last).not.toHaveProperty('nextAttemptAt');
    await advanceClock(api, 3 * 86_400);
    expect(endpoint.received).toHaveLength(7);
    for (const delivery of endpoint.received) {
      verify(delivery, hook.secret);
      expect(delivery.body).toBe(endpoint.received[0]?.body);
      expect(delivery.headers).toMatchObject({
        'x-svc-event-id': failed.eventId,
        'x-svc-delivery-id': failed.id,
      });
      expect(delivery.headers).not.toHaveProperty('x-svc-replay');
    }
    expect((await api('GET', hook.path)).body.webhook).toMatchObject({ failureCount: 7, isActive: true });
  });

  it('gets no more once an attempt has succeeded', async () => {
    const { api, endpoint, hook } = await failOnce((response) => void response.destroy());
    endpoint.behave(204);
    await advanceClock(api, 10);
    const delivery = await attempted(api, hook.path, 2);
    expect(delivery).toMatchObject({ success: true, responseStatus: 204, error: null });
    expect(delivery).not.toHaveProperty('nextAttemptAt');
    await advanceClock(api, 2 * 86_400);
    expect(endpoint.received).toHaveLength(2);
  });

  it('may ask for more time', async () => {
    const { waitsMs } = await failOnce((response) => {
      response.writeHead(429, { 'Retry-After': '7200' }).end();
    });
    const waits = await waitsMs();
    expect(waits).toBeGreaterThan(7_000_000);
    expect(waits).toBeLessThanOrEqual(7_200_000);
  });

  it('is deactivated when its endpoint is gone', async () => {
    const { api, hook, failed } = await failOnce(410);
    expect(failed).not.toHaveProperty('nextAttemptAt');
    expect((await api('GET', hook.path)).body.webhook.isActive).toBe(false);
  });

  it('is not sent again what its endpoint refuses, or what is planned when it stops retrying', async () => {
    const refused = await failOnce(422);
    expect(refused.failed).not.toHaveProperty('nextAttemptAt');
    const stopped = await failOnce(500);
    await stopped.api('PATCH', stopped.hook.path, { retries: 'none' });
    await advanceClock(stopped.api, 3600);
    expect(stopped.endpoint.received).toHaveLength(1);
  });

  it('is sent what was planned while it was inactive', async () => {
    const { api, endpoint, hook } = await failOnce(500);
    await api('PATCH', hook.path, { isActive: false });
    await advanceClock(api, 3600);
    expect(endpoint.received).toHaveLength(1);
    endpoint.behave(204);
    await api('PATCH', hook.path, { isActive: true });
    expect(await attempted(api, hook.path, 2)).toMatchObject({ success: true });
  });

  it('is not sent an event again whose contact was erased', async () => {
    const { api } = await openTestMode(app, await createWorkspace(app));
    const endpoint = await startTestEndpoint(500);
    const hook = await registerWebhook(api, endpoint.url, { retries: 'standard' });
    const to = phone();
    const { body: saved } = await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: to }] });
    await send(api, { recipientPhone: to });
    const { id } = await attempted(api, hook.path, 1);
    const leadId = saved.leads?.[0]?._id ?? saved.leadIds?.[0];
    expect((await api('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    await eventually(
      async () => (await api('GET', `${hook.path}/deliveries/${id}`)).body.delivery.requestBody === null,
    );
    await advanceClock(api, 3600);
    expect(await attempted(api, hook.path, 2)).toMatchObject({ error: 'erased' });
    expect(endpoint.received).toHaveLength(1);
  });
});

test(
  'of an endpoint that is down for two hours, a webhook that retries delivers each event once it is back, another those that are replayed',
  { timeout: 120_000 },
  async () => {
    const { api } = await openTestMode(app, await createWorkspace(app));
    const [retried, once] = [await startTestEndpoint(503), await startTestEndpoint(503)];
    const retrying = await registerWebhook(api, retried.url, { retries: 'standard' });
    const plain = await registerWebhook(api, once.url);
    const since = (await api('GET', '/api/test/clock')).body.now;
    const ids: string[] = [];
    for (let hour = 0; hour < 2; hour += 1) {
      ids.push(await send(api));
      for (const { path } of [retrying, plain])
        await eventually(
          async () => (await api('GET', `${path}/deliveries`)).body.deliveries.length === ids.length,
        );
      await advanceClock(api, 3600);
    }
    for (const endpoint of [retried, once]) endpoint.behave(204);
    const tried = [retried.received.length, once.received.length];
    expect(tried[0]).toBeGreaterThan(2 * ids.length);
    expect(tried[1]).toBe(ids.length);

    await advanceClock(api, 8 * 3600);
    const delivered = (endpoint: Endpoint, before = 0) =>
      endpoint.received.slice(before).map(({ json }) => json.messageId as string);
    await eventually(async () => delivered(retried, tried[0]).length >= ids.length);
    expect(delivered(retried, tried[0]).toSorted()).toEqual(ids.toSorted());
    expect(once.received).toHaveLength(ids.length);
    const replay = await api('POST', `${plain.path}/replay`, { since, onlyFailed: true });
    expect(replay.body).toMatchObject({ queued: ids.length });
    await arrived(once, 2 * ids.length);
    expect(delivered(once, tried[1]).toSorted()).toEqual(ids.toSorted());
    expect((await api('POST', `${retrying.path}/replay`, { since, onlyFailed: true })).body.queued).toBe(0);
  },
);

test('past deliveries are replayed together, all or the failed ones', async () => {
  const { api } = await createWorkspaceWithLine(app);
  const endpoint = await startTestEndpoint(500);
  const hook = await registerWebhook(api, endpoint.url);
  const since = new Date(Date.now() - 60_000).toISOString();
  for (let index = 0; index < 3; index += 1) await send(api);
  const log = async () => (await api('GET', `${hook.path}/deliveries`)).body.deliveries;
  await eventually(async () => {
    const all = await log();
    return all.length === 3 && all.every(({ success }: { success: boolean | null }) => success === false);
  });
  const failed = [...endpoint.received];
  endpoint.behave(204);
  const replay = await api('POST', `${hook.path}/replay`, { since, onlyFailed: true });
  expect([replay.status, replay.body]).toEqual([202, { success: true, queued: 3, nextCursor: null }]);
  const replayed = (await arrived(endpoint, 6)).slice(3);
  for (const delivery of replayed) {
    verify(delivery, hook.secret);
    const original = failed.find(
      ({ headers }) => headers['x-svc-event-id'] === delivery.headers['x-svc-event-id'],
    )!;
    expect(delivery.body).toBe(original.body);
    expect(delivery.headers['x-svc-replay']).toBe('true');
    const entry = (await log()).find(
      ({ id }: { id: string }) => id === delivery.headers['x-svc-delivery-id'],
    );
    expect(entry.isReplayOf).toBe(original.headers['x-svc-delivery-id']);
  }
  await send(api);
  await arrived(endpoint, 7);
  await eventually(async () => (await log())[0].success);
  // Their replays have succeeded.
  expect((await api('POST', `${hook.path}/replay`, { since, onlyFailed: true })).body.queued).toBe(0);
  expect((await api('POST', `${hook.path}/replay`, { since })).body.queued).toBe(4);
  const later = new Date(Date.now() + 60_000).toISOString();
  expect((await api('POST', `${hook.path}/replay`, { since: later })).body.queued).toBe(0);
  await api('PATCH', hook.path, { isActive: false });
  expect((await api('POST', `${hook.path}/replay`, { since })).status).toBe(409);
});

test('a webhook gets only the events of the lines, campaigns and tagged contacts that it asks for', async () => {
  const { id, api, lineId } = await createWorkspaceWithLine(app);
  const endpoints = {
    all: await startTestEndpoint(),
    line: await startTestEndpoint(),
    otherLine: await startTestEndpoint(),
    campaign: await startTestEndpoint(),
    tagged: await startTestEndpoint(),
  };
  const otherLine = await createLine(app, id, 'imessage', { is_active: false });
  const { body: list } = await api('POST', '/api/lists', { name: 'Prospects' });
  const { body: made } = await api('POST', '/api/campaigns', {
    name: 'Spring',
    listId: list.list._id,
    steps: [{ message: 'Hi', delay: {} }],
    start: false,
  });
  const register = (endpoint: Endpoint, filter: object) =>
    registerWebhook(api, endpoint.url, { events: ['message.sent'], ...filter });
  await register(endpoints.line, { lineIds: [lineId] });
  await register(endpoints.otherLine, { lineIds: [otherLine] });
  await register(endpoints.campaign, { campaignIds: [made.campaign._id] });
  await register(endpoints.tagged, { tags: ['VIP'] });
  const to = phone();
  await register(endpoints.all, {});
  const first = await send(api, { recipientPhone: to });
  await arrived(endpoints.all, 1);
  const tagged = await api('POST', `/api/conversations/${encodeURIComponent(to)}/tags`, {
    tags: ['vip', 'x'],
  });
  expect(tagged.status).toBe(200);
  const second = await send(api, { recipientPhone: to });
  await send(api);
  await arrived(endpoints.all, 3);
  await arrived(endpoints.line, 3);
  await arrived(endpoints.tagged, 1);
  const ids = (endpoint: Endpoint) => new Set(endpoint.received.map(({ json }) => json.messageId));
  expect(ids(endpoints.line)).toEqual(ids(endpoints.all));
  expect(ids(endpoints.all)).toContain(first);
  expect(ids(endpoints.tagged)).toEqual(new Set([second]));
  expect([endpoints.otherLine.received, endpoints.campaign.received]).toEqual([[], []]);
});

test('a webhook can subscribe to everything about messages', async () => {
  const { api } = await createWorkspaceWithLine(app);
  const endpoint = await startTestEndpoint();
  await registerWebhook(api, endpoint.url, { events: ['message.*', 'message.sent'] });
  await send(api);
  const events = (await arrived(endpoint, 2)).map(({ json }) => json.event);
  expect(events.toSorted()).toEqual(['message.delivered', 'message.sent']);
});

test('by default a webhook neither retries nor filters', async () => {
  const { api } = await createWorkspaceWithLine(app);
  const hook = await registerWebhook(api, 'http://127.0.0.1:9/');
  const { webhook } = (await api('GET', hook.path)).body;
  expect(webhook).toMatchObject({ retries: 'none', lineIds: [], campaignIds: [], tags: [] });
  const { status, body } = await api('POST', '/api/webhooks', {
    url: 'http://127.0.0.1:9/',
    events: ['message.sent'],
    retries: 'often',
  });
  expect([status, body.error?.code ?? body.code]).toEqual([400, 'VALIDATION_ERROR']);
});
