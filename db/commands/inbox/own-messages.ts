import { sql } from 'slonik';
import { z } from 'zod';
import type { OwnMessage } from '#domain/lines/carrier-event.ts';
import { sameAs } from '#domain/sending/carrier-listing.ts';
import { Channel } from '#domain/base/channel.ts';
import { realTime } from '#domain/base/clock.ts';
import { firstId, newId } from '#domain/base/ids.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { groupAddress } from '#domain/inbox/group.ts';
import { claimOpenDraft } from '#db/commands/drafts/draft-resolution.ts';
import { emitMessageEvents } from '#db/commands/messages/message-events.ts';
import { AttemptOutcome, finishAttempt, insertAttempts } from '#db/queries/sending/attempts.ts';
import { senderAddress } from '#db/queries/contacts/contact-address.ts';
import { findLeadsByAddress } from '#db/queries/contacts/leads.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { HAS_LINKS } from '#db/queries/messages/message-links.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { markKnown } from '#db/queries/sending/queue-changes.ts';
import { recordOwnMessage } from '#db/queries/sending/sends.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findReportedGroup, storeReportedGroup } from './group-messages.ts';
import { applyEarlyEvents, recordCarrierEvents, takeDeferredEvents } from './carrier-events.ts';

/** The `source` of messages that a person has sent from the phone or computer of a line. */
const DEVICE_SOURCE = 'device';

/** How far the carrier's time of a message may be from that of our send. A send with files can take 20 minutes. */
const BEFORE_MS = 10 * 60_000;
const AFTER_MS = 30 * 60_000;

const SendRow = z.object({
  outcome: AttemptOutcome.nullable(),
  carrierMessageId: z.string().nullable(),
  text: z.string(),
  isTemplate: z.boolean(),
  fileCount: z.int(),
});
type Send = z.infer<typeof SendRow>;

const SEND = sql.fragment`
  a.outcome, a.carrier_message_id, coalesce(m.sent_text, m.body, '') "text",
  coalesce(m.sent_text is null and (strpos(m.body, '{') > 0 or ${HAS_LINKS}), false) is_template,
  coalesce(cardinality(m.attachment_urls), 0) file_count`;

/**
 * Our sends that may have made a message, from any line, because lines can share an account: the one with its id, otherwise
 * those to the address around its time.
 * @param address null: a group to which nothing was sent.
 */
async function sendsAround(
  db: TenantDb,
  address: string | null,
  { carrierMessageId, at }: OwnMessage,
): Promise<readonly Send[]> {
  const message = sql.fragment`left join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id`;
  const same = await db.any(sql.type(SendRow)`
    select ${SEND} from lines l cross join lateral (
      select * from attempts
      where workspace_id = ${db.workspaceId} and line_id = l.id and carrier_message_id = ${carrierMessageId} offset 0
    ) a ${message}
    where l.workspace_id = ${db.workspaceId}`);
  if (same.length > 0 || address === null) return same;
  const [from, until] = [new Date(at.getTime() - AFTER_MS), new Date(at.getTime() + BEFORE_MS)];
  return db.any(sql.type(SendRow)`
    select ${SEND} from attempts a ${message}
    where a.workspace_id = ${db.workspaceId} and a.id >= ${firstId(new Date(Math.min(from.getTime(), realTime().getTime())))}
      and a.address = ${address}
      and (a.outcome is null or a.started_at between ${sql.timestamp(from)} and ${sql.timestamp(until)})`);
}

/** Whether it may be a message of ours whose send has not been settled yet. It is listed again later. */
const isOnItsWay = ({ carrierMessageId }: OwnMessage, sends: readonly Send[]): boolean =>
  sends.some(({ outcome }) => outcome === null) &&
  !sends.some((send) => send.carrierMessageId === carrierMessageId);

/** Whether a settled send has made the message. Only the first part of a message with files has an id that we know. */
function isOurs({ carrierMessageId, text, fileNames }: OwnMessage, sends: readonly Send[]): boolean {
  const isFile = text === '' && fileNames.length > 0;
  return sends.some((send) => {
    if (send.carrierMessageId === carrierMessageId) return true;
    if (isFile) return send.fileCount > 0;
    return send.outcome === 'unknown' && (send.isTemplate || sameAs(send.text)(text));
  });
}

const LineRow = z.object({
  channel: Channel,
  carrier: z.string(),
  phone: z.string().nullable(),
  email: z.string().nullable(),
});

/**
 * Stores a message that a person has sent from the phone or computer of the line: it is a part of the conversation, counts for the
 * line's limits, and answers the open draft. Idempotent.
 */
export async function receiveOwnMessage(
  db: TenantDb,
  lineId: string,
  event: OwnMessage,
  now: Date,
): Promise<void> {
  const { carrierMessageId, at, text, fileNames } = event;
  const line = await db.maybeOne(sql.type(LineRow)`
    select channel, carrier, phone, email from lines where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  if (!line) return;
  const told =
    event.group && (await findReportedGroup(db, lineId, line, { told: event.group, writer: null }));
  // Who is in a new group is known later.
  if (told && !told.known && told.told.participants.length === 0) return;
  const to = told ? '' : await senderAddress(db, event.to);
  const known = told ? told.known && groupAddress(told.known.id) : contactKey(to);
  // With others in it, a new group is none of ours.
  const sends = await sendsAround(db, known, event);
  if (isOnItsWay(event, sends)) return;
  if ((await recordCarrierEvents(db, [{ lineId, event }])).length === 0) return;
  const group = told && (await storeReportedGroup(db, lineId, told, now));
  const address = group ? groupAddress(group.id) : contactKey(to);
  if (isOurs(event, sends)) return;
  const isNew = await recordOwnMessage(db, lineId, address, at);
  await lockContact(db, address);
  const leadId = group ? null : ((await findLeadsByAddress(db, [address])).get(address) ?? null);
  const id = newId(now);
  const isEmail = !group && address.includes('@');
  const message = await db.one(sql.type(MessageRow)`
    insert into messages (workspace_id, id, channel, status, line_id, line_pinned, address, recipient_phone, recipient_email, lead_id,
      body, attachment_names, scheduled_at, source, carrier_message_id, sent_at, created_at, is_new)
    values (${db.workspaceId}, ${id}, ${line.channel}, 'sent', ${lineId}, true, ${address}, ${isEmail || group ? null : to},
      ${isEmail ? address : null}, ${leadId}, ${text}, ${sql.array([...fileNames], 'text')}, ${sql.timestamp(at)}, ${DEVICE_SOURCE},
      ${carrierMessageId}, ${sql.timestamp(at)}, ${sql.timestamp(now)}, ${isNew})
    returning *`);
  const attempt = {
    id: newId(now),
    messageId: id,
    lineId,
    kind: 'primary' as const,
    channel: line.channel,
    carrier: line.carrier,
    address,
    isNew,
    contactLastSentAt: null,
    startedAt: at,
    answerBy: at,
  };
  await insertAttempts(db, [attempt]);
  await finishAttempt(db, attempt.id, { outcome: 'accepted', carrierMessageId, now: at });
  db.lineSignals.add(lineId, now, { sent: 1, ...(isNew && { opened: 1 }) });
  if (isNew) await markKnown(db, lineId, address);
  await claimOpenDraft(db, { address, messageId: id, at }, now);
  await emitMessageEvents(db, [{ event: 'message.sent', message, data: {} }], now);
  await applyEarlyEvents(db, await takeDeferredEvents(db, [{ lineId, carrierMessageId }]), now);
}
