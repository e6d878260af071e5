import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { type OptOutSuspicion, SuspicionStatus } from '#domain/opt-out-suspicion.ts';
import { shownReply } from '#domain/reply.ts';

const SuspicionRow = z.object({
  id: z.string(),
  address: z.string(),
  leadId: z.string().nullable(),
  replyId: z.string(),
  body: z.string(),
  status: SuspicionStatus,
  createdAt: z.date(),
  decidedAt: z.date().nullable(),
});
export type SuspicionRow = z.infer<typeof SuspicionRow>;

export const presentSuspicion = ({
  id,
  body,
  createdAt,
  decidedAt,
  ...row
}: SuspicionRow): OptOutSuspicion => ({
  _id: id,
  ...row,
  message: shownReply(body),
  createdAt: createdAt.toISOString(),
  decidedAt: decidedAt?.toISOString() ?? null,
});

const suspicions = (db: TenantDb, condition: ReturnType<typeof sql.fragment>) => sql.fragment`
  select s.id, s.address, i.lead_id, s.reply_id, i.body, s.status, s.created_at, s.decided_at
  from opt_out_suspicions s
  join inbound_messages i on i.workspace_id = s.workspace_id and i.id = s.reply_id
  where s.workspace_id = ${db.workspaceId} and ${condition}`;

/** Sorts after every id, because ids are hexadecimal. */
const MAX_ID = 'g';

/** Newest first, starting after the id `cursor`. */
export async function listSuspicions(
  db: TenantDb,
  status: SuspicionStatus,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<SuspicionRow[]> {
  const rows = await db.any(sql.type(SuspicionRow)`
    ${suspicions(db, sql.fragment`s.status = ${status} and s.id < ${cursor ?? MAX_ID}`)}
    order by s.id desc limit ${limit}`);
  return [...rows];
}

export async function findSuspicion(db: TenantDb, id: string): Promise<SuspicionRow | null> {
  return db.maybeOne(sql.type(SuspicionRow)`
    ${suspicions(db, sql.fragment`s.id = ${id}`)}`);
}

const InsertedRow = z.object({ id: z.string() });

/** @returns the id of the suspicion; null if one of the address is open. */
export async function insertSuspicion(
  db: TenantDb,
  { address, replyId }: { address: string; replyId: string },
  now: Date,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(InsertedRow)`
    insert into opt_out_suspicions (workspace_id, id, address, reply_id, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${address}, ${replyId}, ${sql.timestamp(now)})
    on conflict (workspace_id, address) where status = 'open' do nothing
    returning id`);
}

/** @returns false if it was decided before. */
export async function decideSuspicion(
  db: TenantDb,
  id: string,
  status: 'confirmed' | 'dismissed',
  { by, now }: { by: string | null; now: Date },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    update opt_out_suspicions set status = ${status}, decided_by = ${by}, decided_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and id = ${id} and status = 'open'`);
  return rowCount > 0;
}

/** Settles what is open of an address that opted out. */
export async function confirmSuspicionsOf(db: TenantDb, address: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update opt_out_suspicions set status = 'confirmed', decided_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and address = ${address} and status = 'open'`);
}

export async function deleteSuspicionsOf(db: TenantDb, addresses: readonly string[]): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from opt_out_suspicions
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})`);
}
