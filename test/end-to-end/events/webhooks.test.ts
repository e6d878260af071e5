import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint, verify } from '#test/support/endpoint.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
let call: ApiClient;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  workspace = await createWorkspace(app);
  call = apiClient(app.url, workspace.key);
});

describe('webhooks', () => {
  it('are registered with a secret that is shown once, changed, listed and deleted', async () => {
    const hook = await registerWebhook(call, 'http://127.0.0.1:9/a', {
      name: 'CRM',
      events: ['message.sent', 'message.sent', 'message.reply'],
    });
    expect(hook.secret).toMatch(/^whsec_/);
    const { body } = await call('GET', hook.path);
    expect(body.webhook).toEqual({
      _id: hook.id,
      workspaceId: workspace.id,
      name: 'CRM',
      url: 'http://127.0.0.1:9/a',
      events: ['message.sent', 'message.reply'],
      lineIds: [],
      campaignIds: [],
      tags: [],
      retries: 'none',
      isActive: true,
      failureCount: 0,
      lastSuccessAt: null,
      lastFailureAt: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });

    const changed = await call('PATCH', hook.path, {
      name: 'Other',
      url: 'http://127.0.0.1:9/b',
      events: ['message.failed'],
      isActive: false,
    });
    expect(changed.status).toBe(200);
    expect(changed.body.webhook).toMatchObject({
      name: 'Other',
      url: 'http://127.0.0.1:9/b',
      events: ['message.failed'],
      isActive: false,
    });
    const partly = await call('PATCH', hook.path, { isActive: true });
    expect(partly.body.webhook).toMatchObject({
      name: 'Other',
      url: 'http://127.0.0.1:9/b',
      events: ['message.failed'],
      isActive: true,
    });

    expect((await call('DELETE', hook.path)).body).toEqual({ success: true });
    expect((await call('GET', hook.path)).status).toBe(404);
    expect((await call('DELETE', hook.path)).status).toBe(404);
  });

  it('show their path and query, which may hold a token, only to those who may change them', async () => {
    const own = await createWorkspace(app);
    const url = 'http://127.0.0.1:9/hooks/s3cret?token=s3cret';
    const hook = await registerWebhook(own.api, url, { events: ['message.sent'] });
    const session = (role: string) =>
      sessionClient(app, { userId: own.ownerId, organizationId: own.id, role });
    const owner = await session('org:admin');
    const keyWith = async (scopes: string[]) => {
      const { body } = await owner('POST', '/api/keys', { name: scopes.join(), scopes });
      return apiClient(app.url, body.key);
    };
    const shown = async (api: ApiClient) => [
      (await api('GET', hook.path)).body.webhook.url,
      (await api('GET', '/api/webhooks')).body.webhooks[0].url,
    ];
    for (const api of [owner, own.api, await keyWith(['read', 'manage'])])
      expect(await shown(api)).toEqual([url, url]);
    const host = 'http://127.0.0.1:9/…';
    for (const api of [await session('org:member'), await keyWith(['read'])])
      expect(await shown(api)).toEqual([host, host]);
  });

  it('are registered once per Idempotency-Key with the same secret, which is never stored in clear', async () => {
    const input = { url: 'http://127.0.0.1:9/', events: ['message.sent'] };
    const headers = { 'idempotency-key': 'register-1' };
    const first = await call('POST', '/api/webhooks', input, headers);
    const again = await call('POST', '/api/webhooks', input, headers);
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([
      201,
      201,
      'true',
    ]);
    expect(again.body).toEqual(first.body);
    const stored = await systemDb(app.pools).anyFirst(sql.type(z.object({ row: z.string() }))`
      select row_to_json(k)::text as row from idempotency_keys k union all select row_to_json(h)::text from webhooks h`);
    expect(stored.length).toBeGreaterThan(1);
    expect(stored.join()).not.toContain(first.body.secret);
  });

  it('are listed in pages, newest first', async () => {
    const own = await createWorkspace(app);
    const ownCall = apiClient(app.url, own.key);
    const ids = [];
    for (const name of ['a', 'b', 'c'])
      ids.push((await registerWebhook(ownCall, 'http://127.0.0.1:9/', { name })).id);
    const first = await ownCall('GET', '/api/webhooks?limit=2');
    const second = await ownCall('GET', `/api/webhooks?limit=2&cursor=${first.body.nextCursor}`);
    const listed = [...first.body.webhooks, ...second.body.webhooks].map(({ _id }) => _id);
    expect(listed).toEqual(ids.toSorted().toReversed());
    expect(second.body.nextCursor).toBeNull();
  });

  it.each([
    ['http://10.0.0.1/', 'URL_NOT_ALLOWED'],
    ['http://169.254.169.254/latest/meta-data', 'URL_NOT_ALLOWED'],
    ['http://[::ffff:192.168.0.1]/', 'URL_NOT_ALLOWED'],
    ['http://user:secret@example.com/', 'URL_NOT_ALLOWED'],
    ['ftp://example.com/', 'VALIDATION_ERROR'],
    ['not a url', 'VALIDATION_ERROR'],
  ])('cannot be registered with or changed to the URL %s', async (url, code) => {
    const { path } = await registerWebhook(call, 'http://127.0.0.1:9/');
    const created = await call('POST', '/api/webhooks', { url, events: ['message.sent'] });
    const changed = await call('PATCH', path, { url });
    expect([created.status, created.body.code]).toEqual([400, code]);
    expect([changed.status, changed.body.code]).toEqual([400, code]);
    expect((await call('GET', path)).body.webhook.url).toBe('http://127.0.0.1:9/');
  });

  it('says when a URL is too long', async () => {
    const url = `http://127.0.0.1:9/${'x'.repeat(2000)}`;
    expect((await call('POST', '/api/webhooks', { url, events: ['message.sent'] })).body.issues).toEqual([
      { path: 'url', message: 'must be at most 2000 characters' },
    ]);
  });

  it.each([
    { url: 'http://127.0.0.1:9/', events: [] },
    { url: 'http://127.0.0.1:9/', events: ['message.unheard'] },
    { url: 'http://127.0.0.1:9/', events: ['webhook.ping'] },
    { url: 'http://127.0.0.1:9/' },
    { events: ['message.sent'] },
  ])('cannot be registered with %j', async (body) => {
    const answer = await call('POST', '/api/webhooks', body);
    expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('get one new secret for each idempotency key', async () => {
    const hook = await registerWebhook(call, 'http://127.0.0.1:9/');
    const rotate = () =>
      call('POST', `${hook.path}/rotate-secret`, undefined, { 'idempotency-key': `rotate-${hook.id}` });
    const [first, second] = [await rotate(), await rotate()];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  it('cannot be used by other workspaces or changed by read-only ones', async () => {
    const hook = await registerWebhook(call, 'http://127.0.0.1:9/');
    const stranger = apiClient(app.url, (await createWorkspace(app)).key);
    const readOnly = await createWorkspace(app, { subscription_status: 'past_due' });
    const late = apiClient(app.url, readOnly.key);
    const requests: [string, string, unknown?][] = [
      ['GET', hook.path],
      ['PATCH', hook.path, { name: 'x' }],
      ['DELETE', hook.path],
      ['POST', `${hook.path}/rotate-secret`],
      ['POST', `${hook.path}/health-check`],
      ['GET', `${hook.path}/deliveries`],
      ['POST', `${hook.path}/deliveries/${'a'.repeat(24)}/replay`],
    ];
    for (const [method, path, body] of requests) {
      expect([path, (await stranger(method, path, body)).status]).toEqual([path, 404]);
      expect([path, (await apiClient(app.url, '')(method, path, body)).status]).toEqual([path, 401]);
      expect([path, (await late(method, path, body)).status]).toEqual([path, method === 'GET' ? 404 : 402]);
    }
  });
});

describe('the test ping', () => {
  it('reaches the endpoint with a signature and is logged', async () => {
    const target = await startTestEndpoint();
    const hook = await registerWebhook(call, target.url);
    const { status, body } = await call('POST', `${hook.path}/health-check`);
    expect(status).toBe(200);
    expect(body).toEqual({
      success: true,
      deliveryId: expect.any(String),
      isReplayOf: null,
      responseStatus: 204,
      error: null,
      latencyMs: expect.any(Number),
      attemptCount: 1,
    });
    const [ping] = target.received;
    verify(ping!, hook.secret);
    expect(ping!.headers).toMatchObject({
      'x-svc-event': 'webhook.ping',
      'x-svc-delivery-id': body.deliveryId,
    });
    expect(ping!.headers['x-svc-replay']).toBeUndefined();
    expect(ping!.json).toMatchObject({
      event: 'webhook.ping',
      workspaceId: workspace.id,
      data: { webhookId: hook.id },
    });

    const { body: log } = await call('GET', `${hook.path}/deliveries`);
    expect(log).toEqual({
      success: true,
      nextCursor: null,
      deliveries: [
        {
          id: body.deliveryId,
          eventId: ping!.headers['x-svc-event-id'],
          event: 'webhook.ping',
          success: true,
          responseStatus: 204,
          error: null,
          latencyMs: body.latencyMs,
          attemptCount: 1,
          createdAt: expect.any(String),
        },
      ],
    });
    const { webhook } = (await call('GET', hook.path)).body;
    expect(webhook).toMatchObject({
      failureCount: 0,
      lastSuccessAt: expect.any(String),
      lastFailureAt: null,
    });
  });

  it("returns 502 with the endpoint's status, follows no redirect and counts the failure", async () => {
    const elsewhere = await startTestEndpoint();
    const target = await startTestEndpoint((response) =>
      response.writeHead(307, { location: elsewhere.url }).end(),
    );
    const hook = await registerWebhook(call, target.url);
    const { status, body } = await call('POST', `${hook.path}/health-check`);
    expect(status).toBe(502);
    expect(body).toMatchObject({
      success: false,
      responseStatus: 307,
      error: 'the endpoint responded 307',
      attemptCount: 1,
    });
    expect(target.received).toHaveLength(1);
    expect(elsewhere.received).toHaveLength(0);
    expect((await call('GET', hook.path)).body.webhook).toMatchObject({
      failureCount: 1,
      lastSuccessAt: null,
      lastFailureAt: expect.any(String),
    });
  });

  it('reads at most 64 KB of the response', async () => {
    let cut = false;
    const target = await startTestEndpoint((response) => {
      response.writeHead(200);
      response.once('close', () => (cut = true));
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16 * 1024)));
        response.once('drain', more);
      };
      more();
    });
    const hook = await registerWebhook(call, target.url);
    const { status, body } = await call('POST', `${hook.path}/health-check`);
    expect(status).toBe(200);
    expect(body).toMatchObject({ success: true, responseStatus: 200 });
    await expect.poll(() => cut).toBe(true);
  });

  it('is not retried if the connection failed; only its replay is, once', async () => {
    const target = await startTestEndpoint();
    const hook = await registerWebhook(call, target.url);
    await target.close();
    const refused = { success: false, responseStatus: null, error: 'connection refused' };
    const ping = await call('POST', `${hook.path}/health-check`);
    expect([ping.status, ping.body]).toMatchObject([502, { ...refused, isReplayOf: null, attemptCount: 1 }]);
    const replay = () => call('POST', `${hook.path}/deliveries/${ping.body.deliveryId}/replay`);
    const failed = await replay();
    expect([failed.status, failed.body]).toMatchObject([502, { ...refused, attemptCount: 2 }]);
    expect(failed.body.latencyMs).toBeGreaterThanOrEqual(500);

    // The first request may have arrived: the second has the same ids.
    let calls = 0;
    const dropping = await startTestEndpoint((response) => {
      calls += 1;
      if (calls === 1) response.destroy();
      else response.writeHead(200).end();
    }, target.port);
    const dropped = await replay();
    expect(dropped.body).toMatchObject({ success: true, responseStatus: 200, attemptCount: 2 });
    const ids = dropping.received.map(({ headers }) => headers['x-svc-delivery-id']);
    expect(ids).toEqual([dropped.body.deliveryId, dropped.body.deliveryId]);
    const answered = await call('POST', `${hook.path}/health-check`);
    expect(answered.body).toMatchObject({ success: true, attemptCount: 1 });
    expect((await call('GET', hook.path)).body.webhook.failureCount).toBe(2);
    const { deliveries } = (await call('GET', `${hook.path}/deliveries`)).body;
    const attempts = deliveries.map(({ attemptCount }: { attemptCount: number }) => attemptCount);
    expect(attempts).toEqual([1, 2, 2, 1]);
  });

  it('is refused while the webhook is inactive, also from the beginning', async () => {
    const target = await startTestEndpoint();
    const input = { url: target.url, events: ['message.sent'], isActive: false };
    const { webhook } = (await call('POST', '/api/webhooks', input)).body;
    expect(webhook.isActive).toBe(false);
    const hook = { path: `/api/webhooks/${webhook._id}` };
    const { status, body } = await call('POST', `${hook.path}/health-check`);
    expect([status, body.code]).toEqual([409, 'WEBHOOK_INACTIVE']);
    expect(target.received).toHaveLength(0);
    expect((await call('GET', `${hook.path}/deliveries`)).body.deliveries).toEqual([]);
  });
});

describe('rotating the secret', () => {
  it('signs with both secrets for 24 hours and shows the new one once', async () => {
    const target = await startTestEndpoint();
    const hook = await registerWebhook(call, target.url);
    const { status, body } = await call('POST', `${hook.path}/rotate-secret`);
    expect(status).toBe(200);
    expect(body.secret).toMatch(/^whsec_/);
    expect(body.secret).not.toBe(hook.secret);
    expect(Math.abs(Date.parse(body.previousSecretExpiresAt) - Date.now() - 86_400_000)).toBeLessThan(60_000);
    expect(JSON.stringify((await call('GET', hook.path)).body)).not.toContain(body.secret);

    await call('POST', `${hook.path}/health-check`);
    const [ping] = target.received;
    expect(String(ping!.headers['x-svc-signature']).split(' ')).toHaveLength(2);
    verify(ping!, hook.secret);
    verify(ping!, body.secret);
  });
});
