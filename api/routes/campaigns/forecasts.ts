import { forecastLines } from '#db/queries/campaigns/forecast.ts';
import {
  requireCarried,
  sharesOf,
  type Site,
  stepsOf,
  underCap,
} from '#db/queries/campaigns/forecast-plan.ts';
import { personRules } from '#db/queries/sending/person-holds.ts';
import { findPool } from '#db/queries/lines/line-pools.ts';
import { existingLines, usableLines } from '#db/queries/lines/lines.ts';
import { workspacePace } from '#db/queries/accounts/workspaces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { finishOf } from '#domain/campaigns/forecast/finish-by.ts';
import type { ForecastPlan } from '#domain/campaigns/forecast/plan.ts';
import type { Forecast, ForecastInput } from '#domain/campaigns/forecast/forecast-schema.ts';
import { leadPlacesOf } from '#domain/campaigns/forecast/lead-places.ts';
import { forecastWithMoreLines } from '#domain/campaigns/forecast/lines-for.ts';
import { sendWindow } from '#domain/messages/accepted-message.ts';
import { createFairQueue } from '#domain/base/fair-queue.ts';
import { ApiError, invalid } from '#api/http/errors.ts';

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
    steps: requireCarried(underCap(stepsOf(input.steps), (await personRules(db)).frequencyCap), shares),
    places: leadPlacesOf({ quiet, campaignId: null, window, places: [] }, site.timezone),
    sticky: pool ? pool.sticky : (input.stickinessPolicy ?? 'sticky') === 'sticky',
  };
}

/** A forecast takes up to two seconds of the processor: one of a workspace at a time, so that many of it hold up nobody else. */
const turns = createFairQueue({ size: 2, share: 1, maxWaiting: 100, timeoutMs: 30_000 });

/** @param finishBy null: there is no deadline. @throws Busy */
export async function forecastOf(
  workspaceId: string,
  plan: ForecastPlan,
  finishBy: Date | null = null,
): Promise<Forecast> {
  const result = await turns.run(workspaceId, () => forecastWithMoreLines(plan));
  const { completesAt, firstStepDoneAt, ...forecast } = result;
  return {
    success: true,
    completesAt: completesAt?.toISOString() ?? null,
    firstStepDoneAt: firstStepDoneAt?.toISOString() ?? null,
    ...forecast,
    finishBy: finishBy && finishOf(finishBy, result, plan),
  };
}
