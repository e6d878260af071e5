import { z } from 'zod';
import { TimeZone } from '../base/time-zone.ts';
import { Channel } from '../base/channel.ts';
import { Id, UserId, WorkspaceId } from '../base/ids.ts';
import { Effect } from './effect.ts';
import { OWN_REACTIONS } from './message-action.ts';
import { MessageStatus } from './message-status.ts';
import { Moment } from '../base/moment.ts';
import { ShownReaction } from './reaction.ts';
import { templateProblem } from './template.ts';
import { isLonger, oneLine } from '../base/text.ts';
import { Transport } from './transport.ts';
import { VariantName } from './variant-name.ts';

export const MAX_BODY_LENGTH = 10_000;

/** A Liquid template: validated when it is accepted, rendered with the lead's fields when it is sent. */
export const TemplateText = z
  .string()
  .max(MAX_BODY_LENGTH)
  .superRefine((text, context) => {
    // `max` reports a text that is too long; parsing it could be slow.
    const problem = isLonger(text, MAX_BODY_LENGTH) ? null : templateProblem(text);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({ description: "A Liquid template, rendered with the lead's fields when the message is sent." });

const TimeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day as HH:mm');

/** The maximum length of names and correlation ids. */
export const MAX_NAME_LENGTH = 200;

const Name = z.string().max(MAX_NAME_LENGTH).overwrite(oneLine);
const MAX_SUBJECT_LENGTH = 500;
/** The subject of an email, which is a template as well. */
export const SubjectLine = z.string().max(MAX_SUBJECT_LENGTH).overwrite(oneLine);
const Subject = SubjectLine.superRefine((text, context) => {
  const problem = isLonger(text, MAX_SUBJECT_LENGTH) ? null : templateProblem(text);
  if (problem !== null) context.addIssue({ code: 'custom', message: problem });
}).meta({
  description:
    "The subject of an email, a Liquid template like `message`. Default: the first line of the message, or for an answer or a later step of a sequence, the thread's.",
});

/** Ids of external CRMs: stored unchanged and returned in every event of the message. */
export const CrmIds = z.object({
  crmAContactId: Name.optional(),
  crmAPortalId: Name.optional(),
  crmBContactId: Name.optional(),
  crmBLocationId: Name.optional(),
  crmCCompanyId: Name.optional(),
  crmCPersonId: Name.optional(),
  crmCLeadId: Name.optional(),
});
export type CrmIds = z.infer<typeof CrmIds>;
export const CRM_FIELDS = CrmIds.keyof().options;

/** The body of `POST /api/drip`; the other fields of a message are ignored. */
export const DripInput = z
  .object({
    message: TemplateText.optional(),
    messageType: Channel.optional(),
    recipientPhone: z.string().max(40).optional(),
    recipientEmail: z.string().max(320).optional(),
    recipientName: Name.optional(),
    leadId: z.string().min(1).max(100).optional(),
    fromLineId: z.string().min(1).max(100).optional(),
    poolId: z.string().min(1).max(100).optional().meta({
      description:
        'A pool, whose strategy selects the line. Cannot be combined with `fromLineId` or `eligibleLineIds`.',
    }),
    subject: Subject.optional(),
    attachmentUrls: z.array(z.string().max(2000)).max(2).optional(),
    attachmentNames: z.array(z.string().max(255).overwrite(oneLine)).max(2).optional(),
    voiceNote: z.boolean().optional(),
    sendFallbackSmsOnFailed: z.boolean().optional(),
    smsFallbackEnabled: z.boolean().optional(),
    forceFallback: z.boolean().optional(),
    smsFallbackMessage: TemplateText.optional(),
    correlationId: Name.optional(),
    traceId: Name.optional(),
    timezone: TimeZone.optional(),
    sendWindowStart: TimeOfDay.optional(),
    sendWindowEnd: TimeOfDay.optional(),
    allowedDaysOfWeek: z.array(z.int().min(0).max(6)).min(1).max(7).optional(),
    ...CrmIds.shape,
  })
  .meta({ id: 'DripInput' });
export type DripInput = z.infer<typeof DripInput>;

/** What a line may send besides a text. One that cannot is no error: the response has the warning `unsupported_effect`. */
export const RichFields = z.object({
  replyToMessageId: z.string().min(1).max(100).optional().meta({
    description:
      'The message of the contact, or of ours, that it answers: shown as such where the line has `replies`.',
  }),
  effect: Effect.optional().meta({ description: 'Where the line has `effects`.' }),
});

/** One text, or several that are sent one after the other. */
export const Bubbles = z
  .union(
    [
      TemplateText,
      z
        .array(TemplateText.refine((text) => text.trim() !== '', 'must not be empty'))
        .min(2)
        .max(5),
    ],
    'must be a text, or 2 to 5 texts',
  )
  .meta({
    description:
      'A Liquid template, or 2 to 5 of them, which are sent one after the other, 1 to 3 seconds apart. They have one place under the limits, and those that have not left are canceled if the contact writes.',
  });

/** A message of one text, with all that it may say besides. */
export const MessageInput = DripInput.extend({
  scheduledDate: Moment.optional().meta({
    description:
      "The earliest time to send it. A date means the start of that day; without an offset it is in `timezone`, otherwise in the workspace's time zone.",
  }),
  batchId: Name.optional(),
  stepIndex: z.int().min(0).max(10_000).optional(),
  eligibleLineIds: z.array(z.string().max(100)).min(1).max(500).optional(),
  stickinessPolicy: z.enum(['sticky', 'round_robin']).optional(),
  ...RichFields.shape,
});
export type MessageInput = z.infer<typeof MessageInput>;

/** The body of `POST /api/messages`. */
export const MessageRequest = MessageInput.extend({ message: Bubbles.optional() }).meta({
  id: 'MessageInput',
});

export const BubbleIds = z.array(Id).meta({
  description: 'The messages of the further texts, in order, if `message` has several.',
});

/** The body of `PATCH /api/messages/{id}`. */
export const MessageEdit = z.object({ message: TemplateText }).meta({ id: 'MessageEdit' });

/** Digits are parts of emoji, too. */
const isOneEmoji = (text: string): boolean =>
  /\p{RGI_Emoji}|\p{Extended_Pictographic}/v.test(text) && [...GRAPHEMES.segment(text)].length === 1;
const GRAPHEMES = new Intl.Segmenter();

/** The body of `POST /api/messages/{id}/reactions`. */
export const ReactionInput = z
  .object({
    reaction: z.enum(OWN_REACTIONS),
    emoji: z
      .emoji()
      .max(64, { abort: true })
      .refine(isOneEmoji, 'must be one emoji')
      .optional()
      .meta({ description: 'One emoji, if `reaction` is `emoji`.' }),
    remove: z.boolean().optional().meta({ description: 'Removes the reaction again.' }),
  })
  .refine(({ reaction, emoji }) => (reaction === 'emoji') === (emoji !== undefined), {
    path: ['emoji'],
    message: 'is required if `reaction` is `emoji`, and not allowed otherwise',
  })
  .meta({ id: 'ReactionInput' });
export type ReactionInput = z.infer<typeof ReactionInput>;

/** A message as the API returns it; fields that are not set are null. */
export const Message = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    message: z.string().meta({ description: 'The template; once the message is sent, the rendered text.' }),
    messageType: Channel,
    subject: z.string().nullable().meta({
      description: 'Of an email: as given; once the message is sent, as sent.',
    }),
    status: MessageStatus,
    holdReason: z.string().nullable().meta({
      description: 'Why it has not been sent yet, for example `hourly_new_cap` or `subscription_past_due`.',
    }),
    fromLineId: Id.nullable(),
    poolId: Id.nullable(),
    recipientPhone: z.string().nullable(),
    recipientEmail: z.string().nullable(),
    recipientName: z.string().nullable(),
    leadId: Id.nullable(),
    groupId: Id.nullable().meta({ description: 'The group to which it is sent, if it is no contact.' }),
    createdByUserId: UserId.nullable(),
    attachmentUrls: z.array(z.string()),
    attachmentNames: z.array(z.string()),
    voiceNote: z.boolean(),
    replyToMessageId: Id.nullable().meta({ description: 'The message that it answers.' }),
    effect: Effect.nullable(),
    cancelIfReply: z.boolean().meta({
      description: 'It is canceled if the contact writes before it is sent.',
    }),
    bubbleOf: Id.nullable().meta({
      description: 'The first of the texts that were given as one `message`, if it is a later one of them.',
    }),
    fallbackSmsDispatched: z.boolean(),
    source: z.string(),
    correlationId: z.string().nullable(),
    traceId: z.string().nullable(),
    scheduledDate: z.iso.datetime().nullable(),
    batchId: z.string().nullable(),
    stepIndex: z.int().nullable(),
    variant: VariantName.nullable().meta({
      description: "The A/B text of the campaign's step; null: the step has none.",
    }),
    campaignId: Id.nullable(),
    errorMessage: z.string().nullable(),
    transport: Transport.nullable().meta({
      description: 'How it went; null: it has not left, or is an email.',
    }),
    sentAt: z.iso.datetime().nullable(),
    deliveredAt: z.iso.datetime().nullable(),
    readAt: z.iso.datetime().nullable(),
    editedAt: z.iso.datetime().nullable().meta({
      description: 'When its text was last replaced after it was sent.',
    }),
    unsentAt: z.iso.datetime().nullable().meta({ description: 'When it was taken back.' }),
    reactions: z.array(ShownReaction).meta({
      description: 'Of the contact, and our own.',
    }),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    ...CrmIds.shape,
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof Message>;
