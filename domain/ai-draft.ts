import { z } from 'zod';
import { ApprovalChannel } from './events/ai-draft.ts';
import { Id } from './ids.ts';
import { TemplateText } from './message.ts';

/** `drafted` is open; the next three are resolutions; a newer reply supersedes an open draft. */
export const DraftStatus = z.enum(['drafted', 'approved', 'rejected', 'claimed', 'superseded']);
export type DraftStatus = z.infer<typeof DraftStatus>;

/** Adds the internal states before a draft exists, which the API never returns. */
export const StoredDraftStatus = z.enum(['waiting', 'failed', ...DraftStatus.options]);

export const DraftAction = z.enum(['approve', 'reject', 'mark_sent']);
export type DraftAction = z.infer<typeof DraftAction>;

/** The status that each action sets. */
export const RESOLVED_AS = {
  approve: 'approved',
  reject: 'rejected',
  mark_sent: 'claimed',
} as const satisfies Record<DraftAction, DraftStatus>;

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

/** A draft as the API lists it. */
export const AutoReply = z
  .object({
    replyId: Id,
    status: DraftStatus,
    draftMessage: z.string(),
    conversationRecipient: z.string(),
    inboundText: z.string(),
    leadId: Id.nullable(),
    confidence: z.number().min(0).max(1),
    tags: z.array(z.string()),
    sentiment: Sentiment.nullable(),
    mode: z.literal('copilot'),
    approvalChannel: ApprovalChannel.nullable(),
    messageId: Id.nullable().meta({ description: 'The message that answered the contact.' }),
    model: z.string().nullable(),
    promptTokens: z.int().nullable(),
    completionTokens: z.int().nullable(),
    createdAt: z.iso.datetime(),
    resolvedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AutoReply' });
export type AutoReply = z.infer<typeof AutoReply>;

/** A reviewer's decision on a draft. */
export const DraftResolution = z
  .object({
    replyId: z.string().max(100),
    action: DraftAction,
    message: TemplateText.trim()
      .min(1)
      .optional()
      .meta({ description: 'With `approve`: the text to send instead of the draft.' }),
  })
  .refine(({ action, message }) => action === 'approve' || message === undefined, {
    path: ['message'],
    message: 'is only allowed with the action approve',
  })
  .meta({ id: 'DraftResolution' });
