import { z } from 'zod';
import { Call } from '../inbox/call.ts';
import { Consent } from './consent.ts';
import { Judged } from '../campaigns/judge.ts';
import { DecidingStep } from '../campaigns/walk.ts';
import { ConversationNote } from '../inbox/conversation-note.ts';
import { ThreadItem } from '../inbox/conversation.ts';
import { RuleDeed, RuleTrigger, TextWithheld } from '../inbox/rule.ts';
import { Id } from '../base/ids.ts';
import { OptOutChange } from './opt-out.ts';

const at = z.iso.datetime();
const judged = z.array(Judged).meta({
  description:
    'The conditions that decided, up to 2,000 characters. Empty if there are none, or it is not known.',
});
/** This and calls have names, because openapi-python-client leaves out variants with an object that has none. */
const campaign = z.object({ _id: Id, name: z.string() }).meta({ id: 'ContactTimelineCampaign' });

/** What happened with a contact at one time. */
export const ContactTimelineEntry = z
  .discriminatedUnion('type', [
    z.object({ type: z.literal('message'), at, address: z.string(), message: ThreadItem }),
    z.object({ type: z.literal('campaign_joined'), at, campaign }),
    z.object({
      type: z.literal('campaign_left'),
      at,
      campaign,
      reason: z.string().nullable().meta({
        description:
          '`reply`, `opt_out`, `suppressed`, `failed`, `no_address`, `no_consent`, `removed` or `stop_condition`; null: it had all messages.',
      }),
    }),
    z.object({
      type: z.literal('campaign_decided'),
      at,
      campaign,
      stepId: z.string(),
      step: DecidingStep,
      outcome: z.string().meta({
        description:
          'The name of the branch, `else`, `continued`, `timed_out`, `done`, `ended` or `stopped`.',
      }),
      why: z.string().meta({ description: 'What was judged, for people; may change.' }),
      judged,
    }),
    z.object({
      type: z.literal('rule'),
      at,
      rule: z.object({ _id: Id, name: z.string() }).meta({ id: 'ContactTimelineRule' }),
      on: RuleTrigger,
      did: z.array(RuleDeed),
      withheld: TextWithheld.nullable(),
      messageId: Id.nullable().meta({ description: 'The text that it sent.' }),
      why: z.string().meta({ description: 'What was judged, for people; may change.' }),
      judged,
    }),
    z.object({ type: z.literal('consent'), at, consent: Consent }),
    z.object({ type: z.literal('opt_out'), at, optOut: OptOutChange }),
    z.object({ type: z.literal('note'), at, note: ConversationNote }),
    z.object({ type: z.literal('call'), at, call: Call.meta({ id: 'ContactTimelineCall' }) }),
  ])
  .meta({ id: 'ContactTimelineEntry' });
export type ContactTimelineEntry = z.infer<typeof ContactTimelineEntry>;
