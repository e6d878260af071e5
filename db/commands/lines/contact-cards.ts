import { sql } from 'slonik';
import { z } from 'zod';
import { isPhoneChannel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import { StoredContactCard } from '#domain/lines/contact-card.ts';
import { CARRIER_LINK_DAYS, type FileLinks, linkExpiry, linkName } from '#domain/messages/attachment.ts';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { isOptedOutOrSuppressed } from '#db/commands/messages/message-actions.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { findReply, type InboundRow } from '#db/queries/inbox/replies.ts';
import { findLine, isUsable, type LineRow } from '#db/queries/lines/lines.ts';
import { insertAction } from '#db/queries/messages/message-actions.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { wake } from '#db/wakes/wakes.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** The `source` of messages that share a card. */
const CARD_SOURCE = 'contact-card';

const CardRow = z.object({ contactCard: StoredContactCard.nullable() });

/** Locks the line, whose card is replaced. @returns null if there is no such line. */
export const lockContactCard = (
  db: TenantDb,
  lineId: string,
): Promise<{ contactCard: StoredContactCard | null } | null> =>
  db.maybeOne(sql.type(CardRow)`
    select contact_card from lines where workspace_id = ${db.workspaceId} and id = ${lineId} for no key update`);

/** Sets the card of a line. Requires `lockContactCard`. The file of the former one is kept as long as messages need it. */
export async function setContactCard(
  db: TenantDb,
  lineId: string,
  { card, former }: { card: StoredContactCard; former: StoredContactCard | null },
  now: Date,
): Promise<void> {
  await db.query(sql.type(NoRows)`
    update lines set contact_card = ${sql.jsonb({ ...card })}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${lineId}`);
  if (former)
    await db.query(sql.type(NoRows)`
      update attachments set kept_until = ${sql.timestamp(now)}
      where workspace_id = ${db.workspaceId} and id = ${former.fileId}`);
}

/** The file of the card of a line that leaves the workspace is kept as long as messages need it. */
export async function releaseContactCard(db: TenantDb, lineId: string, now: Date): Promise<void> {
  await db.query(sql.type(NoRows)`
    update attachments a set kept_until = ${sql.timestamp(now)} from lines l
    where l.workspace_id = ${db.workspaceId} and l.id = ${lineId}
      and a.workspace_id = ${db.workspaceId} and a.id = l.contact_card ->> 'fileId'`);
}

/** A contact who has written to a line, with the message. */
type Heard = Pick<InboundRow, 'id' | 'lineId' | 'address' | 'senderPhone' | 'leadId'>;

/** The card of a line that a contact does not have and may get; it counts as shared then. */
async function claimCard(
  db: TenantDb,
  { lineId, address }: Pick<Heard, 'lineId' | 'address'>,
  now: Date,
): Promise<{ line: LineRow; card: StoredContactCard } | null> {
  const line = await findLine(db, lineId);
  const card = line?.contactCard ?? null;
  if (!line || !card || line.shareContactCard === 'never' || !isPhoneChannel(line.channel)) return null;
  if (card.phone !== line.phone || !isUsable(line) || (await isOptedOutOrSuppressed(db, address)))
    return null;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update line_contacts set card_shared_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address} and card_shared_at is null`);
  return rowCount > 0 ? { line, card } : null;
}

/** A later card would surprise the contact. */
const EXPIRES_MS = 24 * 3_600_000;

/**
 * Shares the card of a line with a contact who has written to it, unless they have it: by its carrier, or else as a file
 * (`shareAsFile`). Requires `lockContact`.
 */
export async function shareContactCard(db: TenantDb, heard: Heard, now: Date): Promise<void> {
  const { lineId } = heard;
  const claimed = await claimCard(db, heard, now);
  if (!claimed) return;
  const { firstName, lastName, photoUrl } = claimed.card;
  const action = {
    kind: 'contact_card' as const,
    firstName,
    lastName,
    ...(photoUrl !== undefined && { photoUrl }),
  };
  const expiresAt = new Date(now.getTime() + EXPIRES_MS);
  await insertAction(db, {
    id: newId(now),
    lineId,
    messageId: heard.id,
    action,
    actorName: null,
    dueAt: now,
    expiresAt,
  });
  wake(db, linePacerId(lineId), now, 'messagesDue');
}

/** Sends the card as a vCard file, because the carrier of the line cannot share it. Their message exempts it from quiet hours. */
export async function shareAsFile(db: TenantDb, replyId: string, links: FileLinks, now: Date): Promise<void> {
  const heard = await findReply(db, replyId);
  if (!heard) return;
  await lockContact(db, heard.address);
  const claimed = await claimCard(db, heard, now);
  if (!claimed) return;
  const { line, card } = claimed;
  const { lineId, address, senderPhone, leadId } = heard;
  const { fileId: attachmentId, fileName } = card;
  const file = { workspaceId: db.workspaceId, attachmentId, name: linkName(fileName) };
  const url = links.sign(file, linkExpiry(now, now, CARRIER_LINK_DAYS));
  await acceptMessages(
    db,
    [
      {
        id: newId(now),
        channel: line.channel,
        pinnedLineId: lineId,
        poolId: null,
        eligibleLineIds: null,
        stickinessPolicy: 'sticky',
        address,
        recipientPhone: senderPhone ?? address,
        recipientEmail: null,
        recipientName: null,
        leadId,
        body: '',
        subject: null,
        attachmentUrls: [url],
        attachmentNames: [fileName],
        voiceNote: false,
        replyToId: null,
        effect: null,
        cancelIfReply: false,
        scheduledAt: now.toISOString(),
        window: null,
        sendFallbackSmsOnFailed: false,
        smsFallbackEnabled: false,
        smsFallbackMessage: null,
        forceFallback: false,
        source: CARD_SOURCE,
        correlationId: null,
        traceId: null,
        batchId: null,
        stepIndex: null,
        crm: {},
        createdByUserId: null,
      },
    ],
    now,
  );
}
