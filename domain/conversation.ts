import { z } from 'zod';
import { Id } from './ids.ts';
import { MessageStatus } from './message-status.ts';
import { ShownReaction } from './reaction.ts';
import { SINGLE_LINE } from './text.ts';

/** The conversation with one address, as the inbox lists it. */
export const Conversation = z
  .object({
    address: z
      .string()
      .meta({ description: 'The phone number or email address, which identifies the conversation.' }),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    leadId: Id.nullable(),
    name: z.string(),
    lineId: Id.nullable().meta({ description: 'The line assigned to the contact.' }),
    tags: z.array(z.string()),
    optedOut: z.boolean(),
    lastMessage: z
      .string()
      .meta({ description: 'Empty if there is no message yet; `lastDirection` and `lastAt` are null then.' }),
    lastDirection: z.enum(['in', 'out']).nullable(),
    lastAt: z.iso.datetime().nullable(),
    lastInboundAt: z.iso.datetime().nullable(),
    lastOutboundAt: z.iso.datetime().nullable(),
    inboxHref: z.string(),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

/** One message of a conversation, inbound or outbound. */
export const ThreadItem = z
  .object({
    messageId: Id,
    direction: z.enum(['in', 'out']),
    message: z.string().meta({ description: 'Inbound messages: the first 20,000 characters.' }),
    at: z.iso.datetime().meta({ description: 'When it was sent or received, or is scheduled.' }),
    lineId: Id.nullable(),
    status: MessageStatus.nullable().meta({ description: 'Outbound messages only.' }),
    autoReply: z.boolean().meta({ description: 'An automatic reply, which does not count as a reply.' }),
    originalMessageId: Id.nullable().meta({
      description: 'Inbound messages: the outbound message that it replies to.',
    }),
    attachmentUrls: z.array(z.string()),
    attachmentNames: z.array(z.string()),
    reactions: z.array(ShownReaction),
  })
  .meta({ id: 'ThreadItem' });
export type ThreadItem = z.infer<typeof ThreadItem>;

const MAX_TAGS = 50;

/** The complete set of tags; duplicates are removed case-insensitively. */
export const TagsInput = z
  .object({
    tags: z
      .array(
        z
          .string()
          .trim()
          .min(1)
          .max(50)
          .refine(...SINGLE_LINE),
      )
      .max(MAX_TAGS),
  })
  .transform(({ tags }) => ({ tags: [...new Map(tags.map((tag) => [tag.toLowerCase(), tag])).values()] }))
  .meta({ id: 'TagsInput' });
