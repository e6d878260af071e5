import { z } from 'zod';
import { Reaction } from '../lines/carrier-event.ts';
import { Id } from '../base/ids.ts';
import { Lead } from '../contacts/lead.ts';
import { Group } from '../inbox/group.ts';
import { eventBase } from './base.ts';

/** A reaction that was added or removed. */
const ReactionMessage = z
  .object({
    messageId: Id,
    direction: z.enum(['in', 'out']).meta({ description: '`in`: the contact reacted; `out`: we did.' }),
    part: z.int().min(1).optional().meta({
      description: 'The part of a message with several: a text and its files. Absent: the first.',
    }),
    reaction: Reaction,
    emoji: z.string().optional().meta({ description: 'The emoji, if `reaction` is `emoji`.' }),
    removed: z.boolean(),
    reactedAtUtc: z.iso.datetime(),
    fromPhone: z.string().optional(),
    fromEmail: z.string().optional(),
    toPhone: z.string().optional(),
    toEmail: z.string().optional(),
  })
  .meta({ id: 'ReactionMessage' });
export type ReactionMessage = z.infer<typeof ReactionMessage>;

/** A lead or contact reacted to a message of ours, or we to a message; not a reply. */
export const MessageReaction = eventBase('message.reaction').extend({
  messageId: Id.meta({ description: 'The id of the message reacted to.' }),
  message: ReactionMessage,
  lead: Lead.optional(),
  group: Group.optional().meta({ description: 'The group of the message, if it is of one.' }),
  data: z.object({}).meta({ description: 'Empty.' }),
});
