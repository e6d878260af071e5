import { z } from 'zod';
import { ApprovalChannel, DraftSource } from '../events/ai-draft.ts';
import { Id } from '../base/ids.ts';
import { MessageInput, RichFields, TemplateText } from '../messages/message.ts';

/** `drafted` is open; the next three are resolutions; a newer reply or draft supersedes an open draft. */
export const DraftStatus = z.enum(['drafted', 'approved', 'rejected', 'claimed', 'superseded']);
export type DraftStatus = z.infer<typeof DraftStatus>;

/**
 * The stored statuses and their transitions. A draft that is `waiting` has no text yet, or lost it because its contact may
 * have opted out; one that `failed` got none. The API returns neither.
 */
export const DRAFT_TRANSITIONS = {
  waiting: ['drafted', 'failed', 'superseded'],
  drafted: ['waiting', 'approved', 'rejected', 'claimed', 'superseded'],
  failed: [],
  approved: [],
  rejected: [],
  claimed: [],
  superseded: [],
} as const satisfies Record<DraftStatus | 'waiting' | 'failed', readonly string[]>;
export const StoredDraftStatus = z.enum(
  Object.keys(DRAFT_TRANSITIONS) as [keyof typeof DRAFT_TRANSITIONS, ...(keyof typeof DRAFT_TRANSITIONS)[]],
);

/** What becomes of a draft with this status. */
export type DraftBecomes<From extends keyof typeof DRAFT_TRANSITIONS> =
  (typeof DRAFT_TRANSITIONS)[From][number];

export const DraftAction = z.enum(['approve', 'reject', 'mark_sent']);
export type DraftAction = z.infer<typeof DraftAction>;

/** How many versions of a draft there may be. */
export const MAX_VERSIONS = 5;

/** A version of a draft that another one replaced. */
export const FormerVersion = z.object({
  version: z.int(),
  draft: z.string(),
  confidence: z.number(),
  hint: z.string().nullable(),
});
export type FormerVersion = z.infer<typeof FormerVersion>;

/** The status that each action sets. */
export const RESOLVED_AS = {
  approve: 'approved',
  reject: 'rejected',
  mark_sent: 'claimed',
} as const satisfies Record<DraftAction, DraftBecomes<'drafted'>>;

/** A closed set: a contact cannot inject tags of their own through the model. */
export const DraftTag = z.enum([
  'interested',
  'not_interested',
  'question',
  'objection',
  'meeting_requested',
  'call_back',
  'wrong_person',
]);
export const Sentiment = z.enum(['positive', 'neutral', 'negative']);
export type Sentiment = z.infer<typeof Sentiment>;
export type DraftTag = z.infer<typeof DraftTag>;

/** Why a person should answer instead of the autopilot. */
export const HandOverReason = z.enum([
  'legal',
  'opt_out_doubt',
  'asks_for_person',
  'price',
  'objection',
  'wrong_person',
  'negative',
]);
export type HandOver = z.infer<typeof HandOverReason>;

/** A draft that somebody writes for a contact. */
export const DraftInput = z
  .object({
    replyId: z.string().min(1).max(100).optional().meta({ description: 'The reply that it answers.' }),
    leadId: z.string().min(1).max(100).optional(),
    phone: z.string().min(1).max(40).optional(),
    email: z.string().min(1).max(320).optional(),
    message: TemplateText.trim().min(1),
  })
  .refine(
    ({ replyId, leadId, phone, email }) =>
      [replyId, leadId, phone, email].filter((name) => name !== undefined).length === 1,
    { path: ['replyId'], message: 'name the contact by exactly one of replyId, leadId, phone and email' },
  )
  .meta({ id: 'DraftInput' });
export type DraftInput = z.infer<typeof DraftInput>;

/** A draft as the API lists it. */
export const AutoReply = z
  .object({
    replyId: Id.meta({
      description: "The draft's id. For a draft of the copilot, the id of the reply that it answers.",
    }),
    answeredReplyId: Id.nullable().meta({
      description: 'The reply that the draft answers; null if the contact has not written.',
    }),
    source: DraftSource,
    status: DraftStatus,
    draftMessage: z.string(),
    conversationRecipient: z.string(),
    inboundText: z.string().meta({ description: 'The text of that reply; empty if there is none.' }),
    leadId: Id.nullable(),
    confidence: z
      .number()
      .min(0)
      .max(1)
      .meta({ description: "The copilot's confidence; 0 if somebody else wrote the draft." }),
    tags: z.array(z.string()),
    sentiment: Sentiment.nullable(),
    mode: z.literal('copilot'),
    approvalChannel: ApprovalChannel.nullable(),
    resolvedBy: z.string().nullable().meta({
      description: 'Who decided: `user …`, `key …` or `operator …`, or `autopilot`, which needs no approval.',
    }),
    heldBackBy: z.string().nullable().meta({
      description: 'Why the autopilot left it to a person (`HeldBackBy`); null: it did not.',
    }),
    messageId: Id.nullable().meta({ description: 'The message that answered the contact.' }),
    version: z.int().meta({ description: `Of \`draftMessage\`, from 1 to ${MAX_VERSIONS}.` }),
    hint: z.string().nullable().meta({ description: 'With which somebody asked for this version.' }),
    formerVersions: z
      .array(FormerVersion.omit({ draft: true }).extend({ draftMessage: z.string() }))
      .meta({ description: 'The versions before, oldest first.' }),
    retrying: z.boolean().meta({ description: 'Another version is being written.' }),
    retryError: z
      .string()
      .nullable()
      .meta({ description: 'Why the last version that was asked for was not written.' }),
    model: z.string().nullable(),
    promptTokens: z.int().nullable(),
    completionTokens: z.int().nullable(),
    createdAt: z.iso.datetime(),
    resolvedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AutoReply' });
export type AutoReply = z.infer<typeof AutoReply>;

/** The chat apps in which a person decides, as whoever connects them says. */
const ChatChannel = z.literal('chat_app').meta({
  description:
    'A person decided in a chat app. The recorded channel is `chat_app`; of an approval with a text that the person wrote there `chat_app_edit`, and of one after `retry` `chat_app_retry`.',
});

/** In characters. */
const MAX_HINT = 500;

/** What a reviewer does with a draft. */
export const DraftResolution = z
  .object({
    replyId: z.string().max(100),
    action: z.enum([...DraftAction.options, 'retry']),
    hint: z
      .string()
      .trim()
      .min(1)
      .max(MAX_HINT)
      .optional()
      .meta({ description: 'With `retry`: what the next version should do differently.' }),
    approvalChannel: ChatChannel.optional(),
    message: TemplateText.trim()
      .min(1)
      .optional()
      .meta({ description: 'With `approve`: the text to send instead of the draft.' }),
    scheduledDate: MessageInput.shape.scheduledDate.meta({
      description:
        "With `approve`: the earliest time to send it, for example a few seconds ahead in which it can be canceled. Without an offset, in the workspace's time zone.",
    }),
    replyToMessageId: RichFields.shape.replyToMessageId,
  })
  .refine(({ action, hint }) => action === 'retry' || hint === undefined, {
    path: ['hint'],
    message: 'is only allowed with the action retry',
  })
  .refine(({ action, replyToMessageId }) => action === 'approve' || replyToMessageId === undefined, {
    path: ['replyToMessageId'],
    message: 'is only allowed with the action approve',
  })
  .refine(({ action, message }) => action === 'approve' || message === undefined, {
    path: ['message'],
    message: 'is only allowed with the action approve',
  })
  .refine(({ action, scheduledDate }) => action === 'approve' || scheduledDate === undefined, {
    path: ['scheduledDate'],
    message: 'is only allowed with the action approve',
  })
  .meta({ id: 'DraftResolution' });

/** The recorded channel of a decision that a person made in a chat app. */
export function chatChannelOf(
  { action, message }: { action: DraftAction; message?: string | undefined },
  version: number,
): ApprovalChannel {
  if (action !== 'approve') return 'chat_app';
  if (message !== undefined) return 'chat_app_edit';
  return version > 1 ? 'chat_app_retry' : 'chat_app';
}
