import { z } from 'zod';
import { Lead } from '../contacts/lead.ts';
import { Group } from '../inbox/group.ts';
import { Message } from '../messages/message.ts';
import { eventBase } from './base.ts';

/** A status event of an outbound message: `message` is the full message object. */
const statusEvent = <Name extends string, Data extends z.ZodObject>(event: Name, data: Data) =>
  eventBase(event).extend({
    message: Message,
    data,
    lead: Lead.optional(),
    group: Group.optional().meta({ description: 'The group to which it is sent, if it is no contact.' }),
  });

export const MessageSent = statusEvent('message.sent', z.object({}).meta({ description: 'Empty.' }));

export const MessageDelivered = statusEvent(
  'message.delivered',
  z.object({ deliveredAt: z.iso.datetime().optional() }),
);

/** Not of messages that are canceled because their contact is erased. */
export const MessageCanceled = statusEvent(
  'message.canceled',
  z.object({
    reason: z.string().nullable().meta({
      description:
        'Why, also `message.holdReason`, such as `reply`, `campaign_ended` or `lead_deleted`; null: by a caller.',
    }),
  }),
);

export const MessageFailed = statusEvent(
  'message.failed',
  z.object({
    error: z.string().optional().meta({ description: 'The reason; also `message.errorMessage`.' }),
  }),
);

export const MessageFallback = statusEvent(
  'message.fallback',
  z.object({
    reason: z.string(),
    checkedAddresses: z
      .array(z.string())
      .optional()
      .meta({ description: 'Addresses that were tried on the primary channel.' }),
  }),
);

export const MessageOpened = statusEvent('message.opened', z.object({ readAt: z.iso.datetime().optional() }));
