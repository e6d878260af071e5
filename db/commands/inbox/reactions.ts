import { sql } from 'slonik';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { crmEcho } from '#domain/events/base.ts';
import { StoredReaction, withReaction } from '#domain/messages/reaction.ts';
import { dialled } from '#domain/base/contact-key.ts';
import { contactAddress } from '#db/queries/contacts/contact-address.ts';
import { emitEvents } from '#db/commands/events/events.ts';
import { findLead, presentLead } from '#db/queries/contacts/leads.ts';
import { MessageRow } from '#db/queries/messages/messages.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

type ReactionEvent = Extract<CarrierEvent, { kind: 'reaction' }>;

const ReactedRow = MessageRow.pick({
  id: true,
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
    select m.id, m.recipient_phone, m.lead_id, m.campaign_id, m.crm, m.reactions, c.name campaign_name
    from messages m left join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id
    where m.workspace_id = ${db.workspaceId} and m.id = ${messageId} and not starts_with(m.address, 'erased:')
    for no key update of m`);
  if (!message) return;
  const { reaction, emoji, removed } = event;
  const from = dialled(await contactAddress(db, event.from), message.recipientPhone);
  const at = event.at.toISOString();
  const reactions = withReaction(message.reactions, {
    by: 'contact',
    status: 'sent',
    reaction,
    ...(emoji !== undefined && { emoji }),
    from,
    at,
    removed,
  });
  if (!reactions) return;
  await db.query(sql.type(NoRows)`
    update messages set reactions = ${sql.jsonb(reactions)}, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = ${messageId}`);

  const lead = message.leadId === null ? null : await findLead(db, message.leadId);
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
          reaction,
          ...(emoji !== undefined && { emoji }),
          removed,
          reactedAtUtc: at,
          ...(from.includes('@') ? { fromEmail: from } : { fromPhone: from }),
        },
        data: {},
        ...(lead && { leadId: lead.id, lead: presentLead(lead) }),
        ...(message.campaignId !== null && { campaignId: message.campaignId }),
        ...(message.campaignName !== null && { campaignName: message.campaignName }),
        ...crmEcho(message.crm),
      },
    ],
    now,
  );
}
