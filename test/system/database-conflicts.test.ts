import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createWorkspace } from '#test/support/factories.ts';

let app: OwnApp;
let api: ApiClient;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
  api = apiClient(app.url, (await createWorkspace(app)).key);
});
afterAll(() => app.stop());

/** Makes the next `times` inserts of a list fail with an SQLSTATE, as if they conflicted with other transactions. */
const failLists = (code: string, times: number): Promise<unknown> =>
  connected(app.ownerUrl, (client) =>
    client.query(`
      drop sequence if exists list_inserts;
      create sequence list_inserts;
      create or replace function fail_list() returns trigger language plpgsql security definer as $$
      begin
        if nextval('list_inserts') <= ${times} then raise exception using errcode = '${code}'; end if;
        return new;
      end $$;
      create or replace trigger fail before insert on lead_lists for each row execute function fail_list()`),
  );

describe('a request that is refused inside its transaction', () => {
  it('leaves its database connection open', async () => {
    const connections = () =>
      connected(app.ownerUrl, async (client) => {
        const { rows } = await client.query<{ pid: number }>(`
          select pid from pg_stat_activity where datname = current_database() and usename = 'linepace_tenant'`);
        return rows.map(({ pid }) => pid);
      });
    const refused = () => api('DELETE', `/api/leads/${newId()}`);
    expect((await api('GET', '/api/lists')).status).toBe(200);
    const before = await connections();
    for (let times = 0; times < 20; times += 1) expect((await refused()).status).toBe(404);
    expect(await connections()).toEqual(expect.arrayContaining(before));
  });
});

describe.each(['40001', '40P01'])('a request that conflicts with another (SQLSTATE %s)', (code) => {
  it('is retried until it succeeds', async () => {
    await failLists(code, 3);
    expect((await api('POST', '/api/lists', { name: 'Repeated' })).status).toBe(201);
  });

  it('gets a 503 with Retry-After if it keeps conflicting', async () => {
    await failLists(code, 1000);
    const { status, body, headers } = await api('POST', '/api/lists', { name: 'Given up' });
    expect([status, body.code]).toEqual([503, 'UNAVAILABLE']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
