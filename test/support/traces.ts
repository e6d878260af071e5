import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { isGrpcServiceError } from '@temporalio/client';
import { createSecretBox, secretContext } from '#providers/secret-box.ts';
import { connected } from '#db/connection/connected.ts';
import type { TestApp } from './app.ts';

/** Finds where any of the names still occurs: `table.column: …`, `file …`, `history …`. */
export async function findTraces(
  app: TestApp,
  workspaceId: string,
  names: readonly string[],
): Promise<string[]> {
  const wanted = names.map((name) => name.toLowerCase());
  const isNamed = (text: string): boolean => wanted.some((name) => text.toLowerCase().includes(name));
  return [
    ...(await inDatabase(app, workspaceId, isNamed)),
    ...(await inFiles(app, workspaceId, isNamed)),
    ...(await inHistories(app, isNamed)),
  ];
}

/** Searches every column of every table, including those of the whole installation. Decrypts encrypted values. */
async function inDatabase(
  app: TestApp,
  workspaceId: string,
  isNamed: (text: string) => boolean,
): Promise<string[]> {
  const secrets = createSecretBox(app.config.encryptionKeys);
  const opened = (text: string, context: string): string => {
    try {
      return secrets.open(text, context);
    } catch {
      return '';
    }
  };
  return connected(app.ownerUrl, async (client) => {
    const { rows: tables } = await client.query<{ name: string; columns: string[] }>(`
      select c.relname as name, array_agg(a.attname::text) as columns
      from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      group by c.relname order by 1`);
    const found: string[] = [];
    for (const { name, columns } of tables) {
      const own = columns.includes('workspace_id') ? 'where workspace_id = $1' : 'where $1::text is not null';
      const { rows } = await client.query<Record<string, unknown>>(`select t.* from "${name}" t ${own}`, [
        workspaceId,
      ]);
      for (const row of rows) {
        for (const [column, value] of Object.entries(row)) {
          if (value === null) continue;
          const text = Buffer.isBuffer(value)
            ? value.toString('latin1')
            : typeof value === 'string'
              ? value
              : JSON.stringify(value);
          const plain = text.startsWith('v1.') ? opened(text, contextOf(name, row)) : text;
          if (isNamed(text) || isNamed(plain)) found.push(`${name}.${column}: ${plain.slice(0, 200)}`);
        }
      }
    }
    return found;
  });
}

const contextOf = (table: string, row: Record<string, unknown>): string => {
  const owner = String(row['workspace_id']);
  return table === 'idempotency_keys'
    ? secretContext('idempotency', owner, `${String(row['route'])} ${String(row['key'])}`)
    : secretContext('mail', owner, String(row['id']));
};

/** Searches the names and contents of the workspace's files. */
async function inFiles(
  app: TestApp,
  workspaceId: string,
  isNamed: (text: string) => boolean,
): Promise<string[]> {
  const folder = join(app.config.storage.folder, workspaceId);
  const found: string[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const content = await readFile(join(folder, name));
    if (isNamed(name) || isNamed(content.toString('latin1'))) found.push(`file ${name}`);
  }
  return found;
}

/** The names of a workspace's stored files. */
export const filesOf = async (app: TestApp, workspaceId: string): Promise<string[]> =>
  readdir(join(app.config.storage.folder, workspaceId)).catch(() => []);

/** Searches all histories: inputs, results, signals, updates, failures, summaries. */
async function inHistories(app: TestApp, isNamed: (text: string) => boolean): Promise<string[]> {
  const found: string[] = [];
  for await (const { workflowId, runId } of app.temporal.workflow.list()) {
    for (const event of await eventsOf(app, workflowId, runId))
      for (const text of payloadsOf(event))
        if (isNamed(text)) found.push(`history ${workflowId}: ${text.slice(0, 200)}`);
  }
  return found;
}

/** The events of a run; none if its history was deleted since it was listed, as an erasure does. */
async function eventsOf(app: TestApp, workflowId: string, runId: string) {
  try {
    return (await app.temporal.workflow.getHandle(workflowId, runId).fetchHistory()).events ?? [];
  } catch (error) {
    if (isGrpcServiceError(error) && error.code === status.NOT_FOUND) return [];
    throw error;
  }
}

/** All texts and payloads of an event. */
function* payloadsOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value;
  else if (value instanceof Uint8Array) yield Buffer.from(value).toString('utf8');
  else if (Array.isArray(value)) for (const item of value) yield* payloadsOf(item);
  else if (value !== null && typeof value === 'object')
    for (const item of Object.values(value)) yield* payloadsOf(item);
}
