import { z } from 'zod';
import { Id } from './ids.ts';
import { MessageStatus } from './message-status.ts';
import { ShownReaction } from './reaction.ts';
import { SINGLE_LINE } from './text.ts';

/** What the workspace and one address have written to each other, as the inbox lists it. */
export const Conversation = z
  .object({
    address: z
      .string()
      .meta({ description: 'The phone number or email address: the id of the conversation.' }),
    phone: z.string().nullable(),
    email: z.string().nullable(),
    leadId: Id.nullable(),
    name: z.string(),
    lineId: Id.nullable().meta({ description: 'The line the contact stays with.' }),
    tags: z.array(z.string()),
    optedOut: z.boolean(),
    lastMessage: z
      .string()
      .meta({ description: 'Empty, and the next two null, while nothing has been said yet.' }),
    lastDirection: z.enum(['in', 'out']).nullable(),
    lastAt: z.iso.datetime().nullable(),
    lastInboundAt: z.iso.datetime().nullable(),
    lastOutboundAt: z.iso.datetime().nullable(),
    inboxHref: z.string(),
  })
  .meta({ id: 'Conversation' });
export type Conversation = z.infer<typeof Conversation>;

/** One message of a conversation, of either direction. */
export const ThreadItem = z
  .object({
    messageId: Id,
    direction: z.enum(['in', 'out']),
    message: z.string().meta({ description: 'Of an inbound message the first 20,000 characters.' }),
    at: z.iso.datetime().meta({ description: 'When it was sent or received, or when it is to be sent.' }),
    lineId: Id.nullable(),
    status: MessageStatus.nullable().meta({ description: 'Of an outbound message.' }),
    autoReply: z.boolean().meta({ description: 'An automatic answer: it does not count as a reply.' }),
    originalMessageId: Id.nullable().meta({ description: 'Of an inbound message: the one it answers.' }),
    attachmentUrls: z.array(z.string()),
    attachmentNames: z.array(z.string()),
    reactions: z.array(ShownReaction),
  })
  .meta({ id: 'ThreadItem' });
export type ThreadItem = z.infer<typeof ThreadItem>;

const MAX_TAGS = 50;

/** The whole set of a conversation's tags; each once, whatever the case. */
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
