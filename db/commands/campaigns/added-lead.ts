import { enterLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { reopenCampaign } from '#db/commands/campaigns/campaign-status.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { CampaignRow } from '#db/queries/campaigns/campaigns.ts';
import type { LeadRow } from '#db/queries/contacts/leads.ts';
import { wake } from '#db/wakes/wakes.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

/** When the campaign's workflow checks its progress after a lead was added. */
const LOOK_AFTER_MS = 5 * 60_000;

/**
 * Enters one lead into a campaign, which continues for it if it was completed. Requires `lockCampaign`, and that it is not archived.
 * @returns as `enterLeads`.
 */
export async function addLead(
  db: TenantDb,
  stored: CampaignRow,
  lead: LeadRow,
  now: Date,
): ReturnType<typeof enterLeads> {
  const again = stored.status === 'completed';
  const campaign: CampaignRow = again ? { ...stored, status: 'active' } : stored;
  const entered = await enterLeads(db, campaign, [lead], now);
  if (entered.admitted === entered.unreachable + entered.noConsent) return entered;
  if (again) await reopenCampaign(db, campaign.id);
  if (campaign.status === 'active')
    wake(db, campaignWorkflowId(campaign.id), new Date(now.getTime() + LOOK_AFTER_MS), 'leadsAdded');
  return entered;
}
