import { z } from 'zod';
import { Id, UserId, WorkspaceId } from '../base/ids.ts';
import { Instant } from '../base/moment.ts';
import { MessageInput } from '../messages/message.ts';
import { TimeZone } from '../base/time-zone.ts';
import { CampaignQuietHours } from '../sending/quiet-hours.ts';
import { Condition, fitTogether } from './condition.ts';
import { CampaignStep, NewSteps } from './step.ts';
import { oneLine } from '../base/text.ts';
import { Audience } from '../contacts/segment.ts';

export const CampaignStatus = z
  .enum(['draft', 'active', 'paused', 'completed', 'archived'])
  .meta({ id: 'CampaignStatus' });
export type CampaignStatus = z.infer<typeof CampaignStatus>;

/** What changes the status of a campaign, from which statuses, and to which. Deleting one archives it as well. */
export const CAMPAIGN_CHANGES = {
  start: { from: ['draft'], to: 'active' },
  pause: { from: ['active'], to: 'paused' },
  resume: { from: ['paused'], to: 'active' },
  archive: { from: ['draft', 'active', 'paused', 'completed'], to: 'archived' },
  /** No lead is under way. */
  complete: { from: ['active'], to: 'completed' },
  /** A lead is added. */
  reopen: { from: ['completed'], to: 'active' },
} as const satisfies Record<string, { from: readonly CampaignStatus[]; to: CampaignStatus }>;

export const OnReply = z.enum(['stop', 'pause', 'continue']);
export type OnReply = z.infer<typeof OnReply>;

const { sendWindowStart, sendWindowEnd, allowedDaysOfWeek, eligibleLineIds, stickinessPolicy } =
  MessageInput.shape;

const fields = {
  name: z.string().trim().min(1, 'must not be empty').max(200).overwrite(oneLine),
  description: z.string().max(2000).optional(),
  steps: NewSteps,
  listId: Id.nullish().meta({
    description:
      'The list whose leads enter when the campaign starts. Leads added to the campaign one by one are also added to the list.',
  }),
  segmentId: Id.nullish().meta({
    description: 'The segment whose leads enter. Cannot be combined with `listId`.',
  }),
  audience: Audience.optional().meta({
    description:
      '`snapshot`: who is in the segment when the campaign starts. `live`: also who comes to be in it later, until the campaign is archived. Default: `snapshot`.',
  }),
  eligibleLineIds: eligibleLineIds.nullish(),
  poolId: Id.nullish().meta({
    description:
      'The pool whose lines send the messages; its `sticky` overrides `stickinessPolicy`. Cannot be combined with `eligibleLineIds`.',
  }),
  stickinessPolicy,
  timezone: TimeZone.nullish(),
  sendWindowStart: sendWindowStart.nullish(),
  sendWindowEnd: sendWindowEnd.nullish(),
  allowedDaysOfWeek: allowedDaysOfWeek.nullish(),
  quietHours: CampaignQuietHours.nullish().meta({
    description: "Replaces the workspace's quiet hours; null: the workspace's apply.",
  }),
  requireConsent: z.boolean().optional().meta({
    description:
      'Only leads whose latest consent (`POST /api/consents`) for the address and channel of a step is a consent get it. Default: false.',
  }),
  stopOnReply: z.boolean().optional().meta({
    description: 'Short for `onReply`: true for `stop`, false for `continue`.',
  }),
  onReply: OnReply.optional().meta({
    description:
      'What a reply does to the lead. `pause`: it gets nothing until `PATCH /api/leads/{id}/campaigns/{campaignId}`. Default: `stop`, unless a new campaign asks about `replied`. An automatic reply that says that the contact is away pauses the lead until the date in it.',
  }),
  stopWhen: z.array(Condition).max(20).superRefine(fitTogether).optional().meta({
    description:
      'Stops a lead for whom one of them holds: judged before each of its steps, and when what it is about changes. Default: none.',
  }),
  finishBy: Instant.nullish().meta({
    description:
      'By when it is to be finished. `POST /api/campaigns/{id}/forecast` says whether it will be, and `campaign.will_be_late` is sent when it will not.',
  }),
  needsAiPersonalization: z.boolean().optional().meta({
    description:
      'The language model rewrites each message for its lead, some minutes before it is due. If it fails, the rendered template is sent.',
  }),
};

/** The body of `POST /api/campaigns`. */
export const CampaignInput = z
  .object({ ...fields, start: z.boolean().default(false) })
  .meta({ id: 'CampaignInput' });
export type CampaignInput = z.output<typeof CampaignInput>;

/** The body of `PATCH /api/campaigns/{id}`. */
export const CampaignPatch = z
  .object({
    ...fields,
    version: z
      .int()
      .meta({ description: 'The version that was read: refused if the steps have changed since.' }),
  })
  .partial()
  .meta({ id: 'CampaignPatch' });
export type CampaignPatch = z.output<typeof CampaignPatch>;

/** A campaign as the API returns it. */
export const Campaign = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    name: z.string(),
    description: z.string(),
    status: CampaignStatus,
    steps: z.array(CampaignStep),
    version: z
      .int()
      .meta({ description: 'Of the steps: each change after leads have entered makes the next.' }),
    stepIds: z.array(z.string()).meta({
      description:
        'The ids of all steps that it ever had. The `stepIndex` of a message or a lead is a place among them, from 0.',
    }),
    listId: Id.nullable(),
    segmentId: Id.nullable(),
    audience: Audience,
    eligibleLineIds: z.array(z.string()).nullable(),
    poolId: Id.nullable(),
    stickinessPolicy: z.enum(['sticky', 'round_robin']),
    timezone: z.string().nullable(),
    sendWindowStart: z.string().nullable(),
    sendWindowEnd: z.string().nullable(),
    allowedDaysOfWeek: z.array(z.int()).nullable(),
    quietHours: CampaignQuietHours.nullable(),
    requireConsent: z.boolean(),
    stopOnReply: z.boolean().meta({ description: 'Whether `onReply` is `stop`.' }),
    onReply: OnReply,
    stopWhen: z.array(Condition),
    finishBy: z.iso.datetime().nullable(),
    isLate: z.boolean().meta({
      description:
        'The last forecast said that it is not finished by `finishBy`. One is made once an hour while it is active.',
    }),
    needsAiPersonalization: z.boolean(),
    createdByUserId: UserId.nullable(),
    startedAt: z.iso.datetime().nullable(),
    completedAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Campaign' });
export type Campaign = z.infer<typeof Campaign>;

/** How many leads are in each state of a campaign. */
export const CampaignProgress = z
  .object({
    entered: z.int(),
    running: z.int().meta({ description: 'Leads with remaining steps.' }),
    finished: z.int().meta({ description: 'Leads that were sent every step.' }),
    stopped: z.int().meta({
      description: 'Leads that replied, opted out, could not be reached, had not consented or were removed.',
    }),
    noConsent: z.int().meta({
      description: 'The stopped leads that had not consented (`requireConsent`).',
    }),
    enteredAll: z.boolean().meta({ description: 'Whether all leads of the list have entered.' }),
  })
  .meta({ id: 'CampaignProgress' });
export type CampaignProgress = z.infer<typeof CampaignProgress>;
