import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { eventHead } from './base.ts';

/** Every lead of a campaign has finished or stopped. */
export const CampaignCompleted = eventHead('campaign.completed').extend({
  campaignId: Id,
  campaignName: z.string(),
  data: z.object({
    leads: z.int().meta({ description: 'The leads that entered the campaign.' }),
    finished: z.int().meta({ description: 'Those that finished it; the others stopped.' }),
  }),
});
