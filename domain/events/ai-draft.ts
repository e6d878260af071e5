import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { eventBase } from './base.ts';

/** Who wrote a draft: the copilot, a signed-in user, or a program with a key. */
export const DraftSource = z.enum(['copilot', 'dashboard', 'api']).meta({
  id: 'DraftSource',
  description: 'Who wrote the draft: the AI copilot, a signed-in user, or a program with a key.',
});
export type DraftSource = z.infer<typeof DraftSource>;

/** Where a draft was resolved. */
export const ApprovalChannel = z.enum([
  'dashboard',
  'api',
  'chat_app',
  'chat_app_edit',
  'chat_app_retry',
  'inbox_direct_send',
]);
export type ApprovalChannel = z.infer<typeof ApprovalChannel>;

const DraftLead = z
  .object({ firstName: z.string(), lastName: z.string(), phone: z.string().nullable() })
  .meta({ id: 'DraftLead' });

const draftEvent = <Name extends string, Data extends z.ZodObject>(event: Name, data: Data) =>
  eventBase(event).extend({
    messageId: Id.meta({
      description:
        'The id of the draft, `replyId`. For a draft of the copilot, the id of the reply that it answers.',
    }),
    message: z.string().meta({ description: 'The text of the draft.' }),
    lead: DraftLead.optional(),
    data,
  });

/** A draft awaits review; nothing has been sent. */
export const AiDraft = draftEvent(
  'message.ai_draft',
  z.object({
    replyId: Id,
    source: DraftSource,
    draftMessage: z.string(),
    conversationRecipient: z.string(),
    inboundText: z
      .string()
      .meta({ description: 'The reply that the draft answers; empty if the contact has not written.' }),
    confidence: z
      .number()
      .min(0)
      .max(1)
      .meta({ description: "The copilot's confidence; 0 if somebody else wrote the draft." }),
    version: z
      .int()
      .meta({ description: 'From 1. A draft of which somebody asks for another version is told again.' }),
    mode: z.literal('copilot'),
    approveEndpoint: z.literal('/api/knowledge-base/auto-replies'),
  }),
);

const Resolution = z.object({ replyId: Id, approvalChannel: ApprovalChannel });
export const AiDraftApproved = draftEvent('message.ai_draft_approved', Resolution);
export const AiDraftRejected = draftEvent('message.ai_draft_rejected', Resolution);
