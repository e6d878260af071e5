import { sql } from 'slonik';
import { z } from 'zod';
import type { FileLinks } from '#domain/messages/attachment.ts';
import type { InboundReply } from '#domain/lines/carrier-event.ts';
import { ANSWER_MS, ConversationStatus } from '#domain/inbox/conversation.ts';
import { attachmentFetcherId, linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { emitCanceled } from '#db/commands/messages/message-events.ts';
import { insertInboundAttachments } from '#db/queries/messages/attachments.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { takeDeferredEvents } from './carrier-events.ts';
import { applyGroupReaction } from './reactions.ts';
import { changeReply } from './reply-changes.ts';
import { emitReplyEvents } from './reply-events.ts';
import { wake } from '#db/wakes/wakes.ts';

const ConversationRow = z.object({ status: ConversationStatus, snoozedUntil: z.date().nullable() });

export interface InboundContext {
  links: FileLinks;
  now: Date;
}

/**
 * An address that wrote to a line, even automatically, does not count as a new conversation of that line.
 * @returns whether it is the first message that the line exchanges with the address, and the status of the conversation,
 * which is locked.
 */
export async function recordInbound(
  db: TenantDb,
  lineId: string,
  address: string,
  { at, autoReply }: Pick<InboundReply, 'at' | 'autoReply'>,
): Promise<{ isFirst: boolean; conversation: z.infer<typeof ConversationRow> }> {
  const conversation = await db.one(sql.type(ConversationRow)`
    insert into conversations (workspace_id, address, line_id, last_inbound_at)
    values (${db.workspaceId}, ${address}, ${lineId}, ${autoReply ? null : sql.timestamp(at)})
    on conflict (workspace_id, address) do update set
      line_id = coalesce(conversations.line_id, excluded.line_id),
      last_inbound_at = greatest(conversations.last_inbound_at, excluded.last_inbound_at)
    returning status, snoozed_until`);
  const { rowCount } = await db.query(sql.type(NoRows)`
    insert into line_contacts (workspace_id, line_id, address, since)
    values (${db.workspaceId}, ${lineId}, ${address}, ${sql.timestamp(at)})
    on conflict do nothing`);
  return { isFirst: rowCount > 0, conversation };
}

/** Stores the files of a new message, applies what was reported of it before, and emits its event. */
export async function announce(
  db: TenantDb,
  replyId: string,
  event: InboundReply,
  { lineId, links, now }: InboundContext & { lineId: string },
): Promise<void> {
  await insertInboundAttachments(db, replyId, event, now);
  let files = event.attachments.length;
  const { carrierMessageId } = event;
  for (const { event: early } of await takeDeferredEvents(db, [{ lineId, carrierMessageId }])) {
    if (early.kind === 'edited' || early.kind === 'unsent') await changeReply(db, lineId, early, now);
    if (early.kind === 'reaction') await applyGroupReaction(db, lineId, early, now);
    if (early.kind !== 'reply_attachments') continue;
    await insertInboundAttachments(db, replyId, early, now);
    files += early.attachments.length;
  }
  // The event names the first files, so it is emitted once they are fetched.
  if (files > 0) wake(db, attachmentFetcherId(db.workspaceId), now, 'filesDue');
  await emitReplyEvents(db, { replyId, links, now });
}

const QuotedRow = z.object({ id: z.string() });

/** The message, ours or the contact's, that a message names as the one that it answers; null: none that is known. */
export async function findQuoted(
  db: TenantDb,
  lineId: string,
  { replyTo }: Pick<InboundReply, 'replyTo'>,
): Promise<string | null> {
  if (replyTo === undefined) return null;
  const found = await db.maybeOne(sql.type(QuotedRow)`
    select message_id id from attempts
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${replyTo}
    union all
    select id from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${replyTo}
    limit 1`);
  return found?.id ?? null;
}

/** Cancels what was to be sent only if the contact does not write before. Requires `lockContact`. */
export async function cancelAnswered(db: TenantDb, address: string, now: Date): Promise<void> {
  const canceled = await db.any(sql.type(MessageRow)`
    update messages set status = 'canceled', hold_reason = 'reply', held = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = ${address} and cancel_if_reply
      and status in ('pending', 'scheduled')
    returning *`);
  await emitCanceled(db, canceled, now);
}

const LineIdRow = z.object({ lineId: z.string().nullable() });

/** Queued messages to the contact become answers: they take priority, and do not count as new conversations. */
export async function prioritizeAnswers(db: TenantDb, address: string, at: Date, now: Date): Promise<void> {
  const until = new Date(at.getTime() + ANSWER_MS);
  if (until <= now) return;
  const lineIds = await db.anyFirst(sql.type(LineIdRow)`
    update messages set answers_until = greatest(answers_until, ${sql.timestamp(until)}), is_new = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = ${address} and status in ('pending', 'scheduled')
    returning line_id`);
  for (const lineId of lineIds) if (lineId !== null) wake(db, linePacerId(lineId), now, 'messagesDue');
}
