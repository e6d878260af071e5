import { sql } from 'slonik';
import { z } from 'zod';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { SystemDb, TenantDb } from '#db/connection/transactions.ts';
import {
  AuditAction,
  AuditActor,
  AuditChanges,
  AuditEntry,
  AuditTarget,
  type NewAuditEntry,
} from '#domain/accounts/audit.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { newId } from '#domain/base/ids.ts';
import { findLeadsByAddress } from '../contacts/leads.ts';

/** The log of one workspace, or of what an agency changes outside of its workspaces: the same in two tables. */
export type AuditLog = { db: TenantDb | SystemDb; workspaceId: string } | { db: SystemDb; agencyId: string };

const table = (log: AuditLog) =>
  'agencyId' in log ? sql.fragment`agency_audit_log` : sql.fragment`audit_log`;
const owner = (log: AuditLog) => ('agencyId' in log ? sql.fragment`agency_id` : sql.fragment`workspace_id`);
const ownerId = (log: AuditLog): string => ('agencyId' in log ? log.agencyId : log.workspaceId);

/** Records a change, in the transaction that makes it. */
export async function insertAuditEntry(
  log: AuditLog,
  { actor, channel, action, target, reason = null, changes = {} }: NewAuditEntry,
): Promise<void> {
  await log.db.query(sql.type(NoRows)`
    insert into ${table(log)}
      (${owner(log)}, id, at, channel, actor_type, actor_id, actor_name, action, target_type, target_id, reason, changes)
    values (${ownerId(log)}, ${newId()}, date_trunc('milliseconds', now()), ${channel}, ${actor.type}, ${actor.id}, ${actor.name}, ${action},
      ${target.type}, ${target.id}, ${reason}, ${sql.jsonb(changes)})`);
}

/**
 * The id of a contact in the log, which contains no addresses: that of its lead; without one, that of the message that
 * tells of it, or else the hash under which its opt-out outlives an erasure.
 */
export async function auditedContact(db: TenantDb, address: string, messageId?: string): Promise<string> {
  const [id] = (await auditedContacts(db, [address], messageId)).values();
  return id ?? 'unknown';
}

/** Like `auditedContact`, of several. */
export async function auditedContacts(
  db: TenantDb,
  addresses: readonly string[],
  messageId?: string,
): Promise<ReadonlyMap<string, string>> {
  const leads = await findLeadsByAddress(
    db,
    addresses.filter((address) => !isErased(address)),
  );
  const others = addresses.filter((address) => !leads.has(address));
  const hashes =
    messageId === undefined && others.length > 0 ? await db.addressHashes.of(db.workspaceId, others) : null;
  const hashOf = new Map(
    others.map((address, index) => [address, messageId ?? hashes?.[index] ?? 'unknown']),
  );
  return new Map([...hashOf, ...leads]);
}

/**
 * What an operator's update has been carried out on. A retried activity finds out here that its first try committed.
 * @param updateId Temporal's, which is unique only within a workflow.
 */
export async function targetsOfUpdate(
  db: TenantDb,
  action: AuditAction,
  updateId: string,
): Promise<readonly string[]> {
  return db.anyFirst(sql.type(IdRow)`
    select target_id id from audit_log
    where workspace_id = ${db.workspaceId} and channel = 'operator' and action = ${action}
      and at > now() - interval '1 hour' and changes @> ${sql.jsonb({ updateId })}`);
}

export interface AuditFilter {
  action?: AuditAction | undefined;
  channel?: AuditEntry['channel'] | undefined;
  actorId?: string | undefined;
  targetType?: AuditTarget['type'] | undefined;
  targetId?: string | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
}

const EntryRow = z.object({
  id: z.string(),
  at: z.date(),
  channel: AuditEntry.shape.channel,
  actorType: AuditActor.shape.type,
  actorId: z.string().nullable(),
  actorName: z.string().nullable(),
  action: AuditAction,
  targetType: AuditTarget.shape.type,
  targetId: z.string(),
  reason: z.string().nullable(),
  changes: AuditChanges,
});
export type AuditEntryRow = z.infer<typeof EntryRow>;

/** Newest first, before the id `cursor`. */
export async function listAuditEntries(
  log: AuditLog,
  filter: AuditFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<AuditEntryRow[]> {
  const rows = await log.db.any(sql.type(EntryRow)`
    select * from ${table(log)} where ${sql.and([
      sql.fragment`${owner(log)} = ${ownerId(log)}`,
      cursor !== undefined && sql.fragment`id < ${cursor}`,
      filter.action !== undefined && sql.fragment`action = ${filter.action}`,
      filter.channel !== undefined && sql.fragment`channel = ${filter.channel}`,
      filter.actorId !== undefined && sql.fragment`actor_id = ${filter.actorId}`,
      filter.targetType !== undefined && sql.fragment`target_type = ${filter.targetType}`,
      filter.targetId !== undefined && sql.fragment`target_id = ${filter.targetId}`,
      filter.since && sql.fragment`at >= ${sql.timestamp(filter.since)}`,
      filter.until && sql.fragment`at <= ${sql.timestamp(filter.until)}`,
    ])} order by id desc limit ${limit}`);
  return [...rows];
}

/** Oldest first, after the id `after`. */
export async function auditEntriesAfter(
  log: AuditLog,
  { since, until }: Pick<AuditFilter, 'since' | 'until'>,
  { limit, after }: { limit: number; after: string },
): Promise<AuditEntryRow[]> {
  const rows = await log.db.any(sql.type(EntryRow)`
    select * from ${table(log)} where ${sql.and([
      sql.fragment`${owner(log)} = ${ownerId(log)} and id > ${after}`,
      since && sql.fragment`at >= ${sql.timestamp(since)}`,
      until && sql.fragment`at <= ${sql.timestamp(until)}`,
    ])} order by id limit ${limit}`);
  return [...rows];
}

/** The entries about these objects, oldest first. */
export async function entriesAbout(
  db: TenantDb,
  targetIds: readonly string[],
): Promise<readonly AuditEntryRow[]> {
  return db.any(sql.type(EntryRow)`
    select * from audit_log
    where workspace_id = ${db.workspaceId} and target_id = any(${sql.array([...targetIds], 'text')}) order by id`);
}

export const presentAuditEntry = (row: AuditEntryRow): AuditEntry => ({
  _id: row.id,
  at: row.at.toISOString(),
  actor: { type: row.actorType, id: row.actorId, name: row.actorName },
  channel: row.channel,
  action: row.action,
  target: { type: row.targetType, id: row.targetId },
  reason: row.reason,
  changes: row.changes,
});
