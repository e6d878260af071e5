import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { type FragmentSqlToken, sql } from 'slonik';
import { followCampaign } from '#db/commands/campaigns/campaign-steps.ts';
import { reassignMessages, lockToMove } from '#db/commands/lines/line-reassignment.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { findLine, isUsable } from '#db/queries/lines/lines.ts';
import { sendWindow } from '#db/queries/messages/message-window.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { cancelMessage, MessageRow } from '#db/queries/messages/messages.ts';
import type { Pools } from '#db/connection/pools.ts';
import { AddressRow, CountRow, IdRow } from '#db/connection/rows.ts';
import { requireRoomForMessages } from '#db/queries/accounts/limits.ts';
import { requireSending } from '#db/queries/accounts/writable.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { AuditAction, NewAuditEntry } from '#domain/accounts/audit.ts';
import { newId } from '#domain/base/ids.ts';
import { CARRYING_CHANNELS } from '#domain/base/channel.ts';
import type { StoredStatus } from '#domain/messages/message-status.ts';
import { acceptMessages, refusalOfReply } from '../messages/accept-messages.ts';

/** Which messages of a workspace. */
export interface MessageChoice {
  lineId: string | null;
  campaignId: string | null;
  /** Accepted at this time or later; null: at any time. */
  since: Date | null;
  /** null: all that the action can take. */
  status: StoredStatus | null;
}

/** Who acts, and why. */
type Author = Pick<NewAuditEntry, 'actor' | 'channel' | 'reason'>;

/** What an operator can do to many messages of a workspace. Each step is safe to repeat, and beside sends. */
export interface BulkAction {
  /** Those that it can take. */
  takes(db: TenantDb): FragmentSqlToken;
  /** Takes the next of them, in one transaction. @returns how many. */
  take(db: TenantDb, ids: readonly string[], author: Author, now: Date): Promise<number>;
}

/** Messages in one transaction. */
const BATCH = 100;

const waiting = sql.fragment`m.status in ('pending', 'scheduled')`;

const matching = (
  db: TenantDb,
  { takes }: BulkAction,
  { lineId, campaignId, since, status }: MessageChoice,
) =>
  sql.and([
    sql.fragment`m.workspace_id = ${db.workspaceId}`,
    takes(db),
    lineId !== null && sql.fragment`m.line_id = ${lineId}`,
    campaignId !== null && sql.fragment`m.campaign_id = ${campaignId}`,
    since !== null && sql.fragment`m.created_at >= ${sql.timestamp(since)}`,
    status !== null && sql.fragment`m.status = ${status}`,
  ]);

/** How many messages the action would take now. */
export const countBulk = (
  pools: Pools,
  workspaceId: string,
  action: BulkAction,
  choice: MessageChoice,
): Promise<number> =>
  withTenant(pools, workspaceId, (db) =>
    db.oneFirst(sql.type(CountRow)`
      select count(*)::int count from messages m where ${matching(db, action, choice)}`),
  );

/** Takes all of them, in batches. @returns how many were taken. */
export async function runBulk(
  pools: Pools,
  workspaceId: string,
  action: BulkAction,
  choice: MessageChoice,
  author: Author,
  clock: () => Date,
): Promise<number> {
  let taken = 0;
  for (let after = ''; ;) {
    const batch = await withTenant(pools, workspaceId, async (db) => {
      const ids = await db.anyFirst(sql.type(IdRow)`
        select m.id from messages m where ${matching(db, action, choice)} and m.id > ${after}
        order by m.id limit ${BATCH}`);
      return { last: ids.at(-1), count: ids.length === 0 ? 0 : await action.take(db, ids, author, clock()) };
    });
    if (batch.last === undefined) return taken;
    taken += batch.count;
    after = batch.last;
  }
}

const recordFor = (
  db: TenantDb,
  author: Author,
  action: AuditAction,
  id: string,
  changes: NewAuditEntry['changes'] = {},
): Promise<void> =>
  insertAuditEntry(
    { db, workspaceId: db.workspaceId },
    { ...author, action, target: { type: 'message', id }, changes },
  );

/** Cancels messages that wait. Those that are being sent by then stay. */
export const canceling: BulkAction = {
  takes: () => waiting,
  async take(db, ids, author, now) {
    await lockSequences(db, ids);
    let count = 0;
    for (const id of ids) {
      const { message, canceled } = await cancelMessage(db, id);
      if (!message || !canceled) continue;
      await emitCanceled(db, [message], now);
      await followCampaign(db, id, now);
      await recordFor(db, author, 'message.skipped', id);
      count += 1;
    }
    return count;
  },
};

/** The longest time after which a failed message is sent again: by then, its record in the audit log still prevents a second time. */
const RESENT_WITHIN = sql.fragment`interval '30 days'`;

/** Ids begin with a second of a process, whose clock differs from the database's. */
const APART = sql.fragment`interval '1 minute'`;

/** Failures that would only happen again. */
const FOR_GOOD = ['recipient_opted_out', 'recipient_suppressed', 'empty_message', 'message_too_long'];

/**
 * Sends failed messages again, as new messages. Never those that may have been sent: a carrier accepted them or a part of them, or nobody
 * knows. Each is sent again once.
 * @throws Refusal, LimitReached if the workspace may not send, or has no room.
 */
export const resending: BulkAction = {
  takes: (db) => sql.fragment`m.status = 'failed' and m.created_at > now() - ${RESENT_WITHIN}
    and m.error_message is distinct from 'outcome_unknown' and m.fallback_sms is null and m.sent_at is null
    and not coalesce(m.error_message = any(${sql.array(FOR_GOOD, 'text')}), false)
    and not m.address like 'erased:%'
    and not exists (select from attempts t where t.workspace_id = ${db.workspaceId} and t.message_id = m.id
      and (t.outcome is null or t.outcome in ('accepted', 'unknown') or (t.outcome = 'refused' and t.carrier_message_id is not null)))
    and not exists (select from audit_log a where a.workspace_id = ${db.workspaceId} and a.id >= first_id(m.created_at - ${APART})
      and a.action = 'message.resent' and a.target_id = m.id)`,
  async take(db, ids, author, now) {
    await requireSending(db);
    await requireRoomForMessages(db, ids.length);
    // Locked before they are read: of two commands, the second finds what the first has recorded.
    await lockSequences(db, ids);
    const rows = await db.any(sql.type(MessageRow)`
      select m.* from messages m
      where m.workspace_id = ${db.workspaceId} and m.id = any(${sql.array([...ids], 'text')}) and ${resending.takes(db)}
      order by m.id`);
    const copies = [];
    for (const row of rows) {
      // What it answers may have been taken back or deleted since: then it is sent as a message of its own.
      const replyToId = (await refusalOfReply(db, row)) ? null : row.replyToId;
      copies.push({ of: row.id, draft: { ...againAs(row, newId(now), now), replyToId } });
    }
    await acceptMessages(
      db,
      copies.map(({ draft }) => draft),
      now,
    );
    for (const { of, draft } of copies)
      await recordFor(db, author, 'message.resent', of, { messageId: draft.id });
    return copies.length;
  },
};

const againAs = (row: MessageRow, id: string, now: Date) => ({
  id,
  channel: row.channel,
  pinnedLineId: null,
  poolId: row.poolId,
  eligibleLineIds: null,
  stickinessPolicy: 'sticky' as const,
  address: row.address,
  recipientPhone: row.recipientPhone,
  recipientEmail: row.recipientEmail,
  recipientName: row.recipientName,
  leadId: row.leadId,
  body: row.body,
  subject: row.subject,
  attachmentUrls: row.attachmentUrls,
  attachmentNames: row.attachmentNames,
  voiceNote: row.voiceNote,
  effect: row.effect,
  cancelIfReply: row.cancelIfReply,
  scheduledAt: now.toISOString(),
  window: sendWindow(row).window ?? null,
  sendFallbackSmsOnFailed: row.sendFallbackSmsOnFailed,
  smsFallbackEnabled: row.smsFallbackEnabled,
  smsFallbackMessage: row.smsFallbackMessage,
  forceFallback: false,
  source: row.source,
  correlationId: row.correlationId,
  traceId: null,
  batchId: row.batchId,
  stepIndex: null,
  crm: row.crm,
  createdByUserId: row.createdByUserId,
});

/** Moves messages that wait to another line of the workspace, which can send them. */
export const movingTo = (lineId: string, channels: readonly string[]): BulkAction => ({
  takes: () => sql.fragment`${waiting} and m.line_id is distinct from ${lineId}
    and m.channel = any(${sql.array([...channels], 'text')})`,
  async take(db, ids, author) {
    const chunk = await db.any(sql.type(IdRow.extend(AddressRow.shape))`
      select id, address from messages
      where workspace_id = ${db.workspaceId} and id = any(${sql.array([...ids], 'text')})`);
    const still = sql.fragment`status in ('pending', 'scheduled') and line_id is distinct from ${lineId}`;
    const messages = await lockToMove(db, still, chunk, []);
    await reassignMessages(
      db,
      messages.map((message) => ({
        ...message,
        poolId: null,
        eligibleLineIds: [lineId],
        stickinessPolicy: 'round_robin' as const,
      })),
      { reason: 'by_operator' },
    );
    for (const { id, lineId: from } of messages)
      await recordFor(db, author, 'message.moved', id, { from, to: lineId });
    return messages.length;
  },
});

/** The types of messages that a line can send; null: it is not in the workspace, or sends nothing. */
export async function channelsOfLine(
  pools: Pools,
  workspaceId: string,
  lineId: string,
): Promise<string[] | null> {
  const line = await withTenant(pools, workspaceId, (db) => findLine(db, lineId));
  if (!line || !isUsable(line)) return null;
  return Object.entries(CARRYING_CHANNELS).flatMap(([channel, carrying]) =>
    carrying.includes(line.channel) ? [channel] : [],
  );
}
