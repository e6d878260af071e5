import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { decodeJwt, type JWK } from 'jose';
import type { Client } from 'pg';
import { sql } from 'slonik';
import { z } from 'zod';
import { signLocalSession } from '#api/auth/session-token.ts';
import { connected } from '#db/connection/connected.ts';
import { createPools } from '#db/connection/pools.ts';
import { insertConsoleCode } from '#db/queries/accounts/console-codes.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { type ApiKeyKind, newApiKey } from '#domain/accounts/api-key.ts';
import { type Config, readConfig, readMigrationConfig } from '#domain/base/config.ts';
import type { BillingMode } from '#domain/billing/entitlement.ts';
import { newAgencyId, newId, newUserId, newWorkspaceId } from '#domain/base/ids.ts';
import { DEFAULT_LIMITS } from '#domain/sending/line-limits.ts';
import { prepareLively } from './lively-demo.ts';
import { writeSecretFile } from './secret-file.ts';

/** The content of `demo.json`, which the first start writes. */
export interface Demo {
  baseUrl: string;
  temporalAddress: string;
  temporalUiUrl: string;
  databaseUrl: string;
  workspaceId: string;
  workspaceKey: string;
  agencyKey: string;
  lineIds: string[];
  sessionToken: string;
  coAdminToken: string;
  otherAgencyKey: string;
  invoiceAgencyKey: string;
}

const SESSION_LIFETIME = '365 days';

/** The demo's lines: two phones and an email address, at the simulated carrier. */
const LINES = [
  { channel: 'imessage', firstName: 'Dana', lastName: 'Demo', phone: '+14155550111', email: null },
  { channel: 'imessage', firstName: 'Robin', lastName: 'Demo', phone: '+14155550112', email: null },
  { channel: 'email', firstName: 'Dana', lastName: 'Demo', phone: null, email: 'dana@demo.example' },
] as const;

/** Inserts the rows of the demo. */
function demoRows(client: Client) {
  const insert = async (table: string, row: Record<string, unknown>): Promise<void> => {
    const columns = Object.keys(row);
    const values = columns.map((_, index) => `$${index + 1}`);
    await client.query(
      `insert into ${table} (${columns.join(', ')}) values (${values.join(', ')})`,
      Object.values(row),
    );
  };
  const addKey = async (kind: ApiKeyKind, ownerId: string, userId: string): Promise<string> => {
    const { key, hash, prefix, last4 } = newApiKey(kind);
    const owner = kind === 'agency' ? { agency_id: ownerId } : { workspace_id: ownerId };
    await insert(`${kind}_keys`, {
      ...owner,
      id: newId(),
      name: 'Demo',
      hash,
      prefix,
      last4,
      created_by_user_id: userId,
    });
    if (kind === 'workspace') await insert('lookups', { kind: 'key', key: hash, workspace_id: ownerId });
    return key;
  };
  const addUser = async (name: string): Promise<string> => {
    const id = newUserId();
    await insert('users', {
      id,
      email: `${name.toLowerCase().replaceAll(' ', '.')}.${id.slice(-6)}@demo.example`,
      name,
    });
    return id;
  };
  const addAgency = async (name: string, billingMode: BillingMode, ownerId: string): Promise<string> => {
    const id = newAgencyId();
    await insert('agencies', { id, name, billing_mode: billingMode });
    await insert('agency_members', { agency_id: id, user_id: ownerId, role: 'owner' });
    return id;
  };
  const addLine = async (
    workspaceId: string,
    { channel, firstName, lastName, phone, email }: (typeof LINES)[number],
  ): Promise<string> => {
    const { dailyTotal, dailyNew, minGapSeconds, contactGapSeconds } = DEFAULT_LIMITS[channel];
    const id = newId();
    await insert('lines', {
      workspace_id: workspaceId,
      id,
      channel,
      first_name: firstName,
      last_name: lastName,
      phone,
      email,
      provisioning_status: 'active',
      carrier: 'simulated',
      daily_total_limit: dailyTotal,
      daily_new_limit: dailyNew,
      min_gap_seconds: minGapSeconds,
      contact_gap_seconds: contactGapSeconds,
      health_status: 'healthy',
    });
    await insert('lookups', { kind: 'line', key: id, workspace_id: workspaceId });
    return id;
  };
  return { insert, addKey, addUser, addAgency, addLine };
}

/** Creates the demo agency, workspace, users, keys and lines in one transaction. */
export async function createDemo(
  config: Config,
  { temporalUiUrl, databaseUrl }: Pick<Demo, 'temporalUiUrl' | 'databaseUrl'>,
): Promise<Demo> {
  if (config.production) throw new Error('demo data is not created in production');
  if (config.auth.localJwk === null)
    throw new Error('AUTH_LOCAL_JWK is required to sign the session tokens of the demo');
  const localKey = JSON.parse(config.auth.localJwk) as JWK;
  return connected(config.database.systemUrl, async (client) => {
    const { insert, addKey, addUser, addAgency, addLine } = demoRows(client);
    await client.query('begin');
    const owner = await addUser('Olivia Owner');
    const coAdmin = await addUser('Casey Coadmin');
    const agencyId = await addAgency('Demo agency', 'card', owner);
    await insert('agency_members', { agency_id: agencyId, user_id: coAdmin, role: 'co_admin' });
    const otherOwner = await addUser('Otto Other');
    const otherAgencyId = await addAgency('Other agency', 'card', otherOwner);
    const invoiceOwner = await addUser('Iris Invoice');
    const invoiceAgencyId = await addAgency('Invoice agency', 'invoice', invoiceOwner);

    const workspaceId = newWorkspaceId();
    await insert('workspaces', {
      id: workspaceId,
      agency_id: agencyId,
      name: 'Demo workspace',
      legal_name: 'Demo workspace Ltd.',
      timezone: 'UTC',
      country: 'US',
      plan: 'growth',
      subscription_status: 'active',
      created_by_user_id: owner,
    });
    await insert('workspace_members', {
      workspace_id: workspaceId,
      user_id: owner,
      role: 'org:admin',
      is_owner: true,
    });
    await insert('workspace_members', { workspace_id: workspaceId, user_id: coAdmin, role: 'org:member' });
    const lineIds: string[] = [];
    for (const line of LINES) lineIds.push(await addLine(workspaceId, line));
    const session = (userId: string, role: string): Promise<string> =>
      signLocalSession(localKey, config.auth.issuer, {
        userId,
        organizationId: workspaceId,
        role,
        expires: SESSION_LIFETIME,
      });
    const demo: Demo = {
      baseUrl: config.publicUrl,
      temporalAddress: config.temporal.address,
      temporalUiUrl,
      databaseUrl,
      workspaceId,
      workspaceKey: await addKey('workspace', workspaceId, owner),
      agencyKey: await addKey('agency', agencyId, owner),
      lineIds,
      sessionToken: await session(owner, 'org:admin'),
      coAdminToken: await session(coAdmin, 'org:member'),
      otherAgencyKey: await addKey('agency', otherAgencyId, otherOwner),
      invoiceAgencyKey: await addKey('agency', invoiceAgencyId, invoiceOwner),
    };
    await client.query('commit');
    return demo;
  });
}

/** Stores the hash of a code that signs in to the demo workspace. The launcher prints the code. */
async function addConsoleCode({ database }: Config, hash: string, workspaceId: string): Promise<void> {
  const pools = await createPools(database, { size: 1 });
  try {
    await insertConsoleCode(systemDb(pools), hash, workspaceId);
  } finally {
    await pools.close();
  }
}

const OwnerRow = z.object({ id: z.string(), email: z.string() });

/** Whom the session token of the demo signs in. */
async function ownerOf({ database }: Config, { sessionToken }: Demo): Promise<z.infer<typeof OwnerRow>> {
  const pools = await createPools(database, { size: 1 });
  try {
    return await systemDb(pools).one(sql.type(OwnerRow)`
      select id, email from users where id = ${String(decodeJwt(sessionToken).sub)}`);
  } finally {
    await pools.close();
  }
}

if (import.meta.main) {
  const config = readConfig(process.env);
  const dataDir = process.env['DATA_DIR'] ?? '.data';
  const file = path.join(dataDir, 'demo.json');
  const addresses = {
    baseUrl: config.publicUrl,
    temporalAddress: config.temporal.address,
    temporalUiUrl: process.env['TEMPORAL_UI_URL'] ?? '',
    // The owner's URL: this file is readable only by its owner.
    databaseUrl: readMigrationConfig(process.env).ownerUrl,
  };
  // Ports can change between starts.
  const demo = existsSync(file)
    ? { ...(JSON.parse(await readFile(file, 'utf8')) as Demo), ...addresses }
    : await createDemo(config, addresses);
  await writeSecretFile(file, `${JSON.stringify(demo, null, 2)}\n`);
  const codeHash = process.env['CONSOLE_CODE_HASH'];
  if (codeHash !== undefined) {
    const isLively = process.env['DEMO'] !== 'empty';
    const shown = isLively
      ? (await prepareLively(config, dataDir, () => ownerOf(config, demo))).testWorkspaceId
      : demo.workspaceId;
    await addConsoleCode(config, codeHash, shown);
  }
}
