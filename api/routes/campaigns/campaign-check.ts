import { z } from 'zod';
import { leadsYetToEnter } from '#db/queries/campaigns/audience.ts';
import { type CampaignRow, findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { consentCoverage } from '#db/queries/contacts/consent-coverage.ts';
import { emptyFields } from '#db/queries/campaigns/empty-fields.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { messageSteps } from '#domain/campaigns/step.ts';
import { CampaignCheck, fieldsOfSteps } from '#domain/campaigns/campaign-check.ts';
import { linesFor } from '#domain/campaigns/forecast/enter-leads.ts';
import type { ForecastPlan } from '#domain/campaigns/forecast/plan.ts';
import { planOfCampaign } from '#db/queries/campaigns/forecast-plan.ts';
import { forecastOf } from './forecasts.ts';
import { ApiError } from '#api/http/errors.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';

export const campaignCheckRoutes = [
  workspaceRoute({
    id: 'checkCampaign',
    method: 'POST',
    path: '/api/campaigns/{id}/check',
    tag: 'Campaigns',
    scope: 'read',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Say what a start would do: to whom, when, and what is missing',
    description: 'Changes nothing. The times are those of the forecast.',
    params: CampaignParams,
    responses: { 200: z.object({ success: z.literal(true), check: CampaignCheck }) },
    errors: ['NOT_FOUND', 'NO_ACTIVE_LINE', 'INVALID_STATE'],
    async handler({ caller: { workspace }, params, now, pools }) {
      const site = { timezone: workspace.timezone, now };
      const plan = await withTenant(pools, workspace.id, async (db) => {
        const campaign = await findCampaign(db, params.id);
        if (!campaign) throw campaignNotFound();
        if (campaign.status !== 'draft')
          throw new ApiError('INVALID_STATE', `A campaign that is ${campaign.status} has started`);
        const people = await peopleOf(db, campaign);
        return { people, ...(await planOfCampaign(db, campaign, site)), leads: people.leads };
      });
      const { people } = plan;
      const { completesAt, byDay } = await forecastOf(workspace.id, plan);
      const messages = byDay.reduce((sum, day) => sum + day.messages, 0);
      const check = { ...people, ...startOf(plan), messages, lastAt: completesAt };
      return { status: 200, body: { success: true, check } };
    },
  }),
];

/** Who would get the campaign, and who would not. */
async function peopleOf(db: TenantDb, campaign: CampaignRow) {
  const { steps, requireConsent } = campaign;
  const audience = await leadsYetToEnter(db, campaign);
  const [first] = messageSteps(steps);
  const nobody = { leads: 0, unreachable: 0, optedOut: 0, suppressed: 0, withoutConsent: 0, emptyFields: {} };
  if (!audience || !first) return nobody;
  const coverage = await consentCoverage(db, audience, first.step.messageType);
  const { total, unreachable, optedOut, suppressed, revoked, unknown } = coverage;
  const withoutConsent = revoked + unknown;
  return {
    leads: total - unreachable - optedOut - suppressed - (requireConsent ? withoutConsent : 0),
    unreachable,
    optedOut,
    suppressed,
    withoutConsent,
    emptyFields: await emptyFields(db, audience, fieldsOfSteps(steps)),
  };
}

/** When the first step may leave, for how many later than it is due, and from which lines. */
function startOf({ places, steps, leads, lines, now }: ForecastPlan) {
  const due = now.getTime() + (steps[0]?.delayMs ?? 0);
  const openings = places.map(({ share, times }) => ({ share, at: times.opening(due) }));
  const all = openings.reduce((sum, { share }) => sum + share, 0);
  const senders = new Set(steps.flatMap(({ carriers }) => linesFor({ lines, sticky: false }, carriers)));
  const late = openings.reduce((sum, { share, at }) => (at > due ? sum + share : sum), 0);
  return {
    firstAt: leads === 0 ? null : new Date(Math.min(...openings.map(({ at }) => at))).toISOString(),
    inQuietHours: all === 0 ? 0 : Math.round((leads * late) / all),
    lines: lines.filter((_, index) => senders.has(index)).map(({ line }) => line.id),
  };
}
