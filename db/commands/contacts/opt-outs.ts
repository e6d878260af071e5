import { NoRows } from '#db/connection/rows.ts';
import { sql } from 'slonik';
import { z } from 'zod';
import { OPT_OUT_SOURCES } from '#domain/contacts/consent.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import type { Keyword, OptOutSource } from '#domain/contacts/opt-out.ts';
import { countStepOptOut } from '#db/commands/campaigns/campaign-responses.ts';
import { stopContact, stopFailed } from '#db/commands/campaigns/campaign-stops.ts';
import { emitMessageEvents } from '../messages/message-events.ts';
import { auditedContact, insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import { groupsOf } from '#db/queries/inbox/groups.ts';
import { lockContact, lockSequences } from '#db/queries/sending/message-locks.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { insertConsents } from '#db/queries/contacts/consents.ts';
import { confirmSuspicionsOf } from '#db/queries/contacts/opt-out-suspicions.ts';
import {
  deleteErasedOptOut,
  insertErasedOptOut,
  optedOutAmong,
  OptOutRow,
} from '#db/queries/contacts/opt-outs.ts';
import { suppressedAmong } from '#db/queries/contacts/suppressions.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { endWaitingDraft } from '#db/commands/drafts/ai-drafts.ts';

const StoredRow = OptOutRow.extend({ isNew: z.boolean() });

/** Who opts a contact out or in, and what the audit log may name instead of the address. */
export interface Author extends Pick<NewAuditEntry, 'actor' | 'channel'> {
  /** The message or reply that made the contact opt out. */
  messageId?: string;
}

/** The contact itself, by a reply, a link or its carrier. */
export const byContact = (messageId: string): Author => ({
  actor: { type: 'system', id: null, name: 'The contact' },
  channel: 'system',
  messageId,
});

interface Change {
  source: OptOutSource;
  /** When the contact opted out or in. */
  at: Date;
  now: Date;
  author: Author;
  /** The reply in which the contact asked for it. */
  replyId?: string;
}

async function auditConsent(
  db: TenantDb,
  action: 'contact.opted_in' | 'contact.opted_out',
  address: string,
  { messageId, ...author }: Author,
  source: OptOutSource,
): Promise<void> {
  const id = await auditedContact(db, address, messageId);
  const changes = { source, ...(messageId !== undefined && { messageId }) };
  const target = { type: 'contact', id } as const;
  await insertAuditEntry({ db, workspaceId: db.workspaceId }, { ...author, action, target, changes });
}

/**
 * Opts an address out: stops its campaigns and fails its unsent messages, and those to groups that contain it. An existing opt-out does not change.
 * @param address the address, or the pseudonym of an erased contact.
 */
export async function optOut(db: TenantDb, address: string, change: Change): Promise<OptOutRow> {
  const { source, at, now, author } = change;
  if (isErased(address)) {
    if (await insertErasedOptOut(db, address, { source, at }))
      await auditConsent(db, 'contact.opted_out', address, author, source);
    return { address, source, createdAt: at };
  }
  const groups = await lockParticipant(db, address);
  // The assignment changes nothing, but makes `returning` include an existing row.
  const { isNew, ...row } = await db.one(sql.type(StoredRow)`
    insert into opt_outs (workspace_id, address, source, created_at)
    values (${db.workspaceId}, ${address}, ${source}, ${sql.timestamp(at)})
    on conflict (workspace_id, address) do update set source = opt_outs.source
    returning address, source, created_at, xmax = 0 is_new`);
  if (isNew) {
    await record(db, address, 'revoked', change);
    await countStepOptOut(db, { address, at, replyId: change.replyId });
  }
  await confirmSuspicionsOf(db, address, now);
  await endWaitingDraft(db, address, now);
  await stopContact(db, address, 'opt_out', now);
  await failWaiting(db, [address, ...groups], 'recipient_opted_out', now);
  return row;
}

/**
 * Locks everything that an opt-out of a contact may change: what `lockContact` locks, and the unsent messages to groups that contain it.
 * @returns the addresses of these groups.
 */
export async function lockParticipant(db: TenantDb, address: string): Promise<string[]> {
  const groups = await groupsOf(db, address);
  await lockContact(db, address, groups.length === 0 ? [] : await waitingFor(db, groups));
  return groups;
}

/** Adds an opt-out or opt-in to the audit log and to the ledger of consents. */
async function record(
  db: TenantDb,
  address: string,
  status: 'granted' | 'revoked',
  { source, at, now, author, replyId }: Change,
): Promise<void> {
  const action = status === 'granted' ? 'contact.opted_in' : 'contact.opted_out';
  await auditConsent(db, action, address, author, source);
  const evidence = source === 'reply' || source === 'api' ? null : source;
  const entry = { source: OPT_OUT_SOURCES[source], origin: source, evidence, replyId };
  await insertConsents(db, [{ address, channel: 'any', status, ...entry, at }], now);
  const head = { timestamp: at.toISOString(), workspaceId: db.workspaceId, address, source };
  await emitEvents(db, [{ event: action, ...head, ...(replyId !== undefined && { replyId }) }], now);
}

/** @returns false if the address was not opted out. */
export async function optIn(
  db: TenantDb,
  address: string,
  change: Change & { source: 'reply' | 'api' },
): Promise<boolean> {
  const { rowCount } = await db.query(sql.type(NoRows)`
    delete from opt_outs where workspace_id = ${db.workspaceId} and address = ${address}`);
  const wasOptedOut = (await deleteErasedOptOut(db, address)) || rowCount > 0;
  if (!wasOptedOut) return false;
  await record(db, address, 'granted', change);
  return true;
}

/** Whether a contact has asked for the opposite later, also in a group, or for nothing more from another address of theirs. */
export const isOutdated = (db: TenantDb, address: string, keyword: Keyword, at: Date): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from inbound_messages
    where workspace_id = ${db.workspaceId} and (address = ${address} or participant = ${address})
      and keyword is not null and keyword <> ${keyword} and coalesce(edited_at, received_at) > ${sql.timestamp(at)}
    union all
    select 1 from consents
    where workspace_id = ${db.workspaceId} and address = ${address} and ${keyword === 'start'}
      and status = 'revoked' and origin = 'reply' and at > ${sql.timestamp(at)}`);

/** Applies a contact's keyword. The latest by the carrier's clock wins, whatever the order of arrival. */
export async function applyKeyword(
  db: TenantDb,
  { id, address }: { id: string; address: string },
  keyword: Keyword,
  at: Date,
  now: Date,
): Promise<void> {
  if (await isOutdated(db, address, keyword, at)) return;
  const given = { source: 'reply', author: byContact(id), replyId: id } as const;
  if (keyword === 'stop') await optOut(db, address, { ...given, at, now });
  else await optIn(db, address, { ...given, at, now });
}

/**
 * Fails the unsent messages to those of the addresses that have opted out or that the agency suppresses, and stops their
 * sequences.
 */
export async function failMessagesToOptedOut(
  db: TenantDb,
  addresses: readonly string[],
  now: Date,
): Promise<void> {
  const optedOut = await optedOutAmong(db, addresses);
  const suppressed = await suppressedAmong(
    db,
    addresses.filter((address) => !optedOut.has(address)),
  );
  const excluded = [...optedOut, ...suppressed];
  if (excluded.length === 0) return;
  // All at once, because sequences are locked before messages.
  await lockSequences(db, await waitingFor(db, excluded));
  await failWaiting(db, [...optedOut], 'recipient_opted_out', now);
  await failWaiting(db, [...suppressed], 'recipient_suppressed', now);
}

const WaitingRow = MessageRow.pick({ id: true });

/** The ids of the unsent messages to these addresses. */
const waitingFor = (db: TenantDb, addresses: readonly string[]): Promise<readonly string[]> =>
  db.anyFirst(sql.type(WaitingRow)`
    select id from messages
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})
      and status in ('pending', 'scheduled')`);

/** Fails the unsent messages to these addresses and stops their sequences. Requires the locks of both. */
async function failWaiting(
  db: TenantDb,
  addresses: readonly string[],
  error: 'recipient_opted_out' | 'recipient_suppressed',
  now: Date,
): Promise<void> {
  if (addresses.length === 0) return;
  const failed = await db.any(sql.type(MessageRow)`
    update messages set status = 'failed', hold_reason = null, error_message = ${error}, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = any(${sql.array([...addresses], 'text')})
      and status in ('pending', 'scheduled')
    returning *`);
  await stopFailed(db, failed, now);
  const data = { error };
  await emitMessageEvents(
    db,
    failed.map((message) => ({ event: 'message.failed' as const, message, data })),
    now,
  );
}
