import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { DISPATCHED_AT } from '#db/queries/messages/messages.ts';

/** The responses of contacts to campaign steps, for the funnel. */

const OriginalRow = z.object({
  campaignId: z.string().nullable(),
  leadId: z.string().nullable(),
  /** The message that is answered. */
  messageId: z.string().nullable(),
});
type Original = z.infer<typeof OriginalRow>;

/** Of messages: sent by then, if only as fallback SMS. */
const sentBefore = (at: Date) => sql.fragment`(sent_at is not null or fallback_sms = 'dispatched')
  and ${DISPATCHED_AT} <= ${sql.timestamp(at)}`;

/** Counts a reply to the last step that its campaign sent to the lead before. Requires `lockContact`. */
export async function countStepReply(
  db: TenantDb,
  {
    campaignId,
    leadId,
    originalMessageId,
  }: Omit<Original, 'messageId'> & { originalMessageId: string | null },
  at: Date,
): Promise<void> {
  await insertResponse(db, 'reply', { campaignId, leadId, messageId: originalMessageId }, at);
}

/**
 * Counts an opt-out for the last step before it: of the campaign that the contact's reply answered,
 * otherwise of the campaign that sent the last message to the address. Requires `lockContact`.
 */
export async function countStepOptOut(
  db: TenantDb,
  { address, at, replyId }: { address: string; at: Date; replyId?: string | undefined },
): Promise<void> {
  const original = await db.maybeOne(
    replyId === undefined
      ? sql.type(OriginalRow)`
          select campaign_id, lead_id, id message_id from messages
          where workspace_id = ${db.workspaceId} and address = ${address} and ${sentBefore(at)}
          order by ${DISPATCHED_AT} desc, id desc limit 1`
      : sql.type(OriginalRow)`
          select campaign_id, lead_id, original_message_id message_id from inbound_messages
          where workspace_id = ${db.workspaceId} and id = ${replyId}`,
  );
  if (original) await insertResponse(db, 'opt_out', original, at);
}

/** The carrier's clock can be behind, but the answered message was certainly sent before. */
async function insertResponse(
  db: TenantDb,
  kind: 'reply' | 'opt_out',
  { campaignId, leadId, messageId }: Original,
  at: Date,
): Promise<void> {
  if (campaignId === null || leadId === null) return;
  await db.query(sql.type(NoRows)`
    insert into campaign_responses (workspace_id, campaign_id, message_id, kind, step_index, variant, responded_at)
    select workspace_id, campaign_id, id, ${kind}, step_index, variant, ${sql.timestamp(at)} from messages
    where workspace_id = ${db.workspaceId} and lead_id = ${leadId} and campaign_id = ${campaignId} and step_index is not null
      and exists (
        select from campaigns c where c.workspace_id = ${db.workspaceId} and c.id = messages.campaign_id and c.deleted_at is null)
      and (id = ${messageId} or ${sentBefore(at)})
    order by ${DISPATCHED_AT} desc, id desc limit 1
    on conflict do nothing`);
}
