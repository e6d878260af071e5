import { beforeAll, expect, test } from 'vitest';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
});

async function admin(): Promise<ApiClient> {
  const { ownerId: userId, id: organizationId } = await createWorkspace(app);
  return sessionClient(app, { userId, organizationId, role: 'org:admin' });
}
const agencyOwner = async (): Promise<ApiClient> =>
  sessionClient(app, { userId: (await createAgency(app)).ownerId });

const key = (name: string) => ({ name });
const invitation = (name: string) => ({ email: `${name}@example.test` });

test.each([
  ['/api/keys', 'keys', '/api/keys', admin, key],
  ['/api/agency/keys', 'keys', '/api/agency/keys', agencyOwner, key],
  ['/api/team/invitations', 'invitations', '/api/team/invite', admin, invitation],
  ['/api/agency/invitations', 'invitations', '/api/agency/admins', agencyOwner, invitation],
])('GET %s is read in pages, newest first', async (path, field, create, signIn, inputOf) => {
  const api = await signIn();
  for (const name of ['first', 'second', 'third'])
    expect((await api('POST', create, inputOf(name))).status).toBeLessThan(300);
  const all = (await api('GET', path)).body;
  // A workspace and an agency have a first key.
  expect([all[field].length, all.nextCursor]).toEqual([field === 'keys' ? 4 : 3, null]);
  const first = (await api('GET', `${path}?limit=2`)).body;
  expect(first[field]).toEqual(all[field].slice(0, 2));
  const last = (await api('GET', `${path}?limit=2&cursor=${first.nextCursor}`)).body;
  expect([last[field], last.nextCursor]).toEqual([all[field].slice(2), null]);
  expect((await api('GET', `${path}?limit=201`)).status).toBe(400);
});
