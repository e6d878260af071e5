import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { Available } from '#domain/inbox/round-robin.ts';

const AbsenceRow = z.object({ userId: z.string(), until: z.date().nullable() });

/** Who is away now. */
export async function findAbsences(db: TenantDb, now: Date): Promise<readonly z.infer<typeof AbsenceRow>[]> {
  return db.any(sql.type(AbsenceRow)`
    select user_id, until from absences
    where workspace_id = ${db.workspaceId} and (until is null or until > ${sql.timestamp(now)}) order by user_id`);
}

/** @param until null: until they are back. */
export async function setAway(db: TenantDb, userId: string, until: Date | null): Promise<void> {
  await db.query(sql.type(NoRows)`
    insert into absences (workspace_id, user_id, until)
    values (${db.workspaceId}, ${userId}, ${until && sql.timestamp(until)})
    on conflict (workspace_id, user_id) do update set until = excluded.until`);
}

export async function setBack(db: TenantDb, userId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from absences where workspace_id = ${db.workspaceId} and user_id = ${userId}`);
}

const AvailableRow = z.object({ userId: z.string(), open: z.int() });

/**
 * The members who are not away, with their open conversations.
 * @param except conversations that do not count, because they are being assigned.
 */
export async function availableMembers(
  db: TenantDb,
  except: readonly string[],
  now: Date,
): Promise<readonly Available[]> {
  return db.any(sql.type(AvailableRow)`
    select m.user_id, (
      select count(*)::int from conversations c
      where c.workspace_id = ${db.workspaceId} and c.assignee_id = m.user_id and c.status = 'open'
        and c.address <> all(${sql.array([...except], 'text')})) "open"
    from inbox_members() m
    where not exists (
      select from absences a
      where a.workspace_id = ${db.workspaceId} and a.user_id = m.user_id and (a.until is null or a.until > ${sql.timestamp(now)}))
    order by m.user_id`);
}
