import { sql } from 'slonik';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';

/** What contacts answer to the steps of campaigns, for the funnel. */

const OriginalRow = z.object({
  campaignId: z.string().nullable(),
  leadId: z.string().nullable(),
  /** The message that is answered. */
  messageId: z.string().nullable(),
});
type Original = z.infer<typeof OriginalRow>;

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
 * Counts an opt-out to the last step before it: of the campaign that the reply answers in which the contact asked for it,
 * else of the one whose message was the last to the address. Requires `lockContact`.
 */
export async function countStepOptOut(
  db: TenantDb,
  { address, at, replyId }: { address: string; at: Date; replyId?: string | undefined },
): Promise<void> {
  const original = await db.maybeOne(
    replyId === undefined
      ? sql.type(OriginalRow)`
          select campaign_id, lead_id, id message_id from messages
          where workspace_id = ${db.workspaceId} and address = ${address} and sent_at <= ${sql.timestamp(at)}
          order by sent_at desc, id desc limit 1`
      : sql.type(OriginalRow)`
          select campaign_id, lead_id, original_message_id message_id from inbound_messages
          where workspace_id = ${db.workspaceId} and id = ${replyId}`,
  );
  if (original) await insertResponse(db, 'opt_out', original, at);
}

/** The clock of a carrier can be behind: the message that is answered was sent before in any case. */
async function insertResponse(
  db: TenantDb,
  kind: 'reply' | 'opt_out',
  { campaignId, leadId, messageId }: Original,
  at: Date,
): Promise<void> {
  if (campaignId === null || leadId === null) return;
  await db.query(sql.type(NoRows)`
    insert into campaign_responses (workspace_id, campaign_id, message_id, kind, step_index, variant, responded_at)
    select m.workspace_id, m.campaign_id, m.id, ${kind}, m.step_index, m.variant, ${sql.timestamp(at)}
    from messages m join campaigns c on c.workspace_id = m.workspace_id and c.id = m.campaign_id and c.deleted_at is null
    where m.workspace_id = ${db.workspaceId} and m.lead_id = ${leadId} and m.campaign_id = ${campaignId}
      and m.step_index is not null
      and (m.id = ${messageId} or m.sent_at <= ${sql.timestamp(at)}
        or m.fallback_sms = 'dispatched' and m.updated_at <= ${sql.timestamp(at)})
    order by m.step_index desc limit 1
    on conflict do nothing`);
}
