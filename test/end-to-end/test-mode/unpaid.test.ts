import { beforeAll, expect, test } from 'vitest';
import { sql } from 'slonik';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { openTestMode } from '#test/support/test-mode.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

const DAY_MS = 86_400_000;

async function twinOf(subscription: string) {
  const workspace = await createWorkspace(app, { subscription_status: subscription });
  return { workspace, ...(await openTestMode(app, workspace)) };
}

async function upload(key: string, bytes = 100): Promise<{ status: number; body: Record<string, string> }> {
  const form = new FormData();
  form.set('file', new File([`%PDF-1.4\n${'x'.repeat(bytes)}`], 'offer.pdf', { type: 'application/pdf' }));
  const response = await fetch(`${app.url}/api/attachments/upload`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}

const daysOf = (url: string | undefined): number =>
  (Number(new URL(url ?? '').searchParams.get('expires')) * 1000 - Date.now()) / DAY_MS;

test('a twin has the subscription of its workspace', async () => {
  for (const status of ['none', 'active', 'canceled'])
    expect(
      (await (await twinOf(status)).api('GET', '/api/workspace')).body.workspace.subscriptionStatus,
    ).toBe(status);
});

test('a file of a workspace without a subscription has a link for a week, and is deleted with it', async () => {
  const paid = await twinOf('active');
  expect(daysOf((await upload(paid.key)).body['url'])).toBeGreaterThan(300);
  const unpaid = await twinOf('none');
  const { status, body } = await upload(unpaid.key);
  expect(status).toBe(200);
  expect(daysOf(body['url'])).toBeLessThanOrEqual(8);
  const isKept = await systemDb(app.pools).exists(sql.type(NoRows)`
    select 1 from attachments where workspace_id = ${unpaid.id} and kept_until > now() + interval '9 days'`);
  expect(isKept).toBe(false);
});

test('a workspace without a subscription stores 50 MB in test mode', async () => {
  const { key } = await twinOf('none');
  const MB = 1024 ** 2;
  for (let files = 0; files < 2; files += 1) expect((await upload(key, 24 * MB)).status).toBe(200);
  expect(await upload(key, 3 * MB)).toMatchObject({ status: 413, body: { code: 'STORAGE_QUOTA_EXCEEDED' } });
  expect((await upload(key)).status).toBe(200);
});

test('a workspace without a subscription imports a thousand rows of a file in test mode', async () => {
  const { api } = await twinOf('none');
  const { body: made } = await api('POST', '/api/lists', { name: 'Many' });
  const csv = `phone\n${Array.from({ length: 1200 }, (_, index) => `+1415555${String(index).padStart(4, '0')}`).join('\n')}\n`;
  const { body } = await api('POST', `/api/lists/${made.list._id}/import`, csv, {
    'content-type': 'text/csv',
  });
  const done = await eventually(async () => {
    const found = (await api('GET', `/api/lists/${made.list._id}/imports/${body.importId}`)).body;
    return found.status !== 'running' && found;
  });
  expect(done).toMatchObject({ status: 'failed', processed: 1000, saved: 1000 });
  expect(done.error).toContain('first 1,000 rows');
});

test('a workspace without a subscription sends in test mode', async () => {
  const { api } = await twinOf('none');
  const sent = await api('POST', '/api/messages', { recipientPhone: '+14155550123', message: 'Hello' });
  expect(sent.status).toBe(201);
});

test('a twin has at most 50 lines', async () => {
  const { api } = await twinOf('active');
  const add = () => api('POST', '/api/test/lines', { channelType: 'sms' });
  const added = await Promise.all(Array.from({ length: 60 }, add));
  expect(added.filter(({ status }) => status === 201)).toHaveLength(47);
  expect(await api('POST', '/api/test/lines', { channelType: 'sms' })).toMatchObject({
    status: 409,
    body: { code: 'LIMIT_REACHED', limit: 'testLines', max: 50 },
  });
  expect((await api('POST', '/api/line-requests', { firstName: 'A', lastName: 'B' })).status).toBe(409);
  expect((await api('GET', '/api/lines/by-user')).body.lines).toHaveLength(50);
});
