import { z } from 'zod';
import { Id } from '../base/ids.ts';
import { MAX_TEXT } from '../lines/carrier-event.ts';
import { ReactionInput } from '../messages/message.ts';

const messageId = Id.meta({ description: 'The message that it is about.' });

/** What a contact does besides writing. The body of `POST /api/test/actions`. */
export const ContactAction = z
  .discriminatedUnion('kind', [
    ReactionInput.safeExtend({
      kind: z.literal('reaction'),
      messageId,
      from: z
        .string()
        .max(320)
        .optional()
        .meta({ description: 'In a group, who reacts. Default: the contact to whom the message went.' }),
    }),
    z.object({ kind: z.literal('edit'), messageId, text: z.string().min(1).max(MAX_TEXT) }),
    z.object({ kind: z.literal('unsend'), messageId }),
    z.object({
      kind: z.literal('typing'),
      from: z.string().max(320),
      state: z.enum(['on', 'off']),
    }),
  ])
  .meta({ id: 'TestActionInput' });
export type ContactAction = z.infer<typeof ContactAction>;
/** With a message that was exchanged. */
export type MessageContactAction = Exclude<ContactAction, { kind: 'typing' }>;
