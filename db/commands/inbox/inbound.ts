import { sql } from 'slonik';
import { z } from 'zod';
import type { CarrierEvent, InboundReply } from '#domain/lines/carrier-event.ts';
import { isAutomaticText } from '#domain/inbox/automatic-text.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { newId } from '#domain/base/ids.ts';
import { optOutSuspicion } from '#domain/contacts/doubtful-opt-out.ts';
import { withoutOptInCodes } from '#domain/contacts/opt-in-link.ts';
import { type Keyword, optOutKeyword } from '#domain/contacts/opt-out.ts';
import { ownSubject, writtenKeyword, writtenText } from '#domain/inbox/inbound-subject.ts';
import { attachmentFetcherId, optOutJudgeId } from '#workflows/protocol/workflow-ids.ts';
import { reopenConversation } from './conversation-changes.ts';
import { shareContactCard } from '#db/commands/lines/contact-cards.ts';
import { copilotDebounce } from '#db/queries/drafts/knowledge-base.ts';
import { draftForReply } from '#db/commands/drafts/ai-drafts.ts';
import { insertInboundAttachments } from '#db/queries/messages/attachments.ts';
import {
  applyMessageEvent,
  carrierMessageOf,
  deferEvent,
  lockCarrierMessages,
  recordCarrierEvents,
} from './carrier-events.ts';
import { applyCall, applyRecording } from './calls.ts';
import { applyReaction } from './reactions.ts';
import { understand } from './sent-texts.ts';
import { countStepReply } from '#db/commands/campaigns/campaign-responses.ts';
import { pauseContact } from '#db/commands/campaigns/lead-pauses.ts';
import { isOutOfOffice, returnsAt, withoutDay } from '#domain/campaigns/out-of-office.ts';
import { workspaceCountry, workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { followContactChanges } from '#db/commands/campaigns/lead-changes.ts';
import { stopContact } from '#db/commands/campaigns/campaign-stops.ts';
import { countReply } from '#db/queries/lines/line-signals.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { isOptedOut } from '#db/queries/contacts/opt-outs.ts';
import { markKnown } from '#db/queries/sending/queue-changes.ts';
import { optInLinkIn, receiveCodes } from '#db/commands/contacts/opt-in.ts';
import { applyKeyword } from '#db/commands/contacts/opt-outs.ts';
import { notifyReply } from '#db/commands/events/notifications.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { OptInLinkRow } from '#db/queries/contacts/opt-in-links.ts';
import { InboundRow } from '#db/queries/inbox/replies.ts';
import { suspectOptOut } from '../contacts/opt-out-suspicions.ts';
import { receiveFromGroup } from './group-messages.ts';
import {
  announce,
  cancelAnswered,
  findQuoted,
  type InboundContext,
  prioritizeAnswers,
  recordInbound,
} from './inbound-parts.ts';
import { receiveOwnMessage } from './own-messages.ts';
import { changeReply } from './reply-changes.ts';
import { triggerRules } from './rule-triggers.ts';
import { wake } from '#db/wakes/wakes.ts';
import {
  findLeadId,
  findOriginal,
  findSender,
  type Original,
  type Sender,
  warningAbout,
  wasWrittenTo,
} from './inbound-origin.ts';

type MoreAttachments = Extract<CarrierEvent, { kind: 'reply_attachments' }>;

/** Stores an event of a carrier with its effects. Idempotent. */
export async function receiveCarrierEvent(
  db: TenantDb,
  lineId: string,
  event: CarrierEvent,
  context: InboundContext,
): Promise<void> {
  await lockCarrierMessages(db, [carrierMessageOf({ lineId, event })]);
  if (event.kind === 'own_message') return receiveOwnMessage(db, lineId, event, context.now);
  if ((await recordCarrierEvents(db, [{ lineId, event }])).length === 0) return;
  switch (event.kind) {
    case 'receipt':
    case 'read':
    case 'reaction':
      return applyMessageEvent(db, lineId, event, context.now);
    case 'reply':
      return event.group
        ? receiveFromGroup(db, lineId, event, event.group, context)
        : receiveReply(db, lineId, event, context);
    case 'reply_attachments':
      return receiveAttachments(db, lineId, event, context.now);
    case 'edited':
    case 'unsent':
      if (!(await changeReply(db, lineId, event, context.now))) await deferEvent(db, { lineId, event });
      return;
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
  const found = await findSender(db, lineId, event);
  const { address } = found;
  const { reaction, own } = await understand(db, address, event.text);
  if (reaction && !found.isEmail && found.warning === null && event.attachments.length === 0)
    return applyReaction(db, reaction.messageId, { ...event, kind: 'reaction', ...reaction }, now);
  const original =
    found.warning === 'invalid_sender' ? null : await findOriginal(db, lineId, address, event.replyTo);
  const sender = { ...found, warning: found.warning ?? (await warningAbout(db, found, original)) };
  const autoReply = event.autoReply || sender.isOurs || (!sender.isEmail && isAutomaticText(event.text));
  const { isFirst, conversation } = await recordInbound(db, lineId, address, { at: event.at, autoReply });
  // Anybody can read the code of a link, and send an email in the name of a contact.
  const named = sender.isEmail ? null : await optInLinkIn(db, `${event.subject ?? ''}\n${own}`);
  // The message that a link opens has its code, also if the contact writes STOP in it.
  const beside = named ? withoutOptInCodes(own) : own;
  const link = named && optOutSuspicion(beside) === 'clear' ? null : named;
  const judged = optOutKeyword(beside) === 'stop' ? beside : own;
  const reply = await insertInbound(db, lineId, { event, own: judged, sender, original, autoReply }, now);
  if (!reply) return;

  await announce(db, reply.id, event, { lineId, links, now });
  const answered = original?.isNamed && original.address !== address ? original.address : null;
  if (!reply.autoReply) await reopenConversation(db, address, conversation, now);
  if (reply.warning !== null) {
    if (!reply.autoReply) await notifyReply(db, address, now);
  } else if (!reply.autoReply) {
    const subject = ownSubject(event.subject, original?.subject ?? null);
    const opens = conversation.status !== 'open';
    const { isEmail } = sender;
    const received = { at: event.at, answered, subject, own, link, opens, isEmail };
    await followReply(db, reply, received, now);
  } else if (reply.keyword !== null) {
    await lockContact(db, address);
    await applyKeywords(db, reply, reply.keyword, { at: event.at, answered }, now);
  }
  if (reply.autoReply && !sender.isOurs && reply.warning === null && isOutOfOffice(absence(event)))
    await pauseWhileAway(db, reply, absence(event), now);
  if (isFirst) {
    await lockContact(db, address);
    await markKnown(db, lineId, address);
  }
}

/** What an automatic reply may say about an absence. */
const absence = ({ subject, text }: InboundReply): string => `${subject ?? ''}\n${text}`;

/** Campaigns write to a contact who is away when they are back. Where no rule finds when, the model is asked if the copilot is on. */
async function pauseWhileAway(
  db: TenantDb,
  { id, address }: Pick<InboundRow, 'id' | 'address'>,
  text: string,
  now: Date,
): Promise<void> {
  const [timezone, country] = [await workspaceTimezone(db), await workspaceCountry(db)];
  const named = returnsAt(text, { timezone, country, now });
  const isAsked = named === null && (await copilotDebounce(db)) !== null;
  const until = named ?? withoutDay({ timezone, now });
  await lockContact(db, address);
  const pausing = { reason: 'out_of_office', until, returnReplyId: isAsked ? id : null } as const;
  const isPaused = await pauseContact(db, address, pausing, now);
  if (isPaused && isAsked) wake(db, optOutJudgeId(db.workspaceId), now, 'repliesDoubted');
}

interface Answering {
  at: Date;
  /** The address of the message that was answered, if it went to another address of the contact. */
  answered: string | null;
}

/** The effects of a reply that is not automatic. */
async function followReply(
  db: TenantDb,
  reply: InboundRow,
  {
    at,
    answered,
    subject,
    own,
    link,
    opens,
    isEmail,
  }: Answering & {
    subject: string;
    own: string;
    /** Of which the message has the code. */
    link: OptInLinkRow | null;
    /** The conversation was closed or snoozed. */
    opens: boolean;
    isEmail: boolean;
  },
  now: Date,
): Promise<void> {
  const { address, keyword } = reply;
  const { lineId } = reply;
  const text = `${subject}\n${own}`.trim();
  await draftForReply(db, reply, now);
  await lockContact(db, address);
  if (keyword !== 'stop' && !isEmail) await receiveCodes(db, reply, { text, link, at }, now);
  if (reply.counted) db.lineSignals.add(lineId, now, { received: 1 });
  await cancelAnswered(db, address, now);
  if (keyword === 'stop') {
    if (!(await isOptedOut(db, address))) db.lineSignals.add(lineId, now, { optouts: 1 });
  } else {
    if (reply.counted) await countReply(db, { lineId, address, text, at: now });
    await prioritizeAnswers(db, address, at, now);
    await countStepReply(db, reply, at);
    await stopContact(db, address, 'reply', now);
    await pauseContact(db, address, { reason: 'reply', until: null }, now);
    await followContactChanges(db, address, now);
    if (answered !== null) {
      await lockContact(db, answered);
      await stopContact(db, answered, 'reply', now);
      await pauseContact(db, answered, { reason: 'reply', until: null }, now);
    }
  }
  if (keyword) await applyKeywords(db, reply, keyword, { at, answered }, now);
  else await suspectOptOut(db, { ...reply, body: text }, now);
  if (keyword !== 'stop') {
    await shareContactCard(db, reply, now);
    const about = { address, lineId, replyId: reply.id };
    const isTrue = async (): Promise<boolean> => opens || !(await hasWrittenBefore(db, reply));
    await triggerRules(
      db,
      [
        { on: 'conversation_opened', ...about, isTrue },
        { on: 'reply', ...about },
        { on: 'no_answer_for', ...about },
      ],
      now,
    );
  }
  await notifyReply(db, address, now);
}

/** Whether the contact has written before, and not automatically. */
const hasWrittenBefore = (db: TenantDb, { id, address }: InboundRow): Promise<boolean> =>
  db.exists(sql.type(NoRows)`
    select 1 from inbound_messages
    where workspace_id = ${db.workspaceId} and address = ${address} and id <> ${id} and not auto_reply and warning is null`);

/** A contact who opts out from one address and answers a message to another means both. */
async function applyKeywords(
  db: TenantDb,
  reply: InboundRow,
  keyword: Keyword,
  { at, answered }: Answering,
  now: Date,
): Promise<void> {
  await applyKeyword(db, reply, keyword, at, now);
  if (keyword === 'stop' && answered !== null)
    await applyKeyword(db, { id: reply.id, address: answered }, keyword, at, now);
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

/** The number as the workspace wrote to it, otherwise as the contact wrote from it; null: as `address`. */
function senderPhone({ address, phone }: Sender, original: Original | null): string | null {
  if (phone === null) return null;
  const written = (original?.address === address ? original.recipientPhone : null) ?? phone;
  return written === address ? null : written;
}

interface Inbound {
  event: InboundReply;
  /** The part of the text by which it is judged. */
  own: string;
  sender: Sender;
  original: Original | null;
  autoReply: boolean;
}

async function insertInbound(
  db: TenantDb,
  lineId: string,
  inbound: Inbound,
  now: Date,
): Promise<InboundRow | null> {
  const { carrierMessageId, fingerprint } = inbound.event;
  const stored = await insertInboundAs(db, lineId, carrierMessageId, inbound, now);
  if (stored || fingerprint === undefined) return stored;
  const isSame = await db.exists(sql.type(NoRows)`
    select 1 from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${carrierMessageId}
      and (fingerprint is null or fingerprint = ${fingerprint} or starts_with(address, 'erased:'))`);
  return isSame ? null : insertInboundAs(db, lineId, `${carrierMessageId} ${fingerprint}`, inbound, now);
}

/** @returns null if a message with this id of the carrier is stored. */
async function insertInboundAs(
  db: TenantDb,
  lineId: string,
  carrierMessageId: string,
  { event, own, sender, original, autoReply }: Inbound,
  now: Date,
): Promise<InboundRow | null> {
  const { address, warning, isEmail } = sender;
  const leadId = await findLeadId(db, address, original?.leadId ?? null);
  const ours = original?.subject ?? null;
  const keyword = warning === null ? writtenKeyword({ ...event, text: own }, ours) : null;
  // Anybody can send an email in the name of a contact, but only the contact knows the id of ours.
  const isStarted = keyword === 'start' && !autoReply && (!isEmail || original?.isNamed === true);
  const counted =
    warning === null &&
    (!isEmail || leadId !== null || original !== null || (await wasWrittenTo(db, address)));
  // Every answer to an email names it.
  const quoted = isEmail ? null : await findQuoted(db, lineId, event);
  return db.maybeOne(sql.type(InboundRow)`
    insert into inbound_messages (workspace_id, id, line_id, address, sender_phone, carrier_message_id, lead_id, campaign_id,
      original_message_id, reply_to_id, body, whole_text, subject, sender_name, auto_reply, keyword, authentication, warning, fingerprint,
      email_references, counted, received_at, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${lineId}, ${address}, ${senderPhone(sender, original)}, ${carrierMessageId},
      ${leadId}, ${original?.campaignId ?? null}, ${original?.id ?? null}, ${quoted}, ${writtenText(event, ours)},
      ${event.wholeText ?? null}, ${event.subject ?? null},
      ${senderNameOf(event, sender)}, ${autoReply}, ${keyword === 'stop' || isStarted ? keyword : null},
      ${event.authentication ? sql.jsonb(event.authentication) : null}, ${warning}, ${event.fingerprint ?? null},
      ${event.references ? sql.array(event.references, 'text') : null}, ${counted},
      ${sql.timestamp(event.at)}, ${sql.timestamp(now)})
    on conflict (workspace_id, line_id, carrier_message_id) do nothing
    returning *`);
}

function senderNameOf(
  { from, fromName, answersTo, answersToName }: InboundReply,
  { address, warning }: Sender,
): string | null {
  const isAnswered = answersTo !== undefined && normalizeEmail(answersTo) === address;
  const name = ((isAnswered ? answersToName : undefined) ?? fromName ?? '').trim();
  return (warning === 'invalid_sender' ? `${name} <${from}>`.trim() : name) || null;
}
