import { type CampaignRow, campaignWindow } from '#db/queries/campaigns/campaigns.ts';
import { leadsYetToEnter } from '#db/queries/campaigns/audience.ts';
import { forecastLines, knownLeads, linesOfCampaign, reachOf } from '#db/queries/campaigns/forecast.ts';
import { leadPlaces } from '#db/queries/contacts/lead-places.ts';
import { findPool, type PoolRow } from '#db/queries/lines/line-pools.ts';
import { type ChoosableLine, existingLines, usableLines } from '#db/queries/lines/lines.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { durationMs } from '#domain/base/duration.ts';
import type { MessageStep } from '#domain/campaigns/step.ts';
import { quietPath } from '#domain/campaigns/walk.ts';
import type { ForecastPlan, ForecastStep } from '#domain/campaigns/forecast/plan.ts';
import type { Forecast, ForecastInput } from '#domain/campaigns/forecast/forecast-schema.ts';
import { leadPlacesOf } from '#domain/campaigns/forecast/lead-places.ts';
import { forecastWithMoreLines } from '#domain/campaigns/forecast/lines-for.ts';
import { CARRYING_CHANNELS } from '#domain/base/channel.ts';
import { sendWindow } from '#domain/messages/accepted-message.ts';
import { ApiError, invalid } from '#api/http/errors.ts';

interface Site {
  timezone: string;
  now: Date;
}

/** @throws NOT_FOUND, VALIDATION_ERROR or NO_ACTIVE_LINE */
export async function planOfInput(db: TenantDb, input: ForecastInput, site: Site): Promise<ForecastPlan> {
  const { lineIds, poolId } = input;
  if (lineIds && poolId !== undefined) throw invalid('lineIds', 'cannot be combined with poolId');
  const pool = poolId === undefined ? null : await findPool(db, poolId);
  if (poolId !== undefined && !pool)
    throw new ApiError('NOT_FOUND', 'poolId: no such pool in this workspace');
  const own = await existingLines(db, lineIds ?? []);
  const unknown = lineIds?.findIndex((id) => !own.has(id)) ?? -1;
  if (unknown !== -1) throw new ApiError('NOT_FOUND', `lineIds[${unknown}]: no such line in this workspace`);
  const shares = sharesOf(await usableLines(db), pool, lineIds ?? null);
  const { quiet } = await workspacePace(db);
  const window = sendWindow(input, site.timezone) ?? undefined;
  return {
    ...site,
    lines: await forecastLines(db, shares, null, site),
    leads: input.newConversations,
    steps: requireCarried(stepsOf(input.steps), shares),
    places: leadPlacesOf({ quiet, campaignId: null, window, places: [] }, site.timezone),
    sticky: pool ? pool.sticky : (input.stickinessPolicy ?? 'sticky') === 'sticky',
  };
}

/** The remaining messages of a campaign; if it is not active, as if it were started or resumed now. */
export async function planOfCampaign(db: TenantDb, campaign: CampaignRow, site: Site): Promise<ForecastPlan> {
  const toEnter = await leadsYetToEnter(db, campaign);
  const pool = campaign.poolId === null ? null : await findPool(db, campaign.poolId);
  const shares = sharesOf(await usableLines(db), pool, campaign.eligibleLineIds);
  const reach = await reachOf(db, toEnter);
  const steps = stepsOf(quietPath(campaign.steps)).filter(({ channel }) => reach[channel] > 0);
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

export async function forecastOf(plan: ForecastPlan): Promise<Forecast> {
  const { completesAt, firstStepDoneAt, ...forecast } = await forecastWithMoreLines(plan);
  return {
    success: true,
    completesAt: completesAt?.toISOString() ?? null,
    firstStepDoneAt: firstStepDoneAt?.toISOString() ?? null,
    ...forecast,
  };
}

type Share = Pick<ChoosableLine, 'channel'> & { lineId: string; weight: number };

/** The lines that get leads, with their shares. Stopped lines get none, unless all have stopped. */
function sharesOf(
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

const stepsOf = (steps: readonly Pick<MessageStep, 'delay' | 'messageType'>[]): ForecastStep[] =>
  steps.map(({ delay, messageType: channel }) => ({
    channel,
    carriers: CARRYING_CHANNELS[channel],
    delayMs: durationMs(delay),
  }));

/** @throws NO_ACTIVE_LINE */
function requireCarried(steps: ForecastStep[], shares: readonly Share[]): ForecastStep[] {
  const stranded = steps.find(({ carriers }) => !shares.some(({ channel }) => carriers.includes(channel)));
  if (stranded) throw new ApiError('NO_ACTIVE_LINE', `None of the lines can send ${stranded.channel}`);
  return steps;
}
