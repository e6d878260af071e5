import { sql } from 'slonik';
import { z } from 'zod';
import { type SystemDb, withSystem } from '#db/connection/transactions.ts';
import { type ApiKeyKind, newApiKey } from '#domain/accounts/api-key.ts';
import type { Channel } from '#domain/base/channel.ts';
import { newAgencyId, newId, newUserId, newWorkspaceId } from '#domain/base/ids.ts';
import { sealConfig } from '#providers/carriers/secret-config.ts';
import { createSecretBox, secretContext } from '#providers/secret-box.ts';
import type { TestApp } from './app.ts';
import { type ApiClient, apiClient } from './client.ts';

export interface TestWorkspace {
  id: string;
  key: string;
  /** Calls the API with the key. */
  api: ApiClient;
  ownerId: string;
}

export type TestAgency = TestWorkspace;

type Value = string | number | boolean | null | Date | Buffer | string[];

async function insert(db: SystemDb, table: string, row: Record<string, Value>): Promise<void> {
  const columns = Object.keys(row).map((name) => sql.identifier([name]));
  const values = Object.values(row).map((value) => {
    if (value instanceof Date) return sql.timestamp(value);
    if (Buffer.isBuffer(value)) return sql.binary(value);
    return Array.isArray(value) ? sql.array(value, 'text') : sql.fragment`${value}`;
  });
  await db.query(sql.type(z.unknown())`
    insert into ${sql.identifier([table])} (${sql.join(columns, sql.fragment`, `)}) values (${sql.join(values, sql.fragment`, `)})`);
  const lookup = LOOKUPS[table];
  if (!lookup) return;
  await db.query(sql.type(z.unknown())`
    insert into lookups (kind, key, workspace_id)
    values (${lookup.kind}, ${String(row[lookup.key])}, ${String(row['workspace_id'])})`);
}

/** What is looked up without its workspace. */
const LOOKUPS: Record<string, { kind: string; key: string }> = {
  lines: { kind: 'line', key: 'id' },
  workspace_keys: { kind: 'key', key: 'hash' },
  invitations: { kind: 'invitation', key: 'token_hash' },
};

/** Where rows are inserted and requests sent. */
type Site = Pick<TestApp, 'pools' | 'url'>;

const system = <T>(app: Pick<Site, 'pools'>, work: (db: SystemDb) => Promise<T>): Promise<T> =>
  withSystem(app.pools, work);

export async function createWorkspace(app: Site, fields: Record<string, Value> = {}): Promise<TestWorkspace> {
  const id = newWorkspaceId();
  const ownerId = newUserId();
  await system(app, async (db) => {
    await insert(db, 'users', { id: ownerId, email: `${ownerId}@example.test`, name: 'Owner' });
    await insert(db, 'workspaces', {
      id,
      name: 'Test',
      timezone: 'UTC',
      country: 'US',
      plan: 'growth',
      subscription_status: 'active',
      created_by_user_id: ownerId,
      ...fields,
    });
    await insert(db, 'workspace_members', {
      workspace_id: id,
      user_id: ownerId,
      role: 'org:admin',
      is_owner: true,
    });
  });
  const key = await createKey(app, 'workspace', id);
  return { id, ownerId, key, api: apiClient(app.url, key) };
}

export interface WorkspaceWithLine extends TestWorkspace {
  lineId: string;
}

/** Creates a workspace with one iMessage line. @param fields columns that differ from the defaults. */
export async function createWorkspaceWithLine(
  app: Site,
  fields: { workspace?: Record<string, Value>; line?: Record<string, Value> } = {},
): Promise<WorkspaceWithLine> {
  const workspace = await createWorkspace(app, fields.workspace);
  return { ...workspace, lineId: await createLine(app, workspace.id, 'imessage', fields.line) };
}

export async function createAgency(app: Site, fields: Record<string, Value> = {}): Promise<TestAgency> {
  const id = newAgencyId();
  const ownerId = newUserId();
  await system(app, async (db) => {
    await insert(db, 'users', { id: ownerId, email: `${ownerId}@example.test`, name: 'Agency owner' });
    await insert(db, 'agencies', { id, name: 'Agency', ...fields });
    await insert(db, 'agency_members', { agency_id: id, user_id: ownerId, role: 'owner' });
  });
  const key = await createKey(app, 'agency', id);
  return { id, ownerId, key, api: apiClient(app.url, key) };
}

/** Creates an agency with two workspaces, between which lines can be transferred. */
export async function createAgencyWithTwoWorkspaces(
  app: Site,
): Promise<{ agency: TestAgency; first: TestWorkspace; second: TestWorkspace }> {
  const agency = await createAgency(app);
  const [first, second] = await Promise.all([
    createWorkspace(app, { agency_id: agency.id, name: 'First' }),
    createWorkspace(app, { agency_id: agency.id, name: 'Second' }),
  ]);
  return { agency, first, second };
}

export async function createKey(
  app: Site,
  kind: ApiKeyKind,
  ownerId: string,
  fields: Record<string, Value> = {},
): Promise<string> {
  const { key, hash, prefix, last4 } = newApiKey(kind);
  const owner = kind === 'agency' ? { agency_id: ownerId } : { workspace_id: ownerId };
  await system(app, (db) =>
    insert(db, `${kind}_keys`, { ...owner, id: newId(), name: 'Test', hash, prefix, last4, ...fields }),
  );
  return key;
}

/** How many lines this process has created. */
let lines = 0;

/** Creates a line without effective limits by default. */
export async function createLine(
  app: Site,
  workspaceId: string,
  channel: Channel = 'imessage',
  fields: Record<string, Value> = {},
): Promise<string> {
  const id = newId();
  const identity =
    channel === 'email'
      ? { email: `${id}@line.example` }
      : { phone: `+1415555${String((lines += 1) % 10_000).padStart(4, '0')}` };
  await system(app, (db) =>
    insert(db, 'lines', {
      workspace_id: workspaceId,
      id,
      channel,
      first_name: 'Test',
      last_name: 'Line',
      ...identity,
      provisioning_status: 'active',
      carrier: 'simulated',
      daily_total_limit: 10_000,
      daily_new_limit: 10_000,
      hourly_new_limit: 10_000,
      min_gap_seconds: 0,
      contact_gap_seconds: 0,
      health_status: 'healthy',
      ...fields,
    }),
  );
  return id;
}

/** Creates a line with encrypted carrier settings, as the API stores them. */
export async function createLineAt(
  app: TestApp,
  workspaceId: string,
  channel: Channel,
  carrier: { name: string; schema: z.ZodType; settings: object },
): Promise<string> {
  const id = newId();
  const box = createSecretBox(app.config.encryptionKeys);
  const config = sealConfig(carrier.schema, { ...carrier.settings }, (plain) =>
    box.seal(plain, secretContext('line', workspaceId, id)),
  );
  const columns = { id, carrier: carrier.name, carrier_config: JSON.stringify(config) };
  await createLine(app, workspaceId, channel, columns);
  return id;
}

export async function createLead(
  app: TestApp,
  workspaceId: string,
  fields: Record<string, Value> = {},
): Promise<string> {
  const id = newId();
  const listId = newId();
  await system(app, async (db) => {
    await insert(db, 'lead_lists', { workspace_id: workspaceId, id: listId, name: 'List' });
    await insert(db, 'leads', {
      workspace_id: workspaceId,
      id,
      list_id: listId,
      first_name: 'Ada',
      last_name: 'Lovelace',
      ...fields,
    });
    for (const address of [fields['phones'], fields['emails']].flatMap((given) =>
      Array.isArray(given) ? given : [],
    )) {
      await insert(db, 'list_addresses', {
        workspace_id: workspaceId,
        list_id: listId,
        address,
        lead_id: id,
      });
    }
  });
  return id;
}

/** Inserts a row into any table, for a state that no endpoint creates. */
export const insertRow = (
  app: Pick<TestApp, 'pools'>,
  table: string,
  row: Record<string, Value>,
): Promise<void> => system(app, (db) => insert(db, table, row));
