import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { WaitingFor } from '../sending/waiting.ts';
import { VariantName } from '../messages/variant-name.ts';

/** A lead that has entered a campaign, and where it is. */
export const CampaignLead = z
  .object({
    campaignId: Id,
    leadId: Id,
    ...Lead.pick({ firstName: true, lastName: true, phone: true, email: true }).shape,
    state: z.enum(['running', 'finished', 'stopped']),
    stopReason: z.string().nullable().meta({
      description:
        'Why it stopped: `reply`, `opt_out`, `suppressed`, `failed`, `no_address`, `no_consent`, `removed` or `stop_condition`; null: it did not.',
    }),
    stepId: z.string().nullable().meta({
      description: 'The step that comes next or at which it waits; null: none does.',
    }),
    stepIndex: z.int().nullable().meta({
      description: 'The number of that step, as in the funnel.',
    }),
    waitsUntil: z.iso.datetime().nullable().meta({
      description: 'When time alone lets it continue; null: it does not wait at a step, or is paused.',
    }),
    waitingFor: WaitingFor.pick({ reason: true, until: true }).nullable().meta({
      description: 'Why its next message is not sent yet; null: none waits.',
    }),
    pausedAt: z.iso.datetime().nullable(),
    pauseReason: z.enum(['reply', 'out_of_office', 'member']).nullable(),
    resumesAt: z.iso.datetime().nullable().meta({
      description: 'When a paused lead goes on; null: when somebody says so.',
    }),
    enteredAt: z.iso.datetime(),
  })
  .meta({ id: 'CampaignLead' });
export type CampaignLead = z.infer<typeof CampaignLead>;

/** What the funnel counts of the messages of a step. */
export const FunnelCount = z.enum([
  'reached',
  'sent',
  'delivered',
  'read',
  'failed',
  'waiting',
  'upcoming',
  'skipped',
  'replied',
  'optedOut',
]);
export type FunnelCount = z.infer<typeof FunnelCount>;

/** Which leads of a campaign are listed. */
export const CampaignLeadFilter = z.object({
  state: CampaignLead.shape.state.optional(),
  stepIndex: z.coerce.number().int().min(0).max(1000).optional().meta({
    description: 'With `counted`: the step of the funnel.',
  }),
  counted: FunnelCount.optional().meta({
    description: 'Only leads that this number of the funnel counts. Default: all leads of the step.',
  }),
  variant: VariantName.optional(),
});
export type CampaignLeadFilter = z.output<typeof CampaignLeadFilter>;
