import { sql } from 'slonik';
import { outgoingText } from '#domain/messages/outgoing-text.ts';
import type { CrmIds } from '#domain/messages/message.ts';
import type { MessageAction } from '#domain/messages/message-action.ts';
import { crmEcho } from '#domain/events/base.ts';
import { isErased } from '#domain/contacts/erasure.ts';
import { PERSONALIZATION } from '#db/commands/campaigns/personalizations.ts';
import { emitEvents, type NewEvent } from '#db/commands/events/events.ts';
import { campaignNames } from '#db/queries/campaigns/campaigns.ts';
import { findGroups, presentGroup } from '#db/queries/inbox/groups.ts';
import { findLead, presentLead } from '#db/queries/contacts/leads.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

/**
 * Replaces the text of a message that has not been sent yet, also where its fallback SMS has the same. It keeps its place.
 * @returns the message; null if it is no longer waiting, or its text is not written yet.
 */
export async function rewriteMessage(db: TenantDb, id: string, text: string): Promise<MessageRow | null> {
  return db.maybeOne(sql.type(MessageRow)`
    update messages set body = ${text}, updated_at = now(),
      sms_fallback_message = case when sms_fallback_message = body then ${text} else sms_fallback_message end
    where workspace_id = ${db.workspaceId} and id = ${id} and status in ('pending', 'scheduled')
      and not (held and hold_reason is not distinct from ${PERSONALIZATION})
    returning *`);
}

/** The text as the contact of a message would get it now. */
export async function renderFor(db: TenantDb, message: MessageRow, text: string) {
  const lead = message.leadId === null ? null : await findLead(db, message.leadId);
  return outgoingText(text, lead && presentLead(lead), message.attachmentUrls.length);
}

/** Tells that a message of ours has another text. */
export async function emitEdited(db: TenantDb, of: Changed, text: string, now: Date): Promise<void> {
  await emitChange(db, of, now, (about) => ({
    event: 'message.edited',
    message: { ...about, message: text, editedAtUtc: now.toISOString() },
  }));
}

/** Tells that a message of ours was taken back. */
export async function emitUnsent(db: TenantDb, of: Changed, now: Date): Promise<void> {
  await emitChange(db, of, now, (about) => ({
    event: 'message.unsent',
    message: { ...about, unsentAtUtc: now.toISOString() },
  }));
}

/** Tells that we have reacted to a message. */
export async function emitReacted(
  db: TenantDb,
  of: Changed,
  { reaction, emoji, removed }: Extract<MessageAction, { kind: 'reaction' }>,
  now: Date,
): Promise<void> {
  await emitChange(db, of, now, (about) => ({
    event: 'message.reaction',
    message: {
      ...about,
      reaction,
      ...(emoji !== undefined && { emoji }),
      removed,
      reactedAtUtc: now.toISOString(),
    },
  }));
}

/** The message that was changed, or reacted to. */
interface Changed {
  id: string;
  address: string;
  /** The contact's number as it was written. */
  phone: string | null;
  leadId: string | null;
  campaignId: string | null;
  crm: CrmIds;
}
interface About {
  messageId: string;
  direction: 'out';
  toPhone?: string;
  toEmail?: string;
}
type ChangeOf<Name extends 'message.edited' | 'message.unsent' | 'message.reaction'> = Pick<
  Extract<NewEvent, { event: Name }>,
  'event' | 'message'
>;
type Change = ChangeOf<'message.edited'> | ChangeOf<'message.unsent'> | ChangeOf<'message.reaction'>;

async function emitChange(
  db: TenantDb,
  { id: messageId, address, phone, leadId, campaignId, crm }: Changed,
  now: Date,
  changeOf: (about: About) => Change,
): Promise<void> {
  if (isErased(address)) return;
  const lead = leadId === null ? null : await findLead(db, leadId);
  const campaign = campaignId === null ? undefined : (await campaignNames(db, [campaignId])).get(campaignId);
  const group = (await findGroups(db, [address])).get(address);
  const to = group ? {} : address.includes('@') ? { toEmail: address } : { toPhone: phone ?? address };
  const head = {
    timestamp: now.toISOString(),
    workspaceId: db.workspaceId,
    messageId,
    data: {},
    ...(leadId !== null && { leadId }),
    ...(lead && { lead: presentLead(lead) }),
    ...(group && { group: presentGroup(group) }),
    ...(campaign && { campaignId: campaign.id, campaignName: campaign.name }),
    ...crmEcho(crm),
  };
  await emitEvents(db, [{ ...head, ...changeOf({ messageId, direction: 'out', ...to }) }], now);
}
