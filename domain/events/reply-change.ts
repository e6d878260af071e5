import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { Group } from '../inbox/group.ts';
import { eventBase } from './base.ts';

const about = {
  messageId: Id,
  direction: z.enum(['in', 'out']).meta({ description: '`in`: the contact wrote it; `out`: we did.' }),
  fromPhone: z.string().optional(),
  fromEmail: z.string().optional(),
  toPhone: z.string().optional(),
  toEmail: z.string().optional(),
};

const changeEvent = <Name extends string, Change extends z.ZodObject>(event: Name, change: Change) =>
  eventBase(event).extend({
    messageId: Id.meta({ description: 'The id of the message that was changed.' }),
    message: change,
    lead: Lead.optional(),
    group: Group.optional().meta({ description: 'The group of the message, if it is of one.' }),
    data: z.object({}).meta({ description: 'Empty.' }),
  });

/** A message was edited: by the contact who wrote it, or one of ours, before or after it was sent. */
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

/** A message was taken back: by the contact who wrote it, or one of ours. */
export const MessageUnsent = changeEvent(
  'message.unsent',
  z.object({ ...about, unsentAtUtc: z.iso.datetime() }).meta({ id: 'UnsentMessage' }),
);
