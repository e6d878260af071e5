import { sql } from 'slonik';
import { z } from 'zod';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type FunnelCounts, UNTRIED } from '#domain/campaigns/campaign-funnel.ts';
import { StoredStatus } from '#domain/messages/message-status.ts';
import { VariantName } from '#domain/messages/variant-name.ts';

const OfStep = z.object({ stepIndex: z.int(), variant: VariantName.nullable(), leads: z.int() });
const StateRow = OfStep.extend({
  status: StoredStatus,
  holdReason: z.string().nullable(),
  read: z.int(),
});
const UntriedRow = OfStep.extend({ reason: z.enum(UNTRIED) });
const ResponseRow = OfStep.extend({ kind: z.enum(['reply', 'opt_out']) });

const VersionRow = z.object({ stepIndex: z.int(), version: z.int(), sent: z.int() });

/**
 * The counts of a campaign's funnel. Reads one entry of the index `messages_funnel` for each message, in the order of the
 * groups, the rows of failed messages, and an entry for each response. A lead has one message of a step.
 * @param version of the campaign's steps: those of the first are not told apart.
 */
export async function funnelCounts(db: TenantDb, campaignId: string, version = 1): Promise<FunnelCounts> {
  const ofCampaign = sql.fragment`workspace_id = ${db.workspaceId} and campaign_id = ${campaignId}`;
  // Before all others: a message that fails meanwhile is then not missing among those that failed.
  const untried = await db.any(sql.type(UntriedRow)`
    select step_index, variant, error_message reason, count(*) leads from messages
    where ${ofCampaign} and status = 'failed' and error_message = any(${sql.array([...UNTRIED], 'text')})
      and step_index is not null
    group by step_index, variant, error_message`);
  const states = await db.any(sql.type(StateRow)`
    select step_index, variant, status, hold_reason, count(*) leads, count(read_at) "read" from messages
    where ${ofCampaign} and step_index is not null group by step_index, variant, status, hold_reason`);
  const responses = await db.any(sql.type(ResponseRow)`
    select step_index, variant, kind, count(*) leads from campaign_responses
    where ${ofCampaign} group by step_index, variant, kind`);
  const versions =
    version === 1
      ? []
      : await db.any(sql.type(VersionRow)`
          select step_index, coalesce(campaign_version, 1) "version", count(*) sent from messages
          where ${ofCampaign} and step_index is not null and status in ('sent', 'delivered', 'fallback')
          group by 1, 2 order by 1, 2`);
  return { states, untried, responses, versions };
}
