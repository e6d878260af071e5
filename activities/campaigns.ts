import { enterLeads, nextLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { clearCampaign, completeCampaign } from '#db/commands/campaigns/campaign-status.ts';
import { campaignProgress, lockCampaign, setEntryProgress } from '#db/queries/campaigns.ts';
import { notify, notifyProgress } from '#db/commands/outbox/notifications.ts';
import { decide } from '#db/decisions.ts';
import type { TenantDb } from '#db/transactions.ts';
import type { CampaignProgress } from '#domain/campaign.ts';
import { campaignWorkflowId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/messages/round.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';
import { isDue, type Look, roundOf } from './round.ts';

/** Leads entered in one transaction: sends of the campaign that settle meanwhile wait for it. */
const BATCH = 500;
/** Transactions of one activity: 5,000 leads enter in it. */
const STEPS_PER_ROUND = 10;
/** Rows of each table cleared away in one transaction. */
const CLEAR_BATCH = 5000;
/** How old the numbers may be that an operator sees. */
const LOOK_EVERY_MS = 5 * 60_000;

export function createCampaignActivities({ pools }: Dependencies) {
  return {
    /** Enters leads while some are left; else looks how far the campaign is, and completes or clears it when it is over. */
    async runCampaign({
      workspaceId,
      campaignId,
    }: {
      workspaceId: string;
      campaignId: string;
    }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        for (let steps = 0; steps < STEPS_PER_ROUND && !canceled.aborted; steps += 1) {
          const look = await decide(pools, workspaceId, campaignWorkflowId(campaignId), (db) =>
            advance(db, campaignId, new Date()),
          );
          if (!isDue(look)) return roundOf(look);
        }
        return { nextAt: new Date().toISOString(), reason: 'more is to be done' };
      });
    },
  };
}

/** One transaction under the campaign's lock: a batch of leads, or the round's end. */
async function advance(db: TenantDb, campaignId: string, now: Date): Promise<Look> {
  const more = { nextAt: now, reason: 'more is to be done' };
  const campaign = await lockCampaign(db, campaignId);
  if (!campaign || campaign.status === 'archived') {
    if (!(await clearCampaign(db, campaignId, CLEAR_BATCH))) return more;
    return { nextAt: null, reason: 'the campaign is archived or deleted', ended: true };
  }
  if (campaign.status === 'paused') return { nextAt: null, reason: 'the campaign is paused' };
  if (campaign.status !== 'active')
    return { nextAt: null, reason: `the campaign is ${campaign.status}`, ended: true };

  if (!campaign.enteredAll) {
    const leads = await nextLeads(db, campaign, BATCH);
    await enterLeads(db, campaign, leads, now);
    await setEntryProgress(db, campaignId, leads.at(-1)?.id ?? campaign.enteredTo, leads.length < BATCH);
    return more;
  }
  const progress = await campaignProgress(db, campaign);
  if (progress.running > 0) {
    await notifyProgress(db, campaignId, now);
    return { nextAt: new Date(now.getTime() + LOOK_EVERY_MS), reason: told(progress) };
  }
  if (progress.entered === 0) return { nextAt: null, reason: 'no lead has entered yet' };
  await completeCampaign(db, campaignId);
  await notify(db, campaignId, { about: 'campaign_completed', campaignId }, now);
  return { nextAt: null, reason: `the campaign is completed: ${told(progress)}`, ended: true };
}

const told = ({ running, finished, stopped }: CampaignProgress): string =>
  `${running} leads under way, ${finished} finished, ${stopped} stopped`;
