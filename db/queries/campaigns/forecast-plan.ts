import type { TenantDb } from '#db/connection/transactions.ts';
import { CARRYING_CHANNELS } from '#domain/base/channel.ts';
import { durationMs } from '#domain/base/duration.ts';
import { Refusal } from '#domain/base/refusal.ts';
import { delaysUnderCap } from '#domain/campaigns/forecast/person-cap.ts';
import { leadPlacesOf } from '#domain/campaigns/forecast/lead-places.ts';
import type { ForecastPlan, ForecastStep } from '#domain/campaigns/forecast/plan.ts';
import type { MessageStep } from '#domain/campaigns/step.ts';
import type { FrequencyCap } from '#domain/sending/person-holds.ts';
import { quietPath } from '#domain/campaigns/walk.ts';
import { workspacePace } from '../accounts/workspaces.ts';
import { leadPlaces } from '../contacts/lead-places.ts';
import { personRules } from '../sending/person-holds.ts';
import { findPool, type PoolRow } from '../lines/line-pools.ts';
import { type ChoosableLine, usableLines } from '../lines/lines.ts';
import { leadsYetToEnter } from './audience.ts';
import { type CampaignRow, campaignWindow } from './campaigns.ts';
import { forecastLines, knownLeads, linesOfCampaign, reachOf } from './forecast.ts';

/** Where and when a forecast is made. */
export interface Site {
  timezone: string;
  now: Date;
}

/** The remaining messages of a campaign; if it is not active, as if it were started or resumed now. */
export async function planOfCampaign(db: TenantDb, campaign: CampaignRow, site: Site): Promise<ForecastPlan> {
  const toEnter = await leadsYetToEnter(db, campaign);
  const pool = campaign.poolId === null ? null : await findPool(db, campaign.poolId);
  const shares = sharesOf(await usableLines(db), pool, campaign.eligibleLineIds);
  const reach = await reachOf(db, toEnter);
  const { frequencyCap } = await personRules(db);
  const reached = stepsOf(quietPath(campaign.steps)).filter(({ channel }) => reach[channel] > 0);
  const steps = underCap(reached, frequencyCap);
  const leads = Math.max(0, ...steps.map(({ channel }) => reach[channel]));
  if (leads > 0) requireCarried(steps, shares);
  // Including messages that wait on lines that the campaign may no longer use.
  const further = (await linesOfCampaign(db, campaign.id)).filter(
    (id) => !shares.some(({ lineId }) => lineId === id),
  );
  const lines = await forecastLines(
    db,
    [...shares, ...further.map((lineId) => ({ lineId, weight: 0 }))],
    campaign.id,
    site,
  );
  const { quiet } = await workspacePace(db);
  const window = campaignWindow(campaign, site.timezone);
  const places = await leadPlaces(db, toEnter);
  const sticky = pool ? pool.sticky : campaign.stickinessPolicy === 'sticky';
  const known = await knownLeads(
    db,
    toEnter,
    shares.map(({ lineId }) => lineId),
  );
  return {
    ...site,
    lines: lines.map((line) => ({ ...line, knownLeads: known.get(line.line.id) ?? 0 })),
    leads,
    steps,
    places: leadPlacesOf({ quiet, campaignId: campaign.id, window, places }, site.timezone),
    sticky,
  };
}

type Share = Pick<ChoosableLine, 'channel'> & { lineId: string; weight: number };

/** The lines that get leads, with their shares. Stopped lines get none, unless all have stopped. */
export function sharesOf(
  lines: readonly ChoosableLine[],
  pool: PoolRow | null,
  lineIds: readonly string[] | null,
): Share[] {
  const weightOf = (id: string): number =>
    pool
      ? (pool.lines.find(({ lineId }) => lineId === id)?.weight ?? 0)
      : (lineIds?.includes(id) ?? true)
        ? 1
        : 0;
  const allowed = lines.filter(({ id }) => weightOf(id) > 0);
  const working = allowed.some(({ stoppedAt }) => stoppedAt === null);
  return allowed.map(({ id, channel, stoppedAt }) => ({
    lineId: id,
    channel,
    weight: working && stoppedAt !== null ? 0 : weightOf(id),
  }));
}

export const stepsOf = (steps: readonly Pick<MessageStep, 'delay' | 'messageType'>[]): ForecastStep[] =>
  steps.map(({ delay, messageType: channel }) => ({
    channel,
    carriers: CARRYING_CHANNELS[channel],
    delayMs: durationMs(delay),
  }));

/** Steps with the delays that the frequency cap allows. */
export function underCap(steps: readonly ForecastStep[], cap: FrequencyCap | null): ForecastStep[] {
  const delays = delaysUnderCap(
    steps.map(({ delayMs }) => delayMs),
    cap,
  );
  return steps.map((step, index) => ({ ...step, delayMs: delays[index] ?? step.delayMs }));
}

/** @throws Refusal if no line can send one of the steps. */
export function requireCarried(steps: ForecastStep[], shares: readonly Share[]): ForecastStep[] {
  const stranded = steps.find(({ carriers }) => !shares.some(({ channel }) => carriers.includes(channel)));
  if (stranded) throw new Refusal('NO_ACTIVE_LINE', null, `None of the lines can send ${stranded.channel}`);
  return steps;
}
