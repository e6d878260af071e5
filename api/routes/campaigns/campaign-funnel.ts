import { funnelCounts } from '#db/queries/campaigns/campaign-funnel.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { messageSteps } from '#domain/campaigns/step.ts';
import { CampaignFunnel, funnelOf } from '#domain/campaigns/campaign-funnel.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { CampaignParams, campaignNotFound } from './campaigns.ts';

export const campaignFunnelRoutes = [
  workspaceRoute({
    id: 'getCampaignFunnel',
    method: 'GET',
    path: '/api/campaigns/{id}/funnel',
    tag: 'Campaigns',
    summary:
      'Get how far the leads of a campaign got, by step and variant, and how many replied and opted out',
    params: CampaignParams,
    responses: { 200: CampaignFunnel },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const campaign = await findCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      const steps = funnelOf(
        messageSteps(campaign.steps),
        await funnelCounts(db, campaign.id, campaign.version),
      );
      return { status: 200, body: { success: true, campaignId: campaign.id, steps } };
    },
  }),
];
