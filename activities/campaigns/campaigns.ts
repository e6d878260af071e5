import { type LeadWait, nextLookAt, waitsText } from '#domain/campaigns/campaign-waits.ts';
import { earliest } from '#domain/base/earliest.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { currentTime, fromNow } from '#domain/base/clock.ts';
import { isTestTime } from '#db/connection/workspace-clock.ts';
import { hasTakenSegment } from '#db/queries/campaigns/audience.ts';
import { campaignWaits } from '#db/queries/campaigns/campaign-waits.ts';
import { continueLeads, nextDue } from '#db/commands/campaigns/campaign-continuation.ts';
import {
  changedLeads,
  enterLeads,
  haveLeadsChanged,
  nextLeads,
} from '#db/commands/campaigns/campaign-entry.ts';
import {
  type CampaignAction,
  changeCampaignStatus,
  clearCampaign,
  completeCampaign,
  hasItsAudience,
  wakeCampaignLines,
} from '#db/commands/campaigns/campaign-status.ts';
import {
  campaignProgress,
  type CampaignRow,
  lockCampaign,
  setEntryProgress,
} from '#db/queries/campaigns/campaigns.ts';
import { endRevision } from '#db/commands/campaigns/revisions.ts';
import { releaseNext } from '#db/commands/sending/person-releases.ts';
import { notify, notifyProgress } from '#db/commands/events/notifications.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { deadlineToCheck, recordDeadline } from '#db/commands/campaigns/deadlines.ts';
import { planOfCampaign } from '#db/queries/campaigns/forecast-plan.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import { finishOf } from '#domain/campaigns/forecast/finish-by.ts';
import { forecastWithMoreLines } from '#domain/campaigns/forecast/lines-for.ts';
import { CAMPAIGN_CHANGES, type CampaignProgress } from '#domain/campaigns/campaign.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';
import type { CampaignRound, Round } from '#workflows/protocol/round.ts';
import type { CampaignVerdict, Order } from '#workflows/protocol/updates.ts';
import type { Dependencies } from '../dependencies.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { carryOut, record } from '../base/order.ts';
import { roundOf } from '../base/round.ts';
import { ROWS_PER_TRANSACTION } from '../base/transaction-size.ts';

/** Transactions of one activity, so that up to 5,000 leads enter. */
const STEPS_PER_ROUND = 10;
/** Rows of each table cleared in one transaction. */
const CLEAR_BATCH = 5000;
/** In test mode, where the clock stops at each look. The end of the last lead causes a look anyway. */
const TEST_LOOK_EVERY_MS = 24 * 3_600_000;

interface OfCampaign {
  workspaceId: string;
  campaignId: string;
}

export function createCampaignActivities({ pools }: Pick<Dependencies, 'pools'>) {
  const step = ({ workspaceId, campaignId }: OfCampaign, work: CampaignWork): Promise<CampaignLook> =>
    decide(pools, workspaceId, campaignWorkflowId(campaignId), (db) =>
      advance(db, campaignId, work, currentTime()),
    );

  /** Processes batches of one kind of work until none is left, up to the limit of a round. */
  async function steps(campaign: OfCampaign, work: CampaignWork): Promise<CampaignRound> {
    return withHeartbeat(async (canceled) => {
      let look = await step(campaign, work);
      for (let count = 1; look[work] && count < STEPS_PER_ROUND && !canceled.aborted; count += 1)
        look = await step(campaign, work);
      return watched(campaign, look);
    });
  }

  async function change(
    { workspaceId, campaignId, ...order }: OfCampaign & Order,
    action: CampaignAction,
  ): Promise<CampaignVerdict> {
    return carryOut(pools, workspaceId, order, async (db) => {
      const campaign = await lockCampaign(db, campaignId);
      if (!campaign) throw new Refusal('NOT_FOUND', null, 'There is no such campaign');
      const { to } = CAMPAIGN_CHANGES[action];
      if (campaign.status === to) return { campaignId, status: to };
      const now = currentTime();
      const { status } = await changeCampaignStatus(db, campaign, action, now, { byWorkflow: true });
      await record(db, order, RECORDED_AS[action], { type: 'campaign', id: campaignId });
      return { campaignId, status };
    });
  }

  /** Tells when the campaign will not be finished by its deadline. Outside of its lock, because a forecast takes long. */
  async function watchDeadline({ workspaceId, campaignId }: OfCampaign): Promise<void> {
    const now = currentTime();
    const due = await withTenant(pools, workspaceId, async (db) => {
      const campaign = await deadlineToCheck(db, campaignId, now);
      if (!campaign) return null;
      const timezone = await workspaceTimezone(db);
      const plan = await planOfCampaign(db, campaign, { timezone, now }).catch((error: unknown) => {
        if (error instanceof Refusal) return null;
        throw error;
      });
      return { campaign, plan };
    });
    if (!due) return;
    const { campaign, plan } = due;
    const { finishBy } = campaign;
    if (finishBy === null) return;
    let told: Parameters<typeof recordDeadline>[2] = { isPossible: false, completesAt: null, lines: null };
    if (plan) {
      const result = await forecastWithMoreLines(plan);
      told = { ...finishOf(finishBy, result, plan), completesAt: result.completesAt };
    }
    await withTenant(pools, workspaceId, (db) => recordDeadline(db, campaign, told, now));
  }

  /** The result of a look, after which the deadline is checked. */
  async function watched(campaign: OfCampaign, look: CampaignLook): Promise<CampaignRound> {
    if (!look.toEnter) await watchDeadline(campaign);
    return campaignRound(look);
  }

  const enterLeads = (campaign: OfCampaign): Promise<CampaignRound> => steps(campaign, 'toEnter');

  return {
    /** Enters the next leads of the list. When all have entered, checks the campaign's progress. */
    enterLeads,

    /** Clears the data of an archived or deleted campaign. */
    clearCampaign: (campaign: OfCampaign): Promise<CampaignRound> => steps(campaign, 'toClear'),

    /** The same after a wait: leads continue that are due, and the campaign is completed when every lead has finished or stopped. */
    lookAtCampaign: enterLeads,

    startCampaign: (order: OfCampaign & Order): Promise<CampaignVerdict> => change(order, 'start'),
    pauseCampaign: (order: OfCampaign & Order): Promise<CampaignVerdict> => change(order, 'pause'),
    resumeCampaign: (order: OfCampaign & Order): Promise<CampaignVerdict> => change(order, 'resume'),
    archiveCampaign: (order: OfCampaign & Order): Promise<CampaignVerdict> => change(order, 'archive'),
  };
}

const RECORDED_AS = {
  start: 'campaign.started',
  pause: 'campaign.paused',
  resume: 'campaign.resumed',
  archive: 'campaign.archived',
} as const;

type CampaignLook = Look & Omit<CampaignRound, keyof Round>;

const campaignRound = ({ status, toEnter, toClear, progress, ...look }: CampaignLook): CampaignRound => ({
  ...roundOf(look),
  status,
  progress,
  ...(toEnter && { toEnter }),
  ...(toClear && { toClear }),
});

/** What an activity does for a campaign in batches. */
type CampaignWork = 'toEnter' | 'toClear';

/** Enters, lets continue or clears the next batch, if the campaign has one. */
async function advance(
  db: TenantDb,
  campaignId: string,
  work: CampaignWork,
  now: Date,
): Promise<CampaignLook> {
  const campaign = await lockCampaign(db, campaignId);
  const look = await lookAt(db, campaign, now);
  if (work === 'toClear' && look.toClear && (await clearCampaign(db, campaignId, CLEAR_BATCH))) {
    const { status, progress } = look;
    return { status, progress, nextAt: null, reason: 'the campaign is archived or deleted', ended: true };
  }
  if (work === 'toEnter' && look.toEnter && campaign) await enterNext(db, campaign, now);
  return look;
}

/**
 * What a campaign needs next, or waits for. Requires `lockCampaign`.
 * @param campaign null: it is deleted.
 */
async function lookAt(db: TenantDb, campaign: CampaignRow | null, now: Date): Promise<CampaignLook> {
  const status = campaign?.status ?? 'archived';
  const at = { status, progress: null };
  const more = { ...at, nextAt: now, reason: 'the campaign has more to do' };
  if (!campaign || status === 'archived') return { ...more, toClear: true };
  const isUnderWay = status === 'active' || status === 'paused';
  if (isUnderWay && campaign.revisedAt !== null) return { ...more, toEnter: true };
  if (status === 'paused')
    return { ...at, nextAt: null, reason: 'nothing of the campaign is sent until it is resumed' };
  if (status !== 'active') return { ...at, nextAt: null, reason: `the campaign is ${status}`, ended: true };

  if (campaign.releasesHeld) return { ...more, toEnter: true };
  if (!campaign.enteredAll) return { ...more, toEnter: true };
  if ((isLive(campaign) && scanDue(campaign) <= now) || (await haveLeadsChanged(db, campaign.id)))
    return { ...more, toEnter: true };
  const due = await nextDue(db, campaign.id);
  if (due !== null && due <= now) return { ...more, toEnter: true };
  return lookAtProgress(db, campaign, due, now);
}

/** How often a live campaign looks at all leads: what time alone changes, and facts apart from the lead. Changed leads enter at once. */
const SCAN_EVERY_MS = 3_600_000;

const isLive = ({ segmentId, audience }: CampaignRow): boolean => segmentId !== null && audience === 'live';

const scanDue = ({ scannedAt }: CampaignRow): Date =>
  new Date(scannedAt === null ? 0 : scannedAt.getTime() + SCAN_EVERY_MS);

async function enterNext(db: TenantDb, campaign: CampaignRow, now: Date): Promise<void> {
  if (campaign.revisedAt !== null) return reviseNext(db, campaign, now);
  if (campaign.releasesHeld) return releaseNext(db, campaign.id, ROWS_PER_TRANSACTION, now);
  const hasRead = campaign.enteredAll && !(isLive(campaign) && scanDue(campaign) <= now);
  // An erasure of one of these leads waits for their messages, and cancels them.
  if (!(await hasItsAudience(db, campaign)) && !hasRead)
    return setEntryProgress(db, campaign.id, campaign.enteredTo, true, now);
  if (hasRead) {
    const changed = await changedLeads(db, campaign, ROWS_PER_TRANSACTION, now);
    await enterLeads(db, campaign, changed, now);
    if (changed.length === 0) await continueLeads(db, campaign, now);
    return;
  }
  if (!campaign.enteredAll && hasTakenSegment(campaign)) {
    await enterLeads(db, campaign, await changedLeads(db, campaign, ROWS_PER_TRANSACTION, now), now);
    const isLeft = await haveLeadsChanged(db, campaign.id);
    return setEntryProgress(db, campaign.id, campaign.enteredTo, !isLeft, now);
  }
  // A live campaign begins anew.
  const from = campaign.enteredAll ? { ...campaign, enteredTo: '' } : campaign;
  const { leads, last } = await nextLeads(db, from, ROWS_PER_TRANSACTION, now);
  await enterLeads(db, campaign, leads, now);
  await setEntryProgress(db, campaign.id, last ?? from.enteredTo, last === null, now);
}

/** Brings the next leads up to date with the steps of the campaign, which have changed. */
async function reviseNext(db: TenantDb, campaign: CampaignRow, now: Date): Promise<void> {
  if ((await continueLeads(db, campaign, now, 'outdated')) > 0) return;
  await endRevision(db, campaign.id);
  if (campaign.status === 'active') await wakeCampaignLines(db, campaign.id);
}

/** Completes the campaign when every lead has finished or stopped. */
async function lookAtProgress(
  db: TenantDb,
  campaign: CampaignRow,
  due: Date | null,
  now: Date,
): Promise<CampaignLook> {
  const { id: campaignId, status } = campaign;
  const counted = await campaignProgress(db, campaign);
  const found = counted.running > 0 ? await campaignWaits(db, campaign, now) : null;
  const scan = isLive(campaign) ? scanDue(campaign) : null;
  const progress = { ...counted, waiting: found?.waits ?? [] };
  if (found) {
    await notifyProgress(db, campaignId, now);
    const nextAt = isTestTime() ? fromNow(TEST_LOOK_EVERY_MS) : nextLookAt(found, now);
    return {
      status,
      progress,
      nextAt: earliest(earliest(nextAt, scan), due),
      reason: progressText(progress),
    };
  }
  if (isLive(campaign)) {
    const reason =
      progress.entered === 0 ? 'no lead has entered yet' : 'the campaign waits for leads of its segment';
    return { status, progress, nextAt: scanDue(campaign), reason };
  }
  if (progress.entered === 0) return { status, progress, nextAt: null, reason: 'no lead has entered yet' };
  await completeCampaign(db, campaign, counted, now);
  await notify(db, campaignId, { about: 'campaign_completed', campaignId }, now);
  const reason = `the campaign is completed: ${endedText(progress)}`;
  return { status: 'completed', progress, nextAt: null, reason, ended: true };
}

const progressText = ({
  running,
  waiting,
  ...ended
}: CampaignProgress & { waiting: readonly LeadWait[] }): string =>
  [`leads under way: ${running}, ${endedText(ended)}`, waitsText(waiting)].filter(Boolean).join('; ');

const endedText = ({ finished, stopped }: Pick<CampaignProgress, 'finished' | 'stopped'>): string =>
  `finished: ${finished}, stopped: ${stopped}`;
