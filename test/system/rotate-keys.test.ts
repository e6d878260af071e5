import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { newId } from '#domain/base/ids.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { connected } from '#db/connection/connected.ts';
import { type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { startEndpoint, verify } from '#test/support/endpoint.ts';
import { createSecretBox, secretContext } from '#providers/secret-box.ts';
import { createAgency, createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { environment } from '#test/support/process.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { plantSession } from '#test/support/user-sessions.ts';
import { SEALED } from '#workers/rotate-keys.ts';

const PASSWORD = 'the password of the Mac';
const keyOf = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

let app: OwnApp;
let mac: BlueBubblesStandIn;
beforeAll(async () => {
  mac = await startBlueBubbles(PASSWORD);
  // Without a worker, emails stay stored with their sealed data.
  app = await startTestApp({ worker: false });
});
afterAll(async () => {
  await app.stop();
  await mac.stop();
});

/** Runs `npm run rotate-keys` as an operator does. */
function rotate(keys: string): Promise<{ code: number; out: string; counts: Record<string, number> }> {
  const env = { ...process.env, ...environment(app.config), ENCRYPTION_KEYS: keys };
  return new Promise((resolve) => {
    execFile(process.execPath, ['workers/rotate-keys.ts'], { env }, (error, stdout, stderr) => {
      const counts = [...stdout.matchAll(/^(\S+): (\d+) sealed anew$/gm)].map(
        ([, column = '', count]) => [column, Number(count)] as const,
      );
      resolve({
        code: error ? Number(error.code) : 0,
        out: stdout + stderr,
        counts: Object.fromEntries(counts),
      });
    });
  });
}

/** The tables with a row that contains a text in any column. */
const tablesWith = (text: string): Promise<string[]> =>
  connected(app.ownerUrl, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    const found: string[] = [];
    for (const { name } of rows) {
      const holds = `select from "${name}" t where position($1 in t::text) > 0 limit 1`;
      if ((await client.query(holds, [text])).rowCount === 1) found.push(name);
    }
    return found.toSorted();
  });

const bodyOf = async (call: ApiClient, ...request: Parameters<ApiClient>) => {
  const { status, body } = await call(...request);
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body;
};

test('rotate-keys seals every secret with the newest key, after which the old key can be removed', async () => {
  const [first, second, third] = [app.config.encryptionKeys, keyOf('new_2'), keyOf('3')];
  const hook = await startEndpoint();
  const agency = await createAgency(app);
  const workspace = await createWorkspace(app, { agency_id: agency.id });
  const owner = await sessionClient(app, { userId: agency.ownerId });
  const api = apiClient(app.url, workspace.key);
  const lineId = await createLine(app, workspace.id);

  const once = { 'idempotency-key': newId() };
  const webhook = { url: hook.url, events: ['message.sent'] };
  const subAccount = { name: 'Acme', timezone: 'UTC' };
  const { webhook: registered } = await bodyOf(api, 'POST', '/api/webhooks', webhook, once);
  const { secret: renewed } = await bodyOf(api, 'POST', `/api/webhooks/${registered._id}/rotate-secret`);
  const client = await bodyOf(
    apiClient(app.url, agency.key),
    'POST',
    '/api/agency/subaccounts',
    subAccount,
    once,
  );
  await bodyOf(api, 'PATCH', '/api/workspace/fallback-config', {
    enabled: true,
    provider: 'twilio',
    accountSid: 'AC00000000000000000000000000000001',
    authToken: 'the-token-of-the-account',
    sharedKeySecret: 'the-shared-key',
    fromNumber: '+14155550100',
  });
  await bodyOf(api, 'PUT', `/api/lines/${lineId}/carrier`, {
    provider: 'bluebubbles',
    config: { url: mac.url, password: PASSWORD },
  });
  await bodyOf(api, 'POST', '/api/team/invite', { email: 'ada@example.com' });
  await bodyOf(owner, 'POST', '/api/agency/admins', { email: 'ada@example.com' });

  const crm = newId();
  await insertRow(app, 'crm_connections', {
    workspace_id: workspace.id,
    id: crm,
    provider: 'hubspot',
    account_id: '1',
    token_sealed: createSecretBox(first).seal('pat-eu1', secretContext('crm', workspace.id, crm)),
    read_until: new Date(),
  });
  await plantSession(app, workspace);
  const contact = await bodyOf(api, 'POST', '/api/leads', { leads: [{ phone: '+14155550123' }] });
  await bodyOf(api, 'POST', '/api/opt-outs', { address: '+14155550123' });
  await bodyOf(api, 'DELETE', `/api/leads/${contact.leadIds[0]}?erase=true`);

  const tables = [...new Set(SEALED.map(({ table }) => table))].toSorted();
  expect(await tablesWith('v1.1.')).toEqual(tables);
  expect(await rotate(first)).toMatchObject({ code: 1, out: expect.stringContaining('has only one key') });

  const rotated = await rotate(`${second},${first}`);
  expect(rotated.code, rotated.out).toBe(0);
  expect(rotated.counts).toEqual({
    'webhooks.secret_sealed': 1,
    'webhooks.previous_secret_sealed': 1,
    'user_sessions.tokens_sealed': 1,
    'lines.carrier_config': 1,
    'fallback_configs.auth_token_sealed': 1,
    'fallback_configs.shared_key_sealed': 1,
    'crm_connections.token_sealed': 1,
    'mails.data_sealed': 1,
    'agency_mails.data_sealed': 1,
    'idempotency_keys.response': 1,
    'agency_idempotency_keys.response_sealed': 1,
    'key_canaries.value': 1,
    'hash_keys.key_sealed': 1,
  });
  expect(await tablesWith('v1.1.')).toEqual([]);
  expect(await tablesWith('v1.new_2.')).toEqual(tables);
  const again = await rotate(`${second},${first}`);
  expect([again.code, Object.values(again.counts)]).toEqual([0, SEALED.map(() => 0)]);

  const later = await startApi({ ...app.config, port: 0, encryptionKeys: second });
  const laterApi = apiClient(later.url, workspace.key);
  expect((await laterApi('POST', '/api/webhooks', webhook, once)).body.webhook.secret).toBe(
    registered.secret,
  );
  expect((await laterApi('GET', '/api/opt-outs/+14155550123')).body.optedOut).toBe(true);
  const laterAgency = apiClient(later.url, agency.key);
  expect((await laterAgency('POST', '/api/agency/subaccounts', subAccount, once)).body).toEqual(client);
  await bodyOf(laterApi, 'POST', `/api/webhooks/${registered._id}/health-check`);
  const [ping] = hook.received;
  for (const secret of [registered.secret, renewed]) verify(ping!, secret);
  await later.stop();
  await hook.close();

  // The next rotation opens all other secrets without the first key.
  const next = await rotate(`${third},${second}`);
  expect([next.code, next.counts]).toEqual([0, rotated.counts]);
});

test('rotate-keys reports secrets that no key opens and seals the rest', async () => {
  const { key } = await createWorkspace(app);
  const api = apiClient(app.url, key);
  await bodyOf(api, 'POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] });
  const { webhook } = await bodyOf(api, 'POST', '/api/webhooks', {
    url: 'http://127.0.0.1:9/',
    events: ['message.sent'],
  });
  await connected(app.ownerUrl, (client) =>
    client.query(
      `update webhooks set secret_sealed = replace(secret_sealed, 'v1.1.', 'v1.lost.') where id = $1`,
      [webhook._id],
    ),
  );
  const { code, out, counts } = await rotate(`${keyOf('2')},${app.config.encryptionKeys}`);
  expect(code).toBe(1);
  expect(out).toContain(webhook._id);
  expect(counts['webhooks.secret_sealed']).toBe(1);
});

test('rotate-keys covers every column with sealed texts', async () => {
  const { rows } = await connected(app.ownerUrl, (client) =>
    client.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = 'public' and column_name like '%sealed' order by 1`,
    ),
  );
  const covered = SEALED.map(({ table, column }) => `${table}.${column}`);
  expect(rows.map(({ name }) => name).filter((name) => !covered.includes(name))).toEqual([]);
});
