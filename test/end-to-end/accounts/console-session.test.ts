import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { insertConsoleCode } from '#db/queries/accounts/console-codes.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { hashConsoleCode, newConsoleCode } from '#domain/accounts/console-code.ts';
import { connected } from '#db/connection/connected.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiResponse, apiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let production: RunningApi;
let workspace: TestWorkspace;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  production = await startApi({ ...app.config, production: true, port: 0 });
  workspace = await createWorkspace(app);
});
afterAll(async () => {
  await production.stop();
});

/** Stores a new code, as `npm start` does. */
async function makeCode(): Promise<string> {
  const code = newConsoleCode();
  await insertConsoleCode(systemDb(app.pools), hashConsoleCode(code), workspace.id);
  return code;
}

const exchange = (code: string, url = app.url): Promise<ApiResponse> =>
  apiClient(url, '')('POST', '/api/console/session', { code });

const UNAUTHORIZED = { status: 401, body: { code: 'UNAUTHORIZED' } };

test('a code is exchanged for a session of the workspace owner that lasts twelve hours', async () => {
  const { status, headers, body } = await exchange(await makeCode());
  expect(status).toBe(200);
  expect(headers.get('cache-control')).toBe('no-store');
  expect(body).toEqual({
    token: expect.any(String),
    expiresAt: expect.any(String),
    workspaceId: workspace.id,
  });
  const hours = (Date.parse(body.expiresAt) - Date.now()) / 3_600_000;
  expect(hours).toBeGreaterThan(11.9);
  expect(hours).toBeLessThanOrEqual(12);
  const session = apiClient(app.url, body.token);
  expect((await session('GET', '/api/lines/by-user')).status).toBe(200);
  // Only a signed-in owner or admin may read the audit log.
  expect((await session('GET', '/api/audit-log')).status).toBe(200);
});

test('a code is accepted once, even in simultaneous requests', async () => {
  const code = await makeCode();
  const responses = await Promise.all(Array.from({ length: 8 }, () => exchange(code)));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(401)]);
  expect(await exchange(code)).toMatchObject(UNAUTHORIZED);
});

test('an unknown or expired code is refused, and no code is stored in clear', async () => {
  expect(await exchange(newConsoleCode())).toMatchObject(UNAUTHORIZED);
  const code = await makeCode();
  const stored = await connected(app.ownerUrl, async (client) => {
    const { rows } = await client.query<{ row: string; expiresIn: number }>(
      `select c::text as row, extract(epoch from expires_at - now())::float as "expiresIn" from console_codes c`,
    );
    await client.query('update console_codes set expires_at = now()');
    return rows;
  });
  expect(stored).toHaveLength(1);
  expect(stored[0]?.row).not.toContain(code);
  expect(stored[0]?.expiresIn).toBeGreaterThan(590);
  expect(stored[0]?.expiresIn).toBeLessThanOrEqual(600);
  expect(await exchange(code)).toMatchObject(UNAUTHORIZED);
});

test('production accepts no code', async () => {
  const code = await makeCode();
  expect(await exchange(code, production.url)).toMatchObject(UNAUTHORIZED);
  expect((await exchange(code)).status).toBe(200);
});

test('a request without a code is refused and the field is named', async () => {
  const { status, body } = await apiClient(app.url, '')('POST', '/api/console/session', {});
  expect([status, body.code, body.issues[0].path]).toEqual([400, 'VALIDATION_ERROR', 'code']);
});
