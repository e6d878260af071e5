import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { eventBase } from './base.ts';

const about = {
  messageId: Id,
  direction: z.enum(['in', 'out']).meta({ description: '`in`: the contact wrote it.' }),
  fromPhone: z.string().optional(),
  fromEmail: z.string().optional(),
};

const changeEvent = <Name extends string, Change extends z.ZodObject>(event: Name, change: Change) =>
  eventBase(event).extend({
    messageId: Id.meta({ description: 'The id of the message that was changed.' }),
    message: change,
    lead: Lead.optional(),
    data: z.object({}).meta({ description: 'Empty.' }),
  });

/** A contact edited a message. */
export const MessageEdited = changeEvent(
  'message.edited',
  z
    .object({
      ...about,
      message: z.string().meta({ description: 'The new text. The former one is not told.' }),
      editedAtUtc: z.iso.datetime(),
    })
    .meta({ id: 'EditedMessage' }),
);

/** A contact took a message back. */
export const MessageUnsent = changeEvent(
  'message.unsent',
  z.object({ ...about, unsentAtUtc: z.iso.datetime() }).meta({ id: 'UnsentMessage' }),
);
