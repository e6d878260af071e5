import { createPools } from '#db/connection/pools.ts';
import { testSends } from '#db/queries/test-mode/test-sends.ts';
import { type SystemDb, systemDb } from '#db/connection/transactions.ts';
import {
  replaceSealed,
  type SealedColumn,
  type SealedRow,
  staleRows,
} from '#db/queries/operations/sealed-columns.ts';
import { readConfig } from '#domain/base/config.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { createCarriers } from '#providers/carriers/registry.ts';
import { secretFields } from '#providers/carriers/secret-config.ts';
import { createEgress } from '#providers/egress.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { createSecretBox, type SecretBox, SecretBoxError, secretContext } from '#providers/secret-box.ts';

/** An encrypted column, and what its values are bound to: the kind of secret and the record. */
interface Target extends SealedColumn {
  secret: string;
  /** The record's id. Default: the columns of the primary key after the owner, separated by spaces. */
  recordId?: string;
}

const ROWS = ['workspace_id', 'id'];

/** All encrypted columns. */
export const SEALED: readonly Target[] = [
  { table: 'webhooks', column: 'secret_sealed', key: ROWS, kind: 'text', secret: 'webhook' },
  { table: 'webhooks', column: 'previous_secret_sealed', key: ROWS, kind: 'text', secret: 'webhook' },
  {
    table: 'lines',
    column: 'carrier_config',
    key: ROWS,
    kind: 'json-object',
    schemaColumn: 'carrier',
    secret: 'line',
  },
  {
    table: 'fallback_configs',
    column: 'auth_token_sealed',
    key: ['workspace_id'],
    kind: 'text',
    secret: 'fallback',
    recordId: 'auth-token',
  },
  {
    table: 'fallback_configs',
    column: 'shared_key_sealed',
    key: ['workspace_id'],
    kind: 'text',
    secret: 'fallback',
    recordId: 'shared-key',
  },
  { table: 'crm_connections', column: 'token_sealed', key: ROWS, kind: 'text', secret: 'crm' },
  { table: 'mails', column: 'data_sealed', key: ROWS, kind: 'text', secret: 'mail' },
  { table: 'agency_mails', column: 'data_sealed', key: ['agency_id', 'id'], kind: 'text', secret: 'mail' },
  {
    table: 'idempotency_keys',
    column: 'response',
    key: ['workspace_id', 'route', 'key'],
    kind: 'json-string',
    secret: 'idempotency',
  },
  {
    table: 'agency_idempotency_keys',
    column: 'response_sealed',
    key: ['agency_id', 'route', 'key'],
    kind: 'text',
    secret: 'idempotency',
  },
  { table: 'user_sessions', column: 'tokens_sealed', key: ['place', 'id'], kind: 'text', secret: 'session' },
  {
    table: 'key_canaries',
    column: 'value',
    key: ['kind'],
    kind: 'text',
    secret: 'canary',
    recordId: 'value',
  },
  { table: 'hash_keys', column: 'key_sealed', key: ['id'], kind: 'text', secret: 'hash', recordId: 'key' },
];

const BATCH = 200;

interface Rotation {
  /** `webhooks.secret_sealed` */
  column: string;
  /** The number of re-encrypted values. */
  rotated: number;
  /** The rows that no configured key decrypts, and why. */
  unreadable: string[];
}

/** By carrier: the names of the secret fields in the configuration of its lines. */
type ConfigSecrets = ReadonlyMap<string, readonly string[]>;

/**
 * Re-encrypts every stored secret that is not encrypted with the current key. A row that a running process has changed is
 * left alone. An interrupted rotation can be started again and processes the rest.
 */
async function rotateKeys(
  db: SystemDb,
  secrets: SecretBox,
  configSecrets: ConfigSecrets,
  report: (rotation: Rotation) => void,
): Promise<void> {
  for (const target of SEALED) report(await rotateColumn(db, target, secrets, configSecrets));
}

async function rotateColumn(
  db: SystemDb,
  target: Target,
  secrets: SecretBox,
  configSecrets: ConfigSecrets,
): Promise<Rotation> {
  const rotation: Rotation = { column: `${target.table}.${target.column}`, rotated: 0, unreadable: [] };
  const sealedAnew = ({ key, value, schema }: SealedRow): string => {
    const context = contextOf(target, key);
    const again = (sealed: string): string =>
      secrets.needsRotation(sealed) ? secrets.seal(secrets.open(sealed, context), context) : sealed;
    return schema === null ? again(value) : mapFields(value, fieldsOf(schema, configSecrets), again);
  };
  let after: readonly string[] | null = null;
  for (;;) {
    const rows: SealedRow[] = await staleRows(db, target, { current: secrets.prefix, after, limit: BATCH });
    for (const row of rows) {
      try {
        const text = sealedAnew(row);
        if (text !== row.value && (await replaceSealed(db, target, row, text))) rotation.rotated += 1;
      } catch (error) {
        if (!(error instanceof SecretBoxError)) throw error;
        rotation.unreadable.push(`${row.key.join(' ')}: ${error.message}`);
      }
    }
    if (rows.length < BATCH) return rotation;
    after = rows.at(-1)?.key ?? null;
  }
}

function fieldsOf(carrier: string, configSecrets: ConfigSecrets): readonly string[] {
  const fields = configSecrets.get(carrier);
  if (!fields) throw new SecretBoxError(`the carrier ${carrier} is not configured`);
  return fields;
}

const contextOf = ({ secret, recordId }: Target, [owner = '', ...rest]: readonly string[]): string =>
  secretContext(secret, owner, recordId ?? rest.join(' '));

/** Replaces the named fields of a JSON object, given as text. */
function mapFields(text: string, names: readonly string[], change: (value: string) => string): string {
  let changed = false;
  const fields = Object.entries(parseOwnJson(text) as Record<string, unknown>).map(([name, value]) => {
    if (!names.includes(name) || typeof value !== 'string') return [name, value];
    const next = change(value);
    changed ||= next !== value;
    return [name, next];
  });
  return changed ? JSON.stringify(Object.fromEntries(fields)) : text;
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const secrets = createSecretBox(config.encryptionKeys);
  if (!config.encryptionKeys.includes(',')) {
    throw new Error('ENCRYPTION_KEYS has only one key: put the new one before it (docs/security.md)');
  }
  const egress = createEgress({ allowPrivate: false, httpsOnly: true });
  const untrusted = createUntrustedWork();
  const pools = await createPools(config.database, { size: 1 });
  const carriers = createCarriers({
    testSends: testSends(pools),
    simulator: config.simulator,
    twilioAccount: config.twilioAccount,
    guard: egress.guard,
    untrusted,
  });
  const configSecrets = new Map(
    carriers.names.map((name) => [name, secretFields(carriers.get(name).config)]),
  );
  try {
    await rotateKeys(systemDb(pools), secrets, configSecrets, ({ column, rotated, unreadable }) => {
      console.log(`${column}: ${rotated} sealed anew`);
      for (const row of unreadable) console.error(`${column}: ${row}`);
      if (unreadable.length > 0) process.exitCode = 1;
    });
  } finally {
    untrusted.close();
    await Promise.all([pools.close(), carriers.close(), egress.close()]);
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  });
}
