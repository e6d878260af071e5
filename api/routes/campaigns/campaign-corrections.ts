import { z } from 'zod';
import { correctTexts } from '#db/commands/campaigns/corrections.ts';
import { correctionsOf, leadsOfSteps } from '#db/queries/campaigns/corrections.ts';
import { campaignProgress, findCampaign, lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { CorrectionInput, StepCorrection } from '#domain/campaigns/correction.ts';
import { NewSteps } from '#domain/campaigns/step.ts';
import {
  changesBetween,
  effectsOf,
  problemOfEdit,
  StepChanges,
  StepEffect,
} from '#domain/campaigns/step-edits.ts';
import { ApiError } from '#api/http/errors.ts';
import { perMinute } from '#api/http/rate-limits.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { actionRequest } from '../messages/message-actions.ts';
import { requireKnownFields, Strictness } from '../messages/known-fields.ts';
import { checkCampaign, templatesOf } from './campaign-checks.ts';
import { CampaignParams, campaignNotFound, requireRoomForEdit } from './campaigns.ts';

export const campaignCorrectionRoutes = [
  workspaceRoute({
    id: 'dryRunCampaignEdit',
    method: 'POST',
    path: '/api/campaigns/{id}/dry-run',
    tag: 'Campaigns',
    scope: 'read',
    openWhenReadOnly: true,
    summary: 'Say what an edit of the steps would do, and to how many leads',
    description: 'Changes nothing. `PATCH /api/campaigns/{id} {steps}` carries it out.',
    params: CampaignParams,
    query: Strictness,
    body: z.object({ steps: NewSteps }),
    responses: {
      200: z.object({
        success: z.literal(true),
        changes: StepChanges,
        running: z.int().meta({ description: 'Leads with remaining steps.' }),
        steps: z.array(StepEffect),
        corrections: z.array(StepCorrection).meta({
          description:
            'Who got a text that the edit changes. `POST /api/campaigns/{id}/corrections` corrects it.',
        }),
      }),
    },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'NO_ACTIVE_LINE', 'LIMIT_REACHED'],
    async handler({ db, caller, params, query, body: { steps }, now, links, carriers: { capabilitiesOf } }) {
      if (query.refuseUnknownFields === 'true') await requireKnownFields(db, templatesOf(steps));
      const campaign = await findCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      await checkCampaign(db, { steps }, caller.workspace, { links, now });
      const problem = problemOfEdit(campaign.steps, steps);
      if (problem !== null) throw new ApiError('INVALID_STATE', `steps ${problem}`);
      if (campaign.status === 'active' || campaign.status === 'paused')
        await requireRoomForEdit(db, campaign, { ...campaign, steps });
      const changes = changesBetween(campaign.steps, steps);
      const { running } = await campaignProgress(db, campaign);
      const effects = effectsOf(changes, await leadsOfSteps(db, campaign));
      const corrections = await correctionsOf(db, campaign, steps, capabilitiesOf, now);
      return { status: 200, body: { success: true, changes, running, steps: effects, corrections } };
    },
  }),

  workspaceRoute({
    id: 'listCampaignCorrections',
    method: 'GET',
    path: '/api/campaigns/{id}/corrections',
    tag: 'Campaigns',
    summary: 'Say who got a text of a campaign that has changed since, and how each can be corrected',
    description: 'Steps whose text everybody has are left out.',
    params: CampaignParams,
    responses: {
      200: z.object({ success: z.literal(true), version: z.int(), steps: z.array(StepCorrection) }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, now, carriers: { capabilitiesOf } }) {
      const campaign = await findCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      const { version, steps } = campaign;
      const corrections = version === 1 ? [] : await correctionsOf(db, campaign, steps, capabilitiesOf, now);
      return { status: 200, body: { success: true, version, steps: corrections } };
    },
  }),

  workspaceRoute({
    id: 'correctCampaign',
    method: 'POST',
    path: '/api/campaigns/{id}/corrections',
    tag: 'Campaigns',
    needsSubscription: true,
    summary: 'Correct a text of a campaign for those who got the former one',
    description:
      'Messages that their line can edit get the text of the step where they are. The others get a message, paced like every step. Nobody gets a version of a text twice, and who stopped, is paused or opted out gets none. A request corrects at most 500 messages, oldest first; `nextCursor`, sent as `cursor`, continues. An edit that fails is followed by a message.',
    limit: perMinute(200),
    params: CampaignParams,
    body: CorrectionInput,
    responses: {
      202: z.object({
        success: z.literal(true),
        edited: z.int().meta({ description: 'Messages that are edited.' }),
        sent: z.int().meta({ description: 'Messages that are sent.' }),
        nextCursor: z.string().nullable().meta({ description: 'null: there are no others.' }),
      }),
    },
    errors: ['NOT_FOUND', 'INVALID_STATE', 'LIMIT_REACHED'],
    audit: { action: 'campaign.corrected', target: 'campaign', changes: ['stepId'] },
    async handler({ db, caller, params, body: { stepId, message = null, cursor }, now, ...services }) {
      const campaign = await lockCampaign(db, params.id);
      if (!campaign) throw campaignNotFound();
      if (campaign.status === 'draft' || campaign.status === 'archived')
        throw new ApiError('INVALID_STATE', `A campaign that is ${campaign.status} sends nothing`);
      const request = actionRequest({ caller, now, ...services });
      const done = await correctTexts(db, campaign, { stepId, message, after: cursor }, request);
      return { status: 202, body: { success: true, ...done } };
    },
  }),
];
