import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { eventHead } from './base.ts';

/** By the forecast, a campaign is not finished by its deadline. */
export const CampaignWillBeLate = eventHead('campaign.will_be_late').extend({
  campaignId: Id,
  campaignName: z.string(),
  data: z.object({
    finishBy: z.iso.datetime(),
    completesAt: z.iso.datetime().nullable().meta({ description: 'null: not as things are.' }),
    lines: z.int().nullable().meta({
      description: 'With how many lines it would be in time; null: more lines alone do not suffice.',
    }),
  }),
});

/** A lead came to a step of a campaign that calls a webhook. */
export const CampaignStepDone = eventHead('campaign.step').extend({
  campaignId: Id,
  campaignName: z.string(),
  leadId: Id,
  stepId: z.string(),
  lead: Lead.meta({ description: 'As the step left it.' }),
});

/** Every lead of a campaign has finished or stopped. */
export const CampaignCompleted = eventHead('campaign.completed').extend({
  campaignId: Id,
  campaignName: z.string(),
  data: z.object({
    leads: z.int().meta({ description: 'The leads that entered the campaign.' }),
    finished: z.int().meta({ description: 'Those that finished it; the others stopped.' }),
  }),
});
