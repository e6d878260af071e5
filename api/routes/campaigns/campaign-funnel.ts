import { funnelCounts } from '#db/queries/campaigns/campaign-funnel.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { stepsOnceSent } from '#db/queries/campaigns/versions.ts';
import { messageSteps, stepNumbers } from '#domain/campaigns/step.ts';
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
      const counts = await funnelCounts(db, campaign.id, campaign.version);
      const numbers = stepNumbers(campaign);
      const sent = new Set(
        counts.states.flatMap(({ status, stepIndex }) =>
          ['sent', 'delivered', 'fallback', 'failed'].includes(status) ? stepIndex : [],
        ),
      );
      const removed = await stepsOnceSent(db, campaign, sent);
      const steps = funnelOf(
        [
          ...messageSteps(campaign.steps).map((one) => ({ ...one, isRemoved: false })),
          ...removed.map((one) => ({ ...one, isRemoved: true })),
        ].map((one) => ({ ...one, index: numbers.get(one.id) ?? one.index })),
        counts,
      );
      return { status: 200, body: { success: true, campaignId: campaign.id, steps } };
    },
  }),
];
