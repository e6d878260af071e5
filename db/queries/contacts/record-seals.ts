import { sql } from 'slonik';
import { z } from 'zod';
import { insertion } from '#db/connection/recordset.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { AuditActor, AuditChanges, AuditEntry } from '#domain/accounts/audit.ts';
import { firstId } from '#domain/base/ids.ts';
import { type Sealable, SealKind, type StoredSeal } from '#domain/contacts/record-seal.ts';
import { ConsentRow } from './consents.ts';

const SealRow = z.object({
  position: z.int(),
  kind: SealKind,
  recordId: z.string(),
  digest: z.string(),
  previous: z.string(),
  hash: z.string(),
  sealedAt: z.date(),
});

export async function lastSeal(db: TenantDb): Promise<StoredSeal | null> {
  return db.maybeOne(sql.type(SealRow)`
    select * from record_seals where workspace_id = ${db.workspaceId} order by position desc limit 1`);
}

/** @throws if another process has sealed something meanwhile. */
export async function insertSeals(
  db: TenantDb,
  seals: readonly Omit<StoredSeal, 'sealedAt'>[],
  sealedAt: Date,
): Promise<void> {
  const rows = seals.map((seal) => ({
    workspaceId: db.workspaceId,
    ...seal,
    sealedAt: sealedAt.toISOString(),
  }));
  await db.query(sql.type(NoRows)`${insertion('record_seals', rows)}`);
}

/** The seals of these records, and those next to them in the chain. */
export async function sealsAround(
  db: TenantDb,
  records: readonly Pick<Sealable, 'kind' | 'id'>[],
): Promise<readonly StoredSeal[]> {
  if (records.length === 0) return [];
  return db.any(sql.type(SealRow)`
    with wanted as materialized (
      select s.position from ${sql.unnest(
        records.map(({ kind, id }) => [kind, id]),
        ['text', 'text'],
      )} as r (kind, id)
      join record_seals s on s.workspace_id = ${db.workspaceId} and s.kind = r.kind and s.record_id = r.id
    )
    select s.* from (
      select distinct w.position + n.step "position" from wanted w cross join (values (-1), (0), (1)) n (step)
    ) p join record_seals s on s.workspace_id = ${db.workspaceId} and s.position = p.position`);
}

const AuditRow = z.object({
  id: z.string(),
  at: z.date(),
  channel: AuditEntry.shape.channel,
  actorType: AuditActor.shape.type,
  actorId: z.string().nullable(),
  actorName: z.string().nullable(),
  action: z.string(),
  targetType: z.string(),
  targetId: z.string(),
  reason: z.string().nullable(),
  changes: AuditChanges,
});

export const sealableEntry = (row: z.infer<typeof AuditRow>): Sealable => ({
  kind: 'audit',
  id: row.id,
  content: [
    row.at.toISOString(),
    row.channel,
    row.actorType,
    row.actorId,
    row.actorName,
    row.action,
    row.targetType,
    row.targetId,
    row.reason,
    row.changes,
  ],
});

/** An entry of the ledger, with how the opt-out or opt-in came about that it records. */
const LedgerRow = ConsentRow.extend({ origin: z.string().nullable(), replyId: z.string().nullable() });

export const sealableConsent = (row: z.infer<typeof LedgerRow>): Sealable => ({
  kind: 'consent',
  id: row.id,
  content: [
    row.address,
    row.channel,
    row.status,
    row.source,
    row.evidence,
    row.at.toISOString(),
    row.origin,
    row.replyId,
    row.recordedBy,
    row.createdAt.toISOString(),
  ],
});

/** An accepted attempt and its message. What a carrier reports later, and what an erasure does not keep, is not sealed. */
const SendRow = z.object({
  id: z.string(),
  messageId: z.string(),
  lineId: z.string(),
  kind: z.string(),
  channel: z.string(),
  carrier: z.string(),
  address: z.string(),
  startedAt: z.date(),
  source: z.string(),
  createdByUserId: z.string().nullable(),
  campaignId: z.string().nullable(),
  acceptedAt: z.date(),
  text: z.string(),
  subject: z.string().nullable(),
  attachmentNames: z.array(z.string()),
});

const sendColumns = sql.fragment`
  a.id, a.message_id, a.line_id, a.kind, a.channel, a.carrier, a.address, a.started_at, m.source, m.created_by_user_id, m.campaign_id,
  m.created_at accepted_at, coalesce(m.sent_text, m.body) "text", coalesce(m.sent_subject, m.subject) subject, m.attachment_names`;

export const sealableSend = (row: z.infer<typeof SendRow>): Sealable => ({
  kind: 'send',
  id: row.id,
  content: [
    row.messageId,
    row.lineId,
    row.kind,
    row.channel,
    row.carrier,
    row.address,
    row.startedAt.toISOString(),
    row.source,
    row.createdByUserId,
    row.campaignId,
    row.acceptedAt.toISOString(),
    row.text,
    row.subject,
    row.attachmentNames,
  ],
});

/** A record is committed this long after its id was made, at most. */
const COMMITTED_WITHIN_MS = 10 * 60_000;

/** The records of a kind that may have no seal yet begin at this id. */
async function unsealedFrom(db: TenantDb, kind: SealKind): Promise<string> {
  const last = await db.maybeOneFirst(sql.type(z.object({ recordId: z.string() }))`
    select record_id from record_seals where workspace_id = ${db.workspaceId} and kind = ${kind} order by record_id desc limit 1`);
  return last === null
    ? ''
    : firstId(new Date(Number.parseInt(last.slice(0, 8), 16) * 1000 - COMMITTED_WITHIN_MS));
}

const isUnsealed = (db: TenantDb, kind: SealKind, from: string, alias: 'a' | 'c') => {
  const id = sql.identifier([alias, 'id']);
  return sql.fragment`(${sql.identifier([alias, 'workspace_id'])} = ${db.workspaceId} and ${id} >= ${from} and not exists (
    select from record_seals s where s.workspace_id = ${db.workspaceId} and s.kind = ${kind} and s.record_id = ${id}))`;
};

/** The oldest records of a kind without a seal. Messages wait for older ones whose carrier has not answered yet. */
export async function unsealed(db: TenantDb, kind: SealKind, limit: number): Promise<readonly Sealable[]> {
  const from = await unsealedFrom(db, kind);
  switch (kind) {
    case 'audit': {
      const rows = await db.any(sql.type(AuditRow)`
        select a.* from audit_log a where ${isUnsealed(db, kind, from, 'a')} order by a.id limit ${limit}`);
      return rows.map(sealableEntry);
    }
    case 'consent': {
      const rows = await db.any(sql.type(LedgerRow)`
        select c.* from consents c where ${isUnsealed(db, kind, from, 'c')} order by c.id limit ${limit}`);
      return rows.map(sealableConsent);
    }
    case 'send': {
      const rows = await db.any(sql.type(SendRow)`
        select ${sendColumns} from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
        where ${isUnsealed(db, kind, from, 'a')} and a.outcome = 'accepted' and not starts_with(a.address, 'erased:')
          and a.id < coalesce((
            select min(o.id) from attempts o
            where o.workspace_id = ${db.workspaceId} and o.outcome is null and o.started_at > now() - interval '1 hour'), 'g')
        order by a.id limit ${limit}`);
      return rows.map(sealableSend);
    }
  }
}

/** The accepted sends of these messages, as they are now, oldest first. */
export async function sendsOf(
  db: TenantDb,
  messageIds: readonly string[],
): Promise<readonly z.infer<typeof SendRow>[]> {
  return db.any(sql.type(SendRow)`
    select ${sendColumns} from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
    where a.workspace_id = ${db.workspaceId} and a.message_id = any(${sql.array([...messageIds], 'text')})
      and a.outcome = 'accepted'
    order by a.id`);
}

/** The entries of these addresses, oldest first. */
export async function ledgerOf(
  db: TenantDb,
  addresses: readonly string[],
): Promise<readonly z.infer<typeof LedgerRow>[]> {
  return db.any(sql.type(LedgerRow)`
    select * from consents
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')}) order by at, id`);
}
