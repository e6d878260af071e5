import { expect, test } from 'vitest';
import { newUserId } from '#domain/base/ids.ts';
import { sharedApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, insertRow } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { plantSession } from '#test/support/user-sessions.ts';

test('a session belongs to the agency if its user is not a member of the client: the owner of the agency sees and ends it, and no admin of the client', async () => {
  const app = await sharedApp({ worker: false });
  const agency = await createAgency(app);
  const client = await createWorkspace(app, { agency_id: agency.id });
  const [staff, admin] = [newUserId(), newUserId()];
  for (const id of [staff, admin]) await insertRow(app, 'users', { id, email: `${id}@example.test` });
  await insertRow(app, 'agency_members', { agency_id: agency.id, user_id: staff, role: 'co_admin' });
  await insertRow(app, 'workspace_members', { workspace_id: client.id, user_id: admin, role: 'org:admin' });
  const plant = (ownerId: string) => plantSession(app, { id: client.id, ownerId });
  const [ofStaff, ofAdmin] = [await plant(staff), await plant(admin)];
  const signedIn = (userId: string) =>
    sessionClient(app, { userId, organizationId: client.id, role: 'org:admin' });
  const [byAdmin, byStaff, byOwner] = [
    await signedIn(admin),
    await signedIn(staff),
    await signedIn(agency.ownerId),
  ];
  const seen = async (api: ApiClient) =>
    (await api('GET', '/api/sessions')).body.sessions.map(({ _id }: { _id: string }) => _id);

  expect(await seen(byAdmin)).toEqual([ofAdmin]);
  expect((await byAdmin('DELETE', `/api/sessions/${ofStaff}`)).status).toBe(404);
  expect(await seen(byStaff)).toContain(ofStaff);
  expect(await seen(byOwner)).toContain(ofStaff);
  expect((await byOwner('DELETE', `/api/sessions/${ofStaff}`)).status).toBe(200);
  expect(await seen(byOwner)).not.toContain(ofStaff);
  expect((await byAdmin('DELETE', `/api/sessions/${ofAdmin}`)).status).toBe(200);

  const ended = async (path: string, api: ApiClient) =>
    (await api('GET', `${path}?action=session.ended`)).body.entries.map(
      ({ target }: { target: { id: string } }) => target.id,
    );
  expect(await ended('/api/audit-log', byAdmin)).toEqual([ofAdmin]);
  expect(await ended('/api/agency/audit-log', byOwner)).toEqual([ofStaff]);
});
