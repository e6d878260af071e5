import { sql } from 'slonik';
import { z } from 'zod';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { Channel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import { groupAddress, participantsAfter } from '#domain/inbox/group.ts';
import { fitsChannel } from '#domain/inbox/sender-kind.ts';
import { isAutomaticText } from '#domain/inbox/automatic-text.ts';
import type { InboundGroup, InboundReply } from '#domain/lines/carrier-event.ts';
import { notifyReply } from '#db/commands/events/notifications.ts';
import { senderAddress } from '#db/queries/contacts/contact-address.ts';
import {
  findGroupBeingCreated,
  findGroupOf,
  type GroupRow,
  insertGroup,
  updateGroup,
} from '#db/queries/inbox/groups.ts';
import { InboundRow } from '#db/queries/inbox/replies.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { lockParticipant } from '#db/commands/contacts/opt-outs.ts';
import { markKnown } from '#db/queries/sending/queue-changes.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { reopenConversation } from './conversation-changes.ts';
import {
  announce,
  cancelAnswered,
  findQuoted,
  type InboundContext,
  prioritizeAnswers,
  recordInbound,
} from './inbound-parts.ts';
import { optOutParticipant } from './participants.ts';
import { applyReaction } from './reactions.ts';
import { understand } from './sent-texts.ts';

/**
 * Stores what is written to a group, which is a conversation of its own. It answers no message of ours, stops no campaign and gets no
 * draft; STOP opts the participant out who wrote it. Idempotent.
 */
export async function receiveFromGroup(
  db: TenantDb,
  lineId: string,
  event: InboundReply,
  told: InboundGroup,
  { links, now }: InboundContext,
): Promise<void> {
  const { at, text } = event;
  const autoReply = event.autoReply || isAutomaticText(text);
  const line = await lineOf(db, lineId);
  const writer = await writerOf(db, line, event.from);
  // Contacts are locked before their groups.
  if (writer !== null) await lockParticipant(db, writer);
  const found = await findReportedGroup(db, lineId, line, { told, writer });
  const group = await storeReportedGroup(db, lineId, found, now);
  const address = groupAddress(group.id);
  const { reaction } = await understand(db, address, text);
  if (reaction && event.attachments.length === 0)
    return applyReaction(db, reaction.messageId, { ...event, kind: 'reaction', ...reaction }, now);
  const { isFirst, conversation } = await recordInbound(db, lineId, address, { at, autoReply });
  const isStop = !autoReply && optOutKeyword(text) === 'stop';
  const stored = await db.maybeOne(sql.type(InboundRow)`
    insert into inbound_messages (workspace_id, id, line_id, address, participant, carrier_message_id, reply_to_id, body, subject, sender_name,
      auto_reply, keyword, counted, received_at, created_at)
    values (${db.workspaceId}, ${newId(now)}, ${lineId}, ${address}, ${writer}, ${event.carrierMessageId}, ${await findQuoted(db, lineId, event)}, ${text},
      ${event.subject ?? null}, ${event.fromName?.trim() || (writer === null ? event.from : null)}, ${autoReply}, ${isStop ? 'stop' : null}, false,
      ${sql.timestamp(at)}, ${sql.timestamp(now)})
    on conflict (workspace_id, line_id, carrier_message_id) do nothing
    returning *`);
  if (!stored) return;
  await announce(db, stored.id, event, { lineId, links, now });
  if (isFirst) {
    await lockContact(db, address);
    await markKnown(db, lineId, address);
  }
  if (autoReply) return;
  await reopenConversation(db, address, conversation, now);
  await lockContact(db, address);
  await cancelAnswered(db, address, now);
  await prioritizeAnswers(db, address, at, now);
  if (isStop) await optOutParticipant(db, stored, at, now);
  await notifyReply(db, address, now);
}

const OwnRow = z.object({ channel: Channel, phone: z.string().nullable(), email: z.string().nullable() });
type Own = z.infer<typeof OwnRow>;

const lineOf = (db: TenantDb, lineId: string): Promise<Own> =>
  db.one(sql.type(OwnRow)`
    select channel, phone, email from lines where workspace_id = ${db.workspaceId} and id = ${lineId}`);

/** The address of who wrote; null: nobody who can be written to. */
async function writerOf(db: TenantDb, { channel }: Own, from: string): Promise<string | null> {
  const sender = await senderAddress(db, from);
  return fitsChannel(channel, sender) ? contactKey(sender) : null;
}

interface ToldGroup {
  told: InboundGroup;
  /** null: the owner of the line. */
  writer: string | null;
}

interface FoundGroup extends ToldGroup {
  /** As it is stored; null: it is new. */
  known: GroupRow | null;
  /** The addresses of the others, as far as the carrier tells. */
  named: readonly string[];
}

export async function findReportedGroup(
  db: TenantDb,
  lineId: string,
  { phone, email }: Pick<Own, 'phone' | 'email'>,
  { told, writer }: ToldGroup,
): Promise<FoundGroup> {
  const named: string[] = [];
  for (const participant of told.participants) {
    const sender = await senderAddress(db, participant);
    if (sender !== phone && sender !== email) named.push(contactKey(sender));
  }
  const known =
    (await findGroupOf(db, lineId, told.id)) ?? (await findGroupBeingCreated(db, lineId, { named, writer }));
  return { told, writer, known, named };
}

/** Stores what the carrier tells of a group. */
export async function storeReportedGroup(
  db: TenantDb,
  lineId: string,
  { told, writer, known, named }: FoundGroup,
  now: Date,
): Promise<GroupRow> {
  const store = known ? updateGroup : insertGroup;
  return store(db, {
    id: known?.id ?? newId(now),
    lineId,
    carrierGroupId: told.id,
    name: told.name?.trim() || (known?.name ?? null),
    participants: participantsAfter(known?.participants ?? [], named, writer),
  });
}
