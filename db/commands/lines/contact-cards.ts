import { sql } from 'slonik';
import { z } from 'zod';
import { isPhoneChannel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import { StoredContactCard } from '#domain/lines/contact-card.ts';
import { CARRIER_LINK_DAYS, type FileLinks, linkExpiry, linkName } from '#domain/messages/attachment.ts';
import { acceptMessages } from '#db/commands/messages/accept-messages.ts';
import { isUnwelcomeAt } from '#db/commands/messages/message-actions.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { InboundRow } from '#db/queries/inbox/replies.ts';
import { findLine, isUsable } from '#db/queries/lines/lines.ts';

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

/**
 * Sends the card of a line to a contact who has written to it, unless they have it. Their message exempts it from quiet hours. Requires
 * `lockContact`.
 */
export async function shareContactCard(
  db: TenantDb,
  { lineId, address, senderPhone, leadId }: InboundRow,
  links: FileLinks,
  now: Date,
): Promise<void> {
  const line = await findLine(db, lineId);
  const card = line?.contactCard ?? null;
  if (!line || !card || line.shareContactCard === 'never' || !isPhoneChannel(line.channel)) return;
  if (card.phone !== line.phone || !isUsable(line) || (await isUnwelcomeAt(db, address))) return;
  const { rowCount } = await db.query(sql.type(NoRows)`
    update line_contacts set card_shared_at = ${sql.timestamp(now)}
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and address = ${address} and card_shared_at is null`);
  if (rowCount === 0) return;
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
