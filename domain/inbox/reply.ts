import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Group } from './group.ts';
import { SenderAuthentication, SenderWarning } from '../lines/sender-authentication.ts';
import { truncate } from '../base/text.ts';
import { VariantName } from '../messages/variant-name.ts';

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

const ReplySubject = z
  .string()
  .nullable()
  .meta({ description: 'The subject that the contact gave it, as in emails; otherwise null.' });

export const ReplyWarning = SenderWarning.nullable().meta({
  description:
    '`sender_not_verified`: the receiving mail server found that the email is not from its sender, or is from somebody of another domain who asks for answers to a known contact. `own_address`: it claims to be from a line of the workspace. `invalid_sender`: its sender does not fit the channel of the line, for example an email from a phone number. Such a message opts nobody out or in, stops no campaign and gets no draft.',
});

export const RecentReply = z.object({
  messageId: Id,
  subject: ReplySubject,
  message: z.string().meta({ description: 'Its first 20,000 characters.' }),
  receivedAtUtc: z.iso.datetime(),
  ...ReplyAttachments.shape,
});
export type RecentReply = z.infer<typeof RecentReply>;

/** A reply with its whole text. */
export const WholeReply = z
  .object({
    messageId: Id,
    address: z.string(),
    receivedAtUtc: z.iso.datetime(),
    subject: ReplySubject,
    message: z.string().meta({ description: 'What the contact wrote.' }),
    wholeMessage: z.string().meta({
      description:
        'The text as it was received: with quoted text and signatures, which `message` omits. The first 100,000 characters. The same as `message` if there is nothing else.',
    }),
  })
  .meta({ id: 'WholeReply' });
export type WholeReply = z.infer<typeof WholeReply>;

/** `data.reply` of the event `message.reply`, and one item of `GET /api/replies`. */
export const Reply = z
  .object({
    leadId: Id.nullable().meta({ description: 'null if no lead has this address.' }),
    messageId: Id,
    respondedAtUtc: z.iso.datetime(),
    recipientEmail: z.string().nullable(),
    recipientPhone: z.string().nullable(),
    name: z.string().meta({
      description:
        "The lead's name, otherwise the message's `recipientName` or the name that the contact gave, otherwise the address.",
    }),
    subject: ReplySubject,
    warning: ReplyWarning,
    authentication: SenderAuthentication.nullable().meta({
      description: 'What the receiving mail server found about the sender; null if it was not checked.',
    }),
    group: Group.nullable().meta({
      description:
        'Null unless it was written to a group. It answers no message of a campaign then, and has no lead; `recipientPhone` or `recipientEmail` is who wrote it.',
    }),
    ...ReplyAttachments.shape,
    parentMessages: z
      .array(ParentMessage)
      .meta({ description: 'The last 2 outbound messages, newest first.' }),
    recentReplies: z.array(RecentReply).meta({ description: 'The last 10 replies, newest first.' }),
  })
  .meta({ id: 'Reply' });
export type Reply = z.infer<typeof Reply>;
