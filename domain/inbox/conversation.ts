import { z } from 'zod';
import { Instant } from '../base/moment.ts';
import { Id } from '../base/ids.ts';
import { Effect } from '../messages/effect.ts';
import { Group } from './group.ts';
import { MessageStatus } from '../messages/message-status.ts';
import { ShownReaction } from '../messages/reaction.ts';
import { ReplyWarning } from './reply.ts';
import { ROUND_ROBIN } from './round-robin.ts';
import { SenderAuthentication } from '../lines/sender-authentication.ts';
import { composed, oneLine } from '../base/text.ts';

export const ConversationStatus = z.enum(['open', 'snoozed', 'closed']);
export type ConversationStatus = z.infer<typeof ConversationStatus>;

/** The stored status, taking into account that a snooze may have ended, which the sweep records a little later. */
export const statusAt = (
  { status, snoozedUntil }: { status: ConversationStatus; snoozedUntil: Date | null },
  now: Date,
): ConversationStatus =>
  status === 'snoozed' && snoozedUntil !== null && snoozedUntil <= now ? 'open' : status;

/** For this long after a contact wrote, messages to them are answers: sent by the line they wrote to, and before others. */
export const ANSWER_MS = 24 * 3_600_000;

/** How far an inbox looks back for unread messages. */
export const UNREAD_DAYS = 30;
/** Counts of unread messages and conversations stop here. */
export const MAX_UNREAD = 100;

/** The conversation with one address, as the inbox lists it. */
export const Conversation = z
  .object({
    address: z.string().meta({
      description:
        'The phone number or email address, which identifies the conversation; of a group `group:` and its id.',
    }),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    leadId: Id.nullable(),
    name: z.string(),
    group: Group.nullable().meta({ description: 'Null unless it is the conversation of a group.' }),
    lineId: Id.nullable().meta({ description: 'The line assigned to the contact.' }),
    tags: z.array(z.string()),
    optedOut: z.boolean(),
    lastMessage: z.string().meta({
      description:
        'Empty if it was unsent or has files only, and if there is no message yet; `lastDirection` and `lastAt` are null then.',
    }),
    lastDirection: z.enum(['in', 'out']).nullable(),
    lastAt: z.iso.datetime().nullable(),
    lastUnsentAt: z.iso.datetime().nullable().meta({ description: 'When the last message was unsent.' }),
    lastInboundAt: z.iso.datetime().nullable(),
    lastOutboundAt: z.iso.datetime().nullable(),
    inboxHref: z.string(),
    status: ConversationStatus,
    snoozedUntil: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'Null unless the conversation is snoozed.' }),
    assigneeId: z.string().nullable().meta({ description: 'The id of the assignee.' }),
    unread: z.boolean().meta({
      description: `Whether the contact has written since the user read the conversation, in the last ${UNREAD_DAYS} days and since they became a member. For a key, which reads nothing: since the last message to the contact.`,
    }),
    unreadCount: z
      .int()
      .meta({ description: `Messages of the contact that are unread, up to ${MAX_UNREAD}.` }),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

/** A file of a message in a conversation. */
const ThreadFile = z
  .object({
    url: z.string(),
    name: z.string(),
    contentType: z.string().nullable().meta({ description: 'By its content or its name; null if unknown.' }),
    size: z.int().nullable().meta({ description: 'Bytes; null if the file is stored elsewhere.' }),
  })
  .meta({ id: 'ThreadFile' });
export type ThreadFile = z.infer<typeof ThreadFile>;

/** One message of a conversation, inbound or outbound. */
export const ThreadItem = z
  .object({
    messageId: Id,
    direction: z.enum(['in', 'out']),
    participant: z.string().nullable().meta({
      description: 'Inbound messages of a group: the phone number or email address of who wrote it.',
    }),
    message: z.string().meta({ description: 'Inbound messages: the first 20,000 characters.' }),
    at: z.iso.datetime().meta({ description: 'When it was sent or received, or is scheduled.' }),
    lineId: Id.nullable(),
    campaignId: Id.nullable(),
    status: MessageStatus.nullable().meta({ description: 'Outbound messages only.' }),
    deliveredAt: z.iso.datetime().nullable(),
    readAt: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When the contact read it, if the carrier reports that.' }),
    errorMessage: z.string().nullable().meta({ description: 'Why it failed.' }),
    voiceNote: z.boolean().meta({ description: 'Outbound messages: sent as a voice note.' }),
    autoReply: z.boolean().meta({ description: 'An automatic reply, which does not count as a reply.' }),
    subject: z.string().nullable().meta({
      description: 'Of an email: as it was sent or received. Null if there is none, or not yet.',
    }),
    warning: ReplyWarning,
    authentication: SenderAuthentication.nullable().meta({
      description:
        'Inbound emails: what the receiving mail server found about the sender; null if it was not checked.',
    }),
    originalMessageId: Id.nullable().meta({
      description:
        'Inbound messages: the outbound message that it replies to, which is the last one unless the carrier names another.',
    }),
    replyToMessageId: Id.nullable().meta({
      description:
        'The message of the contact, or of ours, that it answers in particular, as phones show it. Inbound emails: null.',
    }),
    effect: Effect.nullable().meta({ description: 'Outbound messages only.' }),
    attachmentUrls: z.array(z.string()),
    attachmentNames: z.array(z.string()),
    attachments: z.array(ThreadFile).meta({ description: 'The same files, with their types and sizes.' }),
    reactions: z.array(ShownReaction),
    editedAt: z.iso.datetime().nullable().meta({ description: 'When it was last edited.' }),
    unsentAt: z.iso
      .datetime()
      .nullable()
      .meta({ description: 'When it was taken back: its text and files are no longer shown.' }),
    isShortened: z.boolean().meta({
      description:
        'Inbound messages: `message` is a part of it, without quoted text and a signature, or its beginning. `GET /api/replies/{id}` returns the whole text.',
    }),
    transcript: z.string().nullable().meta({
      description:
        'Inbound messages: what a model heard in their audio, which may be wrong. Null: nothing, or not yet.',
    }),
  })
  .meta({ id: 'ThreadItem' });
export type ThreadItem = z.infer<typeof ThreadItem>;

/** How many conversations the views of an inbox have. All are exact. */
export const ConversationCounts = z
  .object({
    open: z.int(),
    unanswered: z.int().meta({
      description:
        'Open, and the contact wrote last. A message answers from its acceptance, unless it is canceled or fails. Steps of campaigns, drips and automatic replies answer nobody.',
    }),
    unread: z.int().meta({ description: 'Open, and unread by the user.' }),
    mine: z.int().meta({ description: 'Open, and assigned to the user; 0 for a key.' }),
    unassigned: z.int().meta({ description: 'Open, and assigned to nobody.' }),
    snoozed: z.int(),
    drafts: z.int().meta({ description: 'Drafts that wait for a decision.' }),
    suspected: z.int().meta({ description: 'Suspected opt-outs that wait for a decision.' }),
  })
  .meta({ id: 'ConversationCounts' });
export type ConversationCounts = z.infer<typeof ConversationCounts>;

/** For `refine`: a member, or whose turn it is. */
export const ONE_ASSIGNEE: [
  (change: { assign?: unknown; assigneeId?: unknown }) => boolean,
  { path: string[]; message: string },
] = [
  ({ assign, assigneeId }) => assign === undefined || assigneeId === undefined,
  { path: ['assign'], message: 'cannot be combined with assigneeId' },
];

/** A snooze has its end, and nothing else has. */
export function snoozeHasTime(
  {
    status,
    snoozedUntil,
  }: { status?: ConversationStatus | undefined; snoozedUntil?: string | null | undefined },
  context: z.RefinementCtx,
): void {
  const message =
    status === 'snoozed' && !snoozedUntil
      ? 'is required to snooze'
      : status !== 'snoozed' && snoozedUntil
        ? 'requires the status snoozed'
        : null;
  if (message !== null) context.addIssue({ code: 'custom', path: ['snoozedUntil'], message });
}

/** The body of `PATCH /api/conversations/{address}`. */
export const ConversationPatch = z
  .object({
    status: ConversationStatus.optional(),
    snoozedUntil: Instant.nullable().optional().meta({
      description:
        'A time in the future, at which the conversation opens again. Required for `snoozed`; null otherwise, or omitted.',
    }),
    assigneeId: z
      .string()
      .min(1)
      .max(200)
      .nullable()
      .optional()
      .meta({ description: 'The id of a member; null: nobody.' }),
    assign: z.literal(ROUND_ROBIN).optional().meta({
      description:
        'Instead of `assigneeId`: the member who is not away and has the fewest open conversations.',
    }),
  })
  .superRefine(snoozeHasTime)
  .refine(...ONE_ASSIGNEE)
  .meta({ id: 'ConversationPatch' });
export type ConversationPatch = z.infer<typeof ConversationPatch>;

/** The filters of `GET /api/conversations`, which all have to match. */
export const ConversationFilters = z.object({
  status: ConversationStatus.optional(),
  assignee: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: '`me`, `none`, or the id of a user. `me` needs a session.' }),
  tag: z.string().trim().min(1).max(50).overwrite(composed).optional(),
  unread: z.enum(['true', 'false']).optional(),
  unanswered: z.enum(['true', 'false']).optional().meta({
    description: 'Whether it is open and the contact wrote last, as in the counts.',
  }),
  drafted: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Whether a draft waits to be approved.' }),
  line: Id.optional().meta({ description: 'The line assigned to the contact.' }),
  q: z.string().trim().min(1).max(100).optional().meta({
    description:
      'Part of a name, an address or a text, without regard to case and accents. Searched are the first 2,000 characters of the newest 5,000 each of replies, sent messages, fallback SMS and notes.',
  }),
});
export type ConversationFilters = z.infer<typeof ConversationFilters>;

export const MAX_TAGS = 50;

const Tag = z
  .string()
  .trim()
  .min(1)
  .max(50)
  .overwrite((tag) => composed(oneLine(tag)));
export const Tags = z.array(Tag).max(MAX_TAGS);

/** Without duplicates, which differ in case only; the last spelling counts. */
export const uniqueTags = (tags: readonly string[]): string[] => [
  ...new Map(tags.map((tag) => [tag.toLowerCase(), tag])).values(),
];

/** As tags are compared: in lower case. */
export const lowerCaseTags = (tags: readonly string[]): string[] => tags.map((tag) => tag.toLowerCase());

/** The complete set of tags; duplicates are removed case-insensitively. */
export const TagsInput = z
  .object({ tags: Tags })
  .transform(({ tags }) => ({ tags: uniqueTags(tags) }))
  .meta({ id: 'TagsInput' });
