import { sql } from 'slonik';
import { NoRows, type SystemDb, type TenantDb } from '#db/pool.ts';
import type { NewAuditEntry } from '#domain/audit.ts';
import { newId } from '#domain/ids.ts';

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
      (${owner(log)}, id, channel, actor_type, actor_id, actor_name, action, target_type, target_id, reason, changes)
    values (${ownerId(log)}, ${newId()}, ${channel}, ${actor.type}, ${actor.id}, ${actor.name}, ${action},
      ${target.type}, ${target.id}, ${reason}, ${sql.jsonb(changes)})`);
}
