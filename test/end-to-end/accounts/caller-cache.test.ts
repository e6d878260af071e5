import { sql } from 'slonik';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { type CallerCache, createCallerCache } from '#api/auth/caller-cache.ts';
import { type RunningApi, startApi } from '#api/server.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb } from '#db/connection/transactions.ts';
import type { WorkspaceCaller } from '#domain/accounts/caller.ts';
import { sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let otherApi: RunningApi;
let workspace: TestWorkspace;

beforeAll(async () => {
  app = await sharedApp({ worker: false });
  otherApi = await startApi({ ...app.config, port: 0 });
});
afterAll(async () => {
  await otherApi.stop();
});
beforeEach(async () => {
  workspace = await createWorkspace(app);
});

const statusOf = async (url: string, key: string, method: 'GET' | 'POST' = 'GET'): Promise<number> =>
  (await apiClient(url, key)(method, '/api/lists', method === 'GET' ? undefined : { name: 'VIP' })).status;

describe('a key in use', () => {
  it('is refused by every API process once it is revoked', async () => {
    const { ownerId: userId, id: organizationId } = workspace;
    const admin = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    const { body: key } = await admin('POST', '/api/keys', { name: 'Short-lived' });
    for (const url of [app.url, otherApi.url]) expect(await statusOf(url, key.key)).toBe(200);
    expect((await admin('DELETE', `/api/keys/${key._id}`)).status).toBe(200);
    expect(await statusOf(app.url, key.key)).toBe(401);
    await expect.poll(() => statusOf(otherApi.url, key.key)).toBe(401);
  });

  it('becomes read-only in every API process once its workspace is past due', async () => {
    for (const url of [app.url, otherApi.url])
      expect(await statusOf(url, workspace.key, 'POST')).toBeLessThan(300);
    await run(
      sql.fragment`update workspaces set subscription_status = 'past_due' where id = ${workspace.id}`,
    );
    for (const url of [app.url, otherApi.url])
      await expect.poll(() => statusOf(url, workspace.key, 'POST')).toBe(402);
  });
});

describe('the callers cached by a process', () => {
  let cache: CallerCache;
  let lookups: number;
  const caller = { kind: 'workspace', workspace: { id: 'org_1' } } as WorkspaceCaller;
  const lookUp = async (): Promise<WorkspaceCaller> => {
    lookups += 1;
    return caller;
  };
  const isRemembered = async (): Promise<boolean> => {
    await cache.find('hash', lookUp);
    const before = lookups;
    await cache.find('hash', lookUp);
    return lookups === before;
  };

  beforeEach(async () => {
    lookups = 0;
    cache = createCallerCache(app.config.database.listenUrl);
    await vi.waitUntil(isRemembered);
    return () => cache.close();
  });

  it('are discarded when any key changes', async () => {
    const before = lookups;
    await run(sql.fragment`update workspace_keys set name = 'Renamed' where workspace_id = ${workspace.id}`);
    await expect.poll(() => cache.find('hash', lookUp).then(() => lookups)).toBeGreaterThan(before);
  });

  it.runIf(inject('poolerPort') !== null)('are not cached behind a pooler', async () => {
    const before = lookups;
    const pooled = createCallerCache(app.config.database.systemUrl);
    // Meanwhile the cache connects, and would take its own first notification for a proof that others arrive.
    for (let finds = 1; finds <= 50; finds += 1) {
      await run(sql.fragment`select 1`);
      await pooled.find('hash', lookUp);
      expect(lookups).toBe(before + finds);
    }
    await pooled.close();
  });

  it('never include the result of a lookup that a change has overtaken', async () => {
    cache.forget();
    await cache.find('hash', async () => {
      cache.forget();
      return caller;
    });
    const before = lookups;
    await cache.find('hash', lookUp);
    expect(lookups).toBe(before + 1);
  });

  it('are not cached while notifications do not arrive, and are cached again afterwards', async () => {
    await run(sql.fragment`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name like 'linepace listener%'`);
    await expect.poll(isRemembered).toBe(false);
    await expect.poll(isRemembered, { timeout: 10_000 }).toBe(true);
  });
});

const run = (statement: ReturnType<typeof sql.fragment>): Promise<unknown> =>
  systemDb(app.pools).query(sql.type(NoRows)`${statement}`);
