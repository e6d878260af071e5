import { z } from 'zod';
import { Id } from './ids.ts';
import { truncate } from './text.ts';
import { VariantName } from './variant-name.ts';

/** Events and lists contain the first characters of a reply. */
export const SHOWN_LENGTH = 20_000;

export const shownReply = (text: string): string => truncate(text, SHOWN_LENGTH);

/** The files of a reply, in parallel arrays; both are omitted if there are none. */
export const ReplyAttachments = z.object({
  attachmentDownloadUrls: z
    .array(z.string())
    .optional()
    .meta({ description: 'Signed links, valid 30 days, fetched without an Authorization header.' }),
  attachmentNames: z.array(z.string()).optional(),
});
export type ReplyAttachments = z.infer<typeof ReplyAttachments>;

export const ParentMessage = z.object({
  messageId: Id,
  message: z.string(),
  sentAtUtc: z.iso.datetime(),
  batchId: z.string().nullable(),
  stepIndex: z.int().nullable(),
  variant: VariantName.nullable(),
});
export type ParentMessage = z.infer<typeof ParentMessage>;

export const RecentReply = z.object({
  messageId: Id,
  message: z.string().meta({ description: 'Its first 20,000 characters.' }),
  receivedAtUtc: z.iso.datetime(),
  ...ReplyAttachments.shape,
});
export type RecentReply = z.infer<typeof RecentReply>;

/** `data.reply` of the event `message.reply`, and one item of `GET /api/replies`. */
export const Reply = z
  .object({
    leadId: Id.nullable().meta({ description: 'null if no lead has this address.' }),
    messageId: Id,
    respondedAtUtc: z.iso.datetime(),
    recipientEmail: z.string().nullable(),
    recipientPhone: z.string().nullable(),
    name: z.string().meta({
      description: "The lead's name, otherwise the message's `recipientName`, otherwise the address.",
    }),
    ...ReplyAttachments.shape,
    parentMessages: z
      .array(ParentMessage)
      .meta({ description: 'The last 2 outbound messages, newest first.' }),
    recentReplies: z.array(RecentReply).meta({ description: 'The last 10 replies, newest first.' }),
  })
  .meta({ id: 'Reply' });
export type Reply = z.infer<typeof Reply>;
