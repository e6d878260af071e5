import { sql } from 'slonik';
import { z } from 'zod';
import { SAID } from '#db/queries/inbox/replies.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import {
  Certainty,
  type ModelOpinion,
  type OptOutSuspicion,
  SuspicionStatus,
} from '#domain/contacts/opt-out-suspicion.ts';
import { ModelVerdict, REPLIES_READ, VerdictReason } from '#domain/contacts/opt-out-verdict.ts';
import { shownReply } from '#domain/inbox/reply.ts';

const SuspicionRow = z.object({
  id: z.string(),
  address: z.string(),
  leadId: z.string().nullable(),
  replyId: z.string(),
  body: z.string(),
  status: SuspicionStatus,
  certainty: Certainty,
  answeredAt: z.date().nullable(),
  model: z.string().nullable(),
  verdict: ModelVerdict.nullable(),
  confidence: z.number().nullable(),
  reason: VerdictReason.nullable(),
  modelError: z.string().nullable(),
  createdAt: z.date(),
  decidedAt: z.date().nullable(),
});
export type SuspicionRow = z.infer<typeof SuspicionRow>;

export const presentSuspicion = (row: SuspicionRow): OptOutSuspicion => ({
  _id: row.id,
  address: row.address,
  leadId: row.leadId,
  replyId: row.replyId,
  message: shownReply(row.body),
  status: row.status,
  certainty: row.certainty,
  modelOpinion: opinionOf(row),
  createdAt: row.createdAt.toISOString(),
  decidedAt: row.decidedAt?.toISOString() ?? null,
});

function opinionOf(row: SuspicionRow): ModelOpinion | null {
  const { status, certainty, answeredAt, model, verdict, confidence, reason, modelError: error } = row;
  if (answeredAt === null && (certainty === 'clear' || status !== 'open')) return null;
  return {
    status: answeredAt === null ? 'awaited' : error === null ? 'answered' : 'failed',
    model,
    verdict,
    confidence,
    reason,
    error,
    answeredAt: answeredAt?.toISOString() ?? null,
  };
}

const suspicions = (db: TenantDb, condition: ReturnType<typeof sql.fragment>) => sql.fragment`
  select s.*, i.lead_id, ${SAID} body
  from opt_out_suspicions s
  join inbound_messages i on i.workspace_id = s.workspace_id and i.id = s.reply_id
  where s.workspace_id = ${db.workspaceId} and ${condition}`;

/** Sorts after every id, because ids are hexadecimal. */
const MAX_ID = 'g';

/** Newest first, starting after the id `cursor`. */
export async function listSuspicions(
  db: TenantDb,
  { status, address }: { status: SuspicionStatus; address?: string | undefined },
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<SuspicionRow[]> {
  const ofContact = address === undefined ? sql.fragment`` : sql.fragment`and s.address = ${address}`;
  const rows = await db.any(sql.type(SuspicionRow)`
    ${suspicions(db, sql.fragment`s.status = ${status} and s.id < ${cursor ?? MAX_ID} ${ofContact}`)}
    order by s.id desc limit ${limit}`);
  return [...rows];
}

export async function findSuspicion(db: TenantDb, id: string): Promise<SuspicionRow | null> {
  return db.maybeOne(sql.type(SuspicionRow)`
    ${suspicions(db, sql.fragment`s.id = ${id}`)}`);
}

export async function suspicionsOf(
  db: TenantDb,
  addresses: readonly string[],
): Promise<readonly SuspicionRow[]> {
  return db.any(sql.type(SuspicionRow)`
    ${suspicions(db, sql.fragment`s.address = any(${sql.array([...addresses], 'text')})`)} order by s.id`);
}

/** Whether a reply of the contact is open to a decision, or to the model's judgment. */
export const isSuspected = (db: TenantDb, address: string): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select from opt_out_suspicions
    where workspace_id = ${db.workspaceId} and address = ${address} and status = 'open'`);

const InsertedRow = z.object({ id: z.string() });

/** One that the model has not judged yet. A clear reply, or a further doubtful one, takes the place of the doubtful one. */
export const isAwaited = sql.fragment`
  opt_out_suspicions.status = 'open' and opt_out_suspicions.certainty = 'doubtful' and opt_out_suspicions.answered_at is null`;

/** @returns the id of the suspicion; null if one of the address is open, except for one that the model has not judged yet. */
export async function insertSuspicion(
  db: TenantDb,
  { address, replyId, certainty }: { address: string; replyId: string; certainty: Certainty },
  now: Date,
): Promise<string | null> {
  return db.maybeOneFirst(sql.type(InsertedRow)`
    insert into opt_out_suspicions (workspace_id, id, address, reply_id, certainty, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${address}, ${replyId}, ${certainty}, ${sql.timestamp(now)})
    on conflict (workspace_id, address) where status = 'open' do update
      set reply_id = excluded.reply_id, certainty = excluded.certainty
      where ${isAwaited}
    returning id`);
}

const AwaitedRow = z.object({
  id: z.string(),
  address: z.string(),
  replyId: z.string(),
  replies: z.array(z.string()),
});
export type AwaitedVerdict = z.infer<typeof AwaitedRow>;

/** Suspicions that wait for the model, oldest first, each with what the contact wrote last, oldest first. */
export async function awaitedVerdicts(db: TenantDb, limit: number): Promise<readonly AwaitedVerdict[]> {
  return db.any(sql.type(AwaitedRow)`
    select opt_out_suspicions.id, opt_out_suspicions.address, opt_out_suspicions.reply_id, array(
      select body from (
        select ${SAID} body, i.received_at, i.id from inbound_messages i
        where i.workspace_id = ${db.workspaceId} and i.address = opt_out_suspicions.address
          and not i.auto_reply and ${SAID} <> '' and i.created_at > opt_out_suspicions.created_at - interval '1 day'
        order by i.received_at desc, i.id desc limit ${REPLIES_READ}
      ) latest order by received_at, id
    ) replies
    from opt_out_suspicions
    where opt_out_suspicions.workspace_id = ${db.workspaceId} and ${isAwaited}
    order by opt_out_suspicions.id limit ${limit}`);
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
