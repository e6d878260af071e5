import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspaceWithLine,
  insertRow,
} from '#test/support/factories.ts';
import { sessionClient, signIn } from '#test/support/sessions.ts';

let app: TestApp;
beforeAll(async () => void (app = await sharedApp()));

async function world() {
  const { agency, first, second } = await createAgencyWithTwoWorkspaces(app);
  const token = await signIn(app, { userId: agency.ownerId, organizationId: null, role: null });
  const lines = [await createLine(app, first.id), await createLine(app, second.id)];
  return { agency, owner: apiClient(app.url, token), first, second, lines };
}
const suppress = async (owner: ApiClient, fields: object) => {
  const { status, body } = await owner('POST', '/api/agency/suppressions', fields);
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
};
const send = async (api: ApiClient, fields: object) =>
  (await api('POST', '/api/messages', { message: 'Hi', ...fields })).body._id;
const ends = (api: ApiClient, id: string, status: string) =>
  eventually(async () => {
    const message = (await api('GET', `/api/messages/${id}`)).body;
    return message.status === status && message;
  });

describe('what an agency suppresses', () => {
  it('is sent to by none of its clients, and by others as before', async () => {
    const { owner, first, second } = await world();
    const address = phone();
    await suppress(owner, { address, reason: 'Asked our office' });
    for (const { api } of [first, second]) {
      const { errorMessage } = await ends(api, await send(api, { recipientPhone: address }), 'failed');
      expect(errorMessage).toBe('recipient_suppressed');
    }
    const other = await createWorkspaceWithLine(app);
    await ends(other.api, await send(other.api, { recipientPhone: address }), 'delivered');
    const { suppressions } = (await owner('GET', '/api/agency/suppressions')).body;
    expect(suppressions).toMatchObject([{ address, domain: null, reason: 'Asked our office' }]);
  });

  it('can be a file with a column for addresses and one for domains', async () => {
    const { owner } = await world();
    const address = phone();
    const saved = await suppress(owner, {
      csv: `address,domain,reason\n${address},,Asked\n,competitor.example,Competitor\n`,
    });
    expect(saved).toMatchObject({ count: 2 });
    const { suppressions } = (await owner('GET', '/api/agency/suppressions')).body;
    expect(suppressions).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ address, reason: 'Asked' }),
        expect.objectContaining({ domain: 'competitor.example', reason: 'Competitor' }),
      ]),
    );
  });

  it('is listed newest first, in pages of at most 200', async () => {
    const { owner } = await world();
    const path = '/api/agency/suppressions';
    const listed: string[] = [];
    await suppress(owner, { csv: 'a.example\nb.example\nc.example\n' });
    await suppress(owner, { domain: 'first.example' });
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { body } = await owner('GET', `${path}?limit=2${query}`);
      listed.push(...body.suppressions.map(({ domain }: { domain: string }) => domain));
      cursor = body.nextCursor;
    }
    expect(listed).toEqual(['first.example', 'c.example', 'b.example', 'a.example']);
    expect((await owner('GET', `${path}?limit=201`)).status).toBe(400);
  });

  it('may be sent as a file', async () => {
    const { owner } = await world();
    const upload = (text: string) =>
      owner('POST', '/api/agency/suppressions', text, { 'content-type': 'text/csv' });
    const { status, body } = await upload('\uFEFFaddress,reason\n+14155550199,asked\nfile.example\n');
    expect([status, body.count]).toEqual([201, 2]);
    expect(body.suppressions).toMatchObject([
      { address: '+14155550199', reason: 'asked' },
      { domain: 'file.example' },
    ]);
    const refused = await upload('file.example\nnonsense');
    expect([refused.status, refused.body.issues[0].path]).toEqual([400, 'csv']);
  });

  it('fails what waits when its turn comes, by domain, too', async () => {
    const { owner, first, lines } = await world();
    await createLine(app, first.id, 'email');
    await first.api('PATCH', `/api/lines/${lines[0]}`, { isActive: false });
    const address = phone();
    const waiting = await send(first.api, { recipientPhone: address, fromLineId: lines[0] });
    await suppress(owner, { csv: `${address},asked\nsuppressed.example\n` });
    await first.api('PATCH', `/api/lines/${lines[0]}`, { isActive: true });
    expect((await ends(first.api, waiting, 'failed')).errorMessage).toBe('recipient_suppressed');
    for (const recipientEmail of ['ada@suppressed.example', '"ada@home"@suppressed.example']) {
      const mail = await send(first.api, { messageType: 'email', recipientEmail });
      expect((await ends(first.api, mail, 'failed')).errorMessage).toBe('recipient_suppressed');
    }
    const elsewhere = { messageType: 'email', recipientEmail: 'ada@sub.suppressed.example' };
    await ends(first.api, await send(first.api, elsewhere), 'delivered');

    expect(
      (await owner('DELETE', `/api/agency/suppressions?address=${encodeURIComponent(address)}`)).status,
    ).toBe(200);
    expect(
      (await owner('DELETE', `/api/agency/suppressions?address=${encodeURIComponent(address)}`)).status,
    ).toBe(404);
    await ends(first.api, await send(first.api, { recipientPhone: address }), 'delivered');
  });

  it('is for sessions of the agency alone, those of co-admins among them, and names what is wrong', async () => {
    const { agency, owner, first } = await world();
    const coAdmin = `user_${newId()}`;
    await insertRow(app, 'users', { id: coAdmin, email: `${coAdmin}@example.test` });
    await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: coAdmin, role: 'co_admin' });
    await suppress(await sessionClient(app, { userId: coAdmin }), { domain: 'by-a-co-admin.example' });
    expect((await agency.api('GET', '/api/agency/suppressions')).body.code).toBe('SESSION_REQUIRED');
    expect((await first.api('GET', '/api/agency/suppressions')).status).toBe(403);
    const refused = await owner('POST', '/api/agency/suppressions', { csv: 'example.com\nnonsense' });
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('line 2')]);
    expect((await owner('POST', '/api/agency/suppressions', { address: '555' })).status).toBe(400);
  });
});
