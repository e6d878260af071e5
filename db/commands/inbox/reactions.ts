import { sql } from 'slonik';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { crmEcho } from '#domain/events/base.ts';
import { StoredReaction, withReaction } from '#domain/messages/reaction.ts';
import { dialled } from '#domain/base/contact-key.ts';
import { contactAddress } from '#db/queries/contacts/contact-address.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { findLead, presentLead } from '#db/queries/contacts/leads.ts';
import { findGroups, presentGroup } from '#db/queries/inbox/groups.ts';
import { InboundRow } from '#db/queries/inbox/replies.ts';
import { storeReactions } from '#db/queries/messages/message-actions.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

type ReactionEvent = Extract<CarrierEvent, { kind: 'reaction' }>;

const ReactedRow = MessageRow.pick({
  id: true,
  address: true,
  channel: true,
  recipientPhone: true,
  leadId: true,
  campaignId: true,
  crm: true,
}).extend({
  reactions: z.array(StoredReaction),
  campaignName: z.string().nullable(),
});

/** Stores a reaction with its message. A reaction is not a reply and has no other effects. */
export async function applyReaction(
  db: TenantDb,
  messageId: string,
  event: ReactionEvent,
  now: Date,
): Promise<void> {
  const message = await db.maybeOne(sql.type(ReactedRow)`
    select m.id, m.address, m.channel, m.recipient_phone, m.lead_id, m.campaign_id, m.crm, m.reactions, c.name campaign_name
    from messages m left join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
    where m.workspace_id = ${db.workspaceId} and m.id = ${messageId} and not starts_with(m.address, 'erased:')
    for no key update of m`);
  if (!message) return;
  const { part, reaction, emoji, removed } = event;
  const from = dialled(await contactAddress(db, event.from), message.recipientPhone);
  const at = event.at.toISOString();
  const reactions = withReaction(message.reactions, ofContact(event, from), message.channel === 'email');
  if (!reactions) return;
  await db.query(sql.type(NoRows)`
    update messages set reactions = ${sql.jsonb(reactions)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId}`);

  await emitReaction(db, message, { part, reaction, emoji, removed, from, at }, now);
}

const ofContact = ({ part, reaction, emoji, removed, at }: ReactionEvent, from: string): StoredReaction => ({
  by: 'contact',
  status: 'sent',
  ...(part !== undefined && { part }),
  reaction,
  ...(emoji !== undefined && { emoji }),
  from,
  at: at.toISOString(),
  removed,
});

/** A message of a participant to which another one reacts. */
const ParticipantsRow = InboundRow.pick({ id: true, address: true }).extend({
  reactions: z.array(StoredReaction),
});

/**
 * Stores the reaction of a participant of a group to the message of another one.
 * @returns false if there is no such message (yet).
 */
export async function applyGroupReaction(
  db: TenantDb,
  lineId: string,
  event: ReactionEvent,
  now: Date,
): Promise<boolean> {
  const message = await db.maybeOne(sql.type(ParticipantsRow)`
    select id, address, reactions from inbound_messages
    where workspace_id = ${db.workspaceId} and line_id = ${lineId} and carrier_message_id = ${event.carrierMessageId}
      and starts_with(address, 'group:')
    for no key update`);
  if (!message) return false;
  const { part, reaction, emoji, removed } = event;
  const from = await contactAddress(db, event.from);
  const at = event.at.toISOString();
  const reactions = withReaction(message.reactions, ofContact(event, from), false);
  if (!reactions) return true;
  await storeReactions(db, { id: message.id, direction: 'in' }, reactions);
  const about = { ...message, leadId: null, campaignId: null, campaignName: null, crm: {} };
  await emitReaction(db, about, { part, reaction, emoji, removed, from, at }, now);
  return true;
}

async function emitReaction(
  db: TenantDb,
  message: Pick<
    z.infer<typeof ReactedRow>,
    'id' | 'address' | 'leadId' | 'campaignId' | 'campaignName' | 'crm'
  >,
  {
    part,
    reaction,
    emoji,
    removed,
    from,
    at,
  }: Pick<ReactionEvent, 'part' | 'reaction' | 'emoji' | 'removed'> & { from: string; at: string },
  now: Date,
): Promise<void> {
  const { id: messageId } = message;
  const lead = message.leadId === null ? null : await findLead(db, message.leadId);
  const group = (await findGroups(db, [message.address])).get(message.address);
  await emitEvents(
    db,
    [
      {
        event: 'message.reaction',
        timestamp: now.toISOString(),
        workspaceId: db.workspaceId,
        messageId,
        message: {
          messageId,
          direction: 'in',
          ...(part !== undefined && { part }),
          reaction,
          ...(emoji !== undefined && { emoji }),
          removed,
          reactedAtUtc: at,
          ...(from.includes('@') ? { fromEmail: from } : { fromPhone: from }),
        },
        data: {},
        ...(lead && { leadId: lead.id, lead: presentLead(lead) }),
        ...(group && { group: presentGroup(group) }),
        ...(message.campaignId !== null && { campaignId: message.campaignId }),
        ...(message.campaignName !== null && { campaignName: message.campaignName }),
        ...crmEcho(message.crm),
      },
    ],
    now,
  );
}
