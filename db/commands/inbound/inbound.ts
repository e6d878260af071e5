import { sql } from 'slonik';
import { z } from 'zod';
import type { FileLinks } from '#domain/attachment.ts';
import type { CarrierEvent, InboundReply } from '#domain/carrier-event.ts';
import { ANSWER_MS, ConversationStatus } from '#domain/conversation.ts';
import { isErased } from '#domain/erasure.ts';
import { newId } from '#domain/ids.ts';
import { type Keyword, optOutKeyword } from '#domain/opt-out.ts';
import { attachmentFetcherId, linePacerId } from '#workflows/messages/workflow-ids.ts';
import { reopenConversation } from '#db/commands/inbox/conversation-changes.ts';
import { draftForReply } from '#db/commands/drafts/ai-drafts.ts';
import { insertInboundAttachments } from '#db/queries/attachments.ts';
import {
  applyMessageEvent,
  carrierMessageOf,
  deferEvent,
  lockCarrierMessages,
  recordCarrierEvents,
  takeDeferredEvents,
} from './carrier-events.ts';
import { applyCall, applyRecording } from './calls.ts';
import { countStepReply } from '#db/commands/campaigns/campaign-responses.ts';
import { stopContact } from '#db/commands/campaigns/campaign-stops.ts';
import { contactAddress } from '#db/queries/contact-address.ts';
import { findLead, findLeadsByAddress } from '#db/queries/leads.ts';
import { countReply } from '#db/queries/line-signals.ts';
import { lockContact } from '#db/queries/message-locks.ts';
import { isOptedOut } from '#db/queries/opt-outs.ts';
import { markKnown } from '#db/queries/queue.ts';
import { applyKeyword } from '#db/commands/sending/opt-outs.ts';
import { notifyReply } from '#db/commands/outbox/notifications.ts';
import { IdRow, NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { DISPATCHED_AT, IS_DISPATCHED } from '#db/queries/messages.ts';
import { InboundRow } from '#db/queries/replies.ts';
import { suspectOptOut } from './opt-out-suspicions.ts';
import { emitReplyEvents } from './reply-events.ts';
import { wake } from '#db/wakes.ts';

type MoreAttachments = Extract<CarrierEvent, { kind: 'reply_attachments' }>;

export interface InboundContext {
  links: FileLinks;
  now: Date;
}

/** Stores an event of a carrier with its effects. Idempotent. */
export async function receiveCarrierEvent(
  db: TenantDb,
  lineId: string,
  event: CarrierEvent,
  context: InboundContext,
): Promise<void> {
  await lockCarrierMessages(db, [carrierMessageOf({ lineId, event })]);
  if ((await recordCarrierEvents(db, [{ lineId, event }])).length === 0) return;
  switch (event.kind) {
    case 'receipt':
    case 'read':
    case 'reaction':
      return applyMessageEvent(db, lineId, event, context.now);
    case 'reply':
      return receiveReply(db, lineId, event, context);
    case 'reply_attachments':
      return receiveAttachments(db, lineId, event, context.now);
    case 'call':
      return applyCall(db, lineId, event, context.now);
    case 'recording':
      return applyRecording(db, lineId, event, context.now);
  }
}

/**
 * Stores a reply with all its effects in one commit: lead, original message, opt-out, priority of queued messages,
 * draft and event. An automatic reply is stored without effects. Idempotent.
 */
async function receiveReply(
  db: TenantDb,
  lineId: string,
  event: InboundReply,
  { links, now }: InboundContext,
): Promise<void> {
  const address = await contactAddress(db, event.from);
  const { isFirst, conversation } = await recordInbound(db, lineId, address, event);
  const reply = await insertInbound(db, lineId, address, event, now);
  if (!reply) return;

  await insertInboundAttachments(db, reply.id, event, now);
  let files = event.attachments.length;
  const { carrierMessageId } = event;
  for (const { event: early } of await takeDeferredEvents(db, [{ lineId, carrierMessageId }])) {
    if (early.kind !== 'reply_attachments') continue;
    await insertInboundAttachments(db, reply.id, early, now);
    files += early.attachments.length;
  }
  // The event names the first files, so it is emitted once they are fetched.
  if (files > 0) wake(db, attachmentFetcherId(db.workspaceId), now, 'filesDue');
  await emitReplyEvents(db, { replyId: reply.id, links, now });
  if (!reply.autoReply) {
    await reopenConversation(db, address, conversation, now);
    await followReply(db, reply, event.at, now);
  }
  if (isFirst) {
    await lockContact(db, address);
    await markKnown(db, lineId, address);
  }
}

/** The effects of a reply that is not automatic. */
async function followReply(db: TenantDb, reply: InboundRow, at: Date, now: Date): Promise<void> {
  const { address, keyword } = reply;
  const { lineId, body: text } = reply;
  await draftForReply(db, reply, now);
  await lockContact(db, address);
  db.lineSignals.add(lineId, now, { received: 1 });
  if (keyword === 'stop') {
    if (!(await isOptedOut(db, address))) db.lineSignals.add(lineId, now, { optouts: 1 });
  } else {
    await countReply(db, { lineId, address, text, at: now });
    await prioritizeAnswers(db, address, at, now);
    await countStepReply(db, reply, at);
    await stopContact(db, address, 'reply', now);
  }
  if (keyword) await applyKeyword(db, reply, keyword, at, now);
  else await suspectOptOut(db, reply, now);
  await notifyReply(db, address, now);
}

const ReplyRow = IdRow.extend({ address: z.string() });

/** Records further files of a reply; files that arrive before their reply are kept until then. */
async function receiveAttachments(
  db: TenantDb,
  lineId: string,
  event: MoreAttachments,
  now: Date,
): Promise<void> {
  const reply = await db.maybeOne(sql.type(ReplyRow)`
    select id, address from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${event.carrierMessageId}`);
  if (!reply) return deferEvent(db, { lineId, event });
  if (isErased(reply.address)) return;
  await insertInboundAttachments(db, reply.id, event, now);
  wake(db, attachmentFetcherId(db.workspaceId), now, 'filesDue');
}

const ConversationRow = z.object({ status: ConversationStatus, snoozedUntil: z.date().nullable() });

/**
 * An address that wrote to a line, even automatically, does not count as a new conversation of that line.
 * @returns whether it is the first message that the line exchanges with the address, and the status of the conversation,
 * which is locked.
 */
async function recordInbound(
  db: TenantDb,
  lineId: string,
  address: string,
  { at, autoReply }: InboundReply,
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

async function insertInbound(
  db: TenantDb,
  lineId: string,
  address: string,
  event: InboundReply,
  now: Date,
): Promise<InboundRow | null> {
  const original = await findOriginal(db, lineId, address, event.replyTo);
  const leadId = await findLeadId(db, address, original?.leadId ?? null);
  const keyword: Keyword | null = event.autoReply ? null : optOutKeyword(event.text);
  return db.maybeOne(sql.type(InboundRow)`
    insert into inbound_messages (workspace_id, id, line_id, address, carrier_message_id, lead_id, campaign_id,
      original_message_id, body, auto_reply, keyword, received_at, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${lineId}, ${address}, ${event.carrierMessageId}, ${leadId},
      ${original?.campaignId ?? null}, ${original?.id ?? null}, ${event.text}, ${event.autoReply}, ${keyword},
      ${sql.timestamp(event.at)}, ${sql.timestamp(now)})
    on conflict (workspace_id, line_id, carrier_message_id) do nothing
    returning *`);
}

/** @param answered the lead of the message that the contact answers, who may have been deleted since. */
async function findLeadId(db: TenantDb, address: string, answered: string | null): Promise<string | null> {
  if (answered !== null && (await findLead(db, answered))) return answered;
  return (await findLeadsByAddress(db, [address])).get(address) ?? null;
}

const OriginalRow = z.object({
  id: z.string(),
  leadId: z.string().nullable(),
  campaignId: z.string().nullable(),
});

/** The message that the carrier refers to, otherwise the last one that the line sent to the contact. */
async function findOriginal(db: TenantDb, lineId: string, address: string, replyTo: string | undefined) {
  const named =
    replyTo === undefined
      ? null
      : await db.maybeOne(sql.type(OriginalRow)`
    select m.id, m.lead_id, m.campaign_id
    from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
    where a.workspace_id = ${db.workspaceId} and a.line_id = ${lineId} and a.carrier_message_id = ${replyTo}
      and not starts_with(m.address, 'erased:')`);
  return (
    named ??
    db.maybeOne(sql.type(OriginalRow)`
    select id, lead_id, campaign_id from messages
    where workspace_id = ${db.workspaceId} and address = ${address} and line_id = ${lineId}
      and ${IS_DISPATCHED}
    order by ${DISPATCHED_AT} desc, id desc limit 1`)
  );
}

const LineIdRow = z.object({ lineId: z.string().nullable() });

/** Queued messages to the contact become answers: they take priority, and do not count as new conversations. */
async function prioritizeAnswers(db: TenantDb, address: string, at: Date, now: Date): Promise<void> {
  const until = new Date(at.getTime() + ANSWER_MS);
  if (until <= now) return;
  const lineIds = await db.anyFirst(sql.type(LineIdRow)`
    update messages set answers_until = greatest(answers_until, ${sql.timestamp(until)}), is_new = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and address = ${address} and status in ('pending', 'scheduled')
    returning line_id`);
  for (const lineId of lineIds) if (lineId !== null) wake(db, linePacerId(lineId), now, 'messagesDue');
}
