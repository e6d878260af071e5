import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { Group } from '../inbox/group.ts';
import { Reply } from '../inbox/reply.ts';
import { SenderWarning } from '../lines/sender-authentication.ts';
import { eventBase } from './base.ts';

/** A lead or contact replied. Optional fields are present only if known. */
export const MessageReply = eventBase('message.reply').extend({
  messageId: Id.meta({ description: 'Of the reply.' }),
  subject: z.string().optional().meta({ description: 'The subject that the contact gave it, as in emails.' }),
  warning: SenderWarning.optional().meta({
    description:
      'Why the message opts nobody out or in, stops no campaign and gets no draft, see `data.reply.warning`.',
  }),
  group: Group.optional().meta({
    description: 'The group to which it was written, which is no reply to a campaign.',
  }),
  message: z.string().meta({ description: 'The text of the reply: its first 20,000 characters.' }),
  firstName: z.string().optional(),
  lastName: z.string().optional(),
  phone: z.string().optional(),
  listId: Id.optional(),
  lead: Lead.optional(),
  fromLineId: Id.meta({ description: 'The line that received the reply.' }),
  recipientName: z.string(),
  repliedAtUtc: z.iso.datetime(),
  parentMessages: Reply.shape.parentMessages,
  attachmentDownloadUrls: Reply.shape.attachmentDownloadUrls,
  attachmentNames: Reply.shape.attachmentNames,
  attachmentUrls: z
    .array(z.string())
    .optional()
    .meta({ description: 'The private storage URLs, which respond 403. Use `attachmentDownloadUrls`.' }),
  originalMessageId: Id.optional(),
  originalMessage: z.string().optional().meta({ description: 'The text of the message replied to.' }),
  data: z.object({ reply: Reply }),
});
