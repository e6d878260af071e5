import { sql } from 'slonik';
import { NoRows, WorkspaceIdRow } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';

/**
 * Finds the workspace of what callers name without it: a line by its id, an API key and an invitation by the hash of their secret, an
 * opt-in link by its code.
 */
type LookupKind = 'line' | 'key' | 'invitation' | 'opt_in_link';

/** To be called in the transaction that adds what is looked up. */
export async function addLookup(db: TenantDb, kind: LookupKind, key: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into lookups (kind, key, workspace_id) values (${kind}, ${key}, ${db.workspaceId})`);
}

export async function removeLookup(db: TenantDb, kind: LookupKind, key: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from lookups where kind = ${kind} and key = ${key} and workspace_id = ${db.workspaceId}`);
}

export async function moveLookup(
  db: SystemDb,
  kind: LookupKind,
  key: string,
  workspaceId: string,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lookups set workspace_id = ${workspaceId} where kind = ${kind} and key = ${key}`);
}

/** The workspace to which it belongs; null if there is none. */
export async function lookUp(db: SystemDb, kind: LookupKind, key: string): Promise<string | null> {
  return db.maybeOneFirst(sql.type(WorkspaceIdRow)`
    select workspace_id from lookups where kind = ${kind} and key = ${key}`);
}

/** The workspaces of what was found last. A line may have moved since, so whoever uses them looks whether it is there. */
const found = new Map<string, string>();
const MAX_FOUND = 20_000;

/**
 * Reads something in the workspace to which it belongs, usually with one statement, because the process caches the workspace.
 * @param read returns null if it is not in the workspace.
 */
export async function readWhereItIs<T>(
  db: SystemDb,
  kind: LookupKind,
  key: string,
  read: (workspaceId: string) => Promise<T | null>,
): Promise<T | null> {
  const name = `${kind} ${key}`;
  const before = found.get(name);
  const there = before === undefined ? null : await read(before);
  if (there !== null) return there;
  const workspaceId = await lookUp(db, kind, key);
  if (workspaceId === null) {
    found.delete(name);
    return null;
  }
  if (found.size >= MAX_FOUND) found.clear();
  found.set(name, workspaceId);
  return read(workspaceId);
}
