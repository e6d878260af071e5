import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { planOfCampaign } from '#db/queries/campaigns/forecast-plan.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { Forecast, ForecastInput } from '#domain/campaigns/forecast/forecast-schema.ts';
import { forecastOf, planOfInput } from './forecasts.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';

const ABOUT =
  'Runs the pacing rules ahead: caps, warm-ups, gaps, windows, quiet hours, the reputation of the lines, and what already waits at them. The frequency cap is counted for the steps of the sequence itself. Not foreseen: contacts who reply, which ends their sequence, with whom a member writes (`contact_busy`), or who got messages of other campaigns; and messages that are accepted later.';

export const forecastRoutes = [
  workspaceRoute({
    id: 'forecast',
    method: 'POST',
    path: '/api/forecast',
    tag: 'Forecast',
    scope: 'read',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Forecast when a sequence to a number of new contacts finishes',
    description: ABOUT,
    body: ForecastInput,
    responses: { 200: Forecast },
    errors: ['NOT_FOUND', 'NO_ACTIVE_LINE'],
    async handler({ caller: { workspace }, body, now, pools }) {
      const site = { timezone: workspace.timezone, now };
      const plan = await withTenant(pools, workspace.id, (db) => planOfInput(db, body, site));
      return { status: 200, body: await forecastOf(workspace.id, plan) };
    },
  }),
];

export const campaignForecastRoutes = [
  workspaceRoute({
    id: 'forecastCampaign',
    method: 'POST',
    path: '/api/campaigns/{id}/forecast',
    tag: 'Forecast',
    scope: 'read',
    transaction: false,
    openWhenReadOnly: true,
    summary: 'Forecast when a campaign finishes, or would finish if it were started or resumed now',
    description: ABOUT,
    params: CampaignParams,
    responses: { 200: Forecast },
    errors: ['NOT_FOUND', 'NO_ACTIVE_LINE'],
    async handler({ caller: { workspace }, params, now, pools }) {
      const site = { timezone: workspace.timezone, now };
      const plan = await withTenant(pools, workspace.id, async (db) => {
        const campaign = await findCampaign(db, params.id);
        if (!campaign) throw campaignNotFound();
        return { ...(await planOfCampaign(db, campaign, site)), finishBy: campaign.finishBy };
      });
      return { status: 200, body: await forecastOf(workspace.id, plan, plan.finishBy) };
    },
  }),
];
