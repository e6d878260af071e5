import { sql } from 'slonik';
import { z } from 'zod';
import type { ReplyChange } from '#domain/lines/carrier-event.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { crmEcho } from '#domain/events/base.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { shownReply } from '#domain/inbox/reply.ts';
import { discardDraftOf } from '#db/commands/drafts/ai-drafts.ts';
import { emitEvents, type NewEvent } from '#db/commands/events/events.ts';
import { applyKeyword, lockParticipant } from '#db/commands/contacts/opt-outs.ts';
import { isGroupAddress } from '#domain/inbox/group.ts';
import { findLead, presentLead } from '#db/queries/contacts/leads.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { findGroups, presentGroup } from '#db/queries/inbox/groups.ts';
import { InboundRow } from '#db/queries/inbox/replies.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { optOutParticipant } from './participants.ts';
import { suspectOptOut } from '../contacts/opt-out-suspicions.ts';
import { understand } from './sent-texts.ts';

/** Former texts of a reply: the first, and the last of a contact, or a server, who edits more often than any phone permits. */
const MAX_FORMER = 20;

/**
 * Applies an edit of a reply, or its end. The latest by the carrier's clock wins, whatever the order of arrival.
 * @returns false if the reply is not known (yet).
 */
export async function changeReply(
  db: TenantDb,
  lineId: string,
  change: ReplyChange,
  now: Date,
): Promise<boolean> {
  const reply = await db.maybeOne(sql.type(InboundRow)`
    select * from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${change.carrierMessageId}`);
  if (!reply) return false;
  if (isErased(reply.address)) return true;
  if (reply.participant !== null) await lockParticipant(db, reply.participant);
  await lockContact(db, reply.address);
  const isEdit = change.kind === 'edited';
  const text = isEdit ? change.text : '';
  const isOfGroup = isGroupAddress(reply.address);
  const hasEffects = !reply.autoReply && reply.warning === null;
  // Judged as a new text is: without what it quotes of ours.
  const { own } = await understand(db, reply.address, text);
  const asked = isEdit && hasEffects ? optOutKeyword(own) : null;
  // In a group, only STOP means the workspace.
  const keyword = isOfGroup && asked !== 'stop' ? null : asked;
  const at = sql.timestamp(change.at);
  const changed = await db.maybeOne(sql.type(InboundRow)`
    update inbound_messages set body = ${text}, keyword = ${keyword},
      former_texts = case when jsonb_array_length(former_texts) < ${MAX_FORMER} then former_texts else former_texts - 1 end || jsonb_build_array(jsonb_build_object('text', body, 'until', ${change.at.toISOString()}::text)),
      ${isEdit ? sql.fragment`edited_at = ${at}` : sql.fragment`unsent_at = ${at}, subject = null`}
    where workspace_id = ${db.workspaceId} and id = ${reply.id} and unsent_at is null
      and ${isEdit ? sql.fragment`body <> ${text} and coalesce(edited_at, '-infinity') < ${at}` : sql.fragment`true`}
    returning *`);
  if (!changed) return true;
  await emitChange(db, changed, change, now);
  if (!isEdit) await discardDraftOf(db, changed.id, now);
  else if (isOfGroup) {
    if (keyword === 'stop') await optOutParticipant(db, changed, change.at, now);
  } else if (hasEffects) await followEdit(db, changed, { own, at: change.at }, now);
  return true;
}

/** What the new text asks for. */
async function followEdit(
  db: TenantDb,
  reply: InboundRow,
  { own, at }: { own: string; at: Date },
  now: Date,
): Promise<void> {
  const { address, lineId, keyword } = reply;
  if (keyword === null) return suspectOptOut(db, { ...reply, body: own }, now);
  if (keyword === 'stop') {
    await discardDraftOf(db, reply.id, now);
    if (!(await isOptedOut(db, address))) db.lineSignals.add(lineId, now, { optouts: 1 });
  }
  await applyKeyword(db, reply, keyword, at, now);
  const answered = keyword === 'stop' ? await answeredAddress(db, reply) : null;
  if (answered === null) return;
  await lockContact(db, answered);
  await applyKeyword(db, { id: reply.id, address: answered }, keyword, at, now);
}

const AnsweredRow = z.object({ address: z.string() });

/** The address of the contact to which the message went that they answer, if they answer from another one. */
const answeredAddress = (db: TenantDb, { originalMessageId, address }: InboundRow): Promise<string | null> =>
  db.maybeOneFirst(sql.type(AnsweredRow)`
    select address from messages
    where workspace_id = ${db.workspaceId} and id = ${originalMessageId} and address <> ${address}
      and not starts_with(address, 'erased:')`);

async function emitChange(
  db: TenantDb,
  { id: messageId, address, participant, senderPhone, leadId, body, campaignId }: InboundRow,
  change: ReplyChange,
  now: Date,
): Promise<void> {
  const lead = leadId === null ? null : await findLead(db, leadId);
  const at = change.at.toISOString();
  const group = (await findGroups(db, [address])).get(address);
  const sender = group ? participant : address;
  const from =
    sender === null
      ? {}
      : sender.includes('@')
        ? { fromEmail: sender }
        : { fromPhone: senderPhone ?? sender };
  const about = { messageId, direction: 'in' as const, ...from };
  const head = {
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    messageId,
    data: {},
    ...(lead && { leadId: lead.id, lead: presentLead(lead) }),
    ...(group && { group: presentGroup(group) }),
    ...(campaignId !== null && { campaignId }),
    ...crmEcho({}),
  };
  const event: NewEvent =
    change.kind === 'edited'
      ? {
          event: 'message.edited',
          ...head,
          message: { ...about, message: shownReply(body), editedAtUtc: at },
        }
      : { event: 'message.unsent', ...head, message: { ...about, unsentAtUtc: at } };
  await emitEvents(db, [event], now);
}
