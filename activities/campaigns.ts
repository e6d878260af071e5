import { enterLeads, nextLeads } from '#db/commands/campaigns/campaign-entry.ts';
import { clearCampaign, completeCampaign } from '#db/commands/campaigns/campaign-status.ts';
import { campaignProgress, lockCampaign, setEntered } from '#db/queries/campaigns.ts';
import { notify, notifyProgress } from '#db/commands/outbox/notifications.ts';
import { type TenantDb, withTenant } from '#db/pool.ts';
import { lockWake, setWake } from '#db/wakes.ts';
import type { CampaignProgress } from '#domain/campaign.ts';
import { campaignWorkflowId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/work-loop.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Leads entered in one transaction: sends of the campaign that settle meanwhile wait for it. */
const BATCH = 500;
/** Transactions of one activity: 5,000 leads enter in it. */
const STEPS_PER_ROUND = 10;
/** Rows of each table cleared away in one transaction. */
const CLEAR_BATCH = 5000;
/** How old the numbers may be that an operator sees. */
const LOOK_EVERY_MS = 5 * 60_000;

export function createCampaignActivities({ pools, waker }: Dependencies) {
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
          const step = await withTenant(pools, workspaceId, (db) => advance(db, campaignId, new Date()));
          for (const workflow of step.wakes) waker.wake(workflow, workspaceId);
          if (step.round) return step.round;
        }
        return { nextAt: new Date().toISOString(), reason: 'more is to be done' };
      });
    },
  };
}

/** One transaction under the campaign's lock: a batch of leads, or the round's end. */
async function advance(
  db: TenantDb,
  campaignId: string,
  now: Date,
): Promise<{ wakes: string[]; round?: Round }> {
  const rest = async (round: Round) => {
    await setWake(db, campaignWorkflowId(campaignId), round.nextAt === null ? null : new Date(round.nextAt));
    return { wakes: [], round };
  };
  const campaign = await lockCampaign(db, campaignId);
  if (!campaign || campaign.status === 'archived') {
    if (!(await clearCampaign(db, campaignId, CLEAR_BATCH))) return { wakes: [] };
    return rest({ nextAt: null, reason: 'the campaign is archived or deleted', ended: true });
  }
  if (campaign.status === 'paused') return rest({ nextAt: null, reason: 'the campaign is paused' });
  if (campaign.status !== 'active')
    return rest({ nextAt: null, reason: `the campaign is ${campaign.status}`, ended: true });

  if (!campaign.enteredAll) {
    const leads = await nextLeads(db, campaign, BATCH);
    const { wakes } = await enterLeads(db, campaign, leads, now);
    await setEntered(db, campaignId, leads.at(-1)?.id ?? campaign.enteredTo, leads.length < BATCH);
    return { wakes };
  }
  // Before the look: a lead that ends while it is made waits with its wake, instead of being slept over.
  await lockWake(db, campaignWorkflowId(campaignId));
  const progress = await campaignProgress(db, campaign);
  if (progress.running > 0) {
    const nextAt = new Date(now.getTime() + LOOK_EVERY_MS).toISOString();
    const { round } = await rest({ nextAt, reason: told(progress) });
    return { wakes: await notifyProgress(db, campaignId, now), round };
  }
  if (progress.entered === 0) return rest({ nextAt: null, reason: 'no lead has entered yet' });
  await completeCampaign(db, campaignId);
  const { round } = await rest({
    nextAt: null,
    reason: `the campaign is completed: ${told(progress)}`,
    ended: true,
  });
  return { wakes: await notify(db, campaignId, { about: 'campaign_completed', campaignId }, now), round };
}

const told = ({ running, finished, stopped }: CampaignProgress): string =>
  `${running} leads under way, ${finished} finished, ${stopped} stopped`;
