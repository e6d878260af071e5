import { beforeAll, describe, expect, it, test } from 'vitest';
import { newUserId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createAgency, createKey, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

const PAID = { channelType: 'email', lineType: 'byo', firstName: 'Ada', lastName: 'Byron' };

/** A client of an agency with invoice billing: another line is granted at once. */
async function invoicedClient(agencyId?: string) {
  const agency = agencyId ?? (await createAgency(app, { billing_mode: 'invoice' })).id;
  return { agency, ...(await createWorkspace(app, { agency_id: agency })) };
}

describe('a line that costs extra', () => {
  it('is told to the owner', async () => {
    const { api, ownerId } = await invoicedClient();
    const { status, body } = await api('POST', '/api/line-requests', PAID);
    expect([status, body.paymentStatus]).toEqual([201, 'invoiced']);
    const mail = await eventually(async () => (await mailsTo(app, `${ownerId}@example.test`)).at(0));
    expect(mail).toMatchObject({ subject: 'A line that costs extra was requested (Test)' });
    expect(mail.text).toContain('the email line Ada Byron');
  });

  it('is requested by admins, and by keys that nothing narrows', async () => {
    const { id } = await invoicedClient();
    const userId = newUserId();
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
    await insertRow(app, 'workspace_members', { workspace_id: id, user_id: userId, role: 'org:member' });
    const member = await sessionClient(app, { userId, organizationId: id, role: 'org:member' });
    expect(await member('POST', '/api/line-requests', PAID)).toMatchObject({
      status: 403,
      body: { code: 'ADMIN_REQUIRED' },
    });
    for (const narrow of [
      { scopes: ['read', 'manage'] },
      { allowed_ips: ['127.0.0.0/8'] },
      { expires_at: new Date(Date.now() + 86_400_000) },
    ]) {
      const api = apiClient(app.url, await createKey(app, 'workspace', id, narrow));
      expect(await api('POST', '/api/line-requests', PAID)).toMatchObject({
        status: 403,
        body: { code: 'INSUFFICIENT_SCOPE', required: 'manage' },
      });
    }
    // A line that the plan includes costs nothing.
    const included = { firstName: 'Ada', lastName: 'Byron' };
    expect((await member('POST', '/api/line-requests', included)).status).toBe(201);
  });

  it('is requested at most 50 times a day in an agency', async () => {
    const first = await invoicedClient();
    const second = await invoicedClient(first.agency);
    for (let requests = 0; requests < 50; requests += 1) {
      const { api } = requests % 2 === 0 ? first : second;
      expect((await api('POST', '/api/line-requests', PAID)).status).toBe(201);
    }
    for (const { api } of [first, second])
      expect(await api('POST', '/api/line-requests', PAID)).toMatchObject({
        status: 409,
        body: { code: 'LIMIT_REACHED', limit: 'paidLineRequests', max: 50 },
      });
  });
});

test('a workspace has at most 200 lines, all of which are listed', async () => {
  const { id, api } = await invoicedClient();
  for (let lines = 0; lines < 200; lines += 1) await createLine(app, id, 'email');
  expect(await api('POST', '/api/line-requests', PAID)).toMatchObject({
    status: 409,
    body: { code: 'LIMIT_REACHED', limit: 'lines', max: 200 },
  });
  expect((await api('GET', '/api/lines/by-user')).body.lines).toHaveLength(200);
});
