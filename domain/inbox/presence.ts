import { z } from 'zod';
import { WorkspaceId } from '../base/ids.ts';

/** After this time without a report, a user is considered gone. */
export const PRESENCE_SECONDS = 20;

/** The name of the event of the stream. It has no id, and nothing stores it. */
export const PRESENCE_EVENT = 'conversation.presence';

export const PresenceInput = z
  .object({
    state: z.enum(['viewing', 'typing', 'left']),
  })
  .meta({ id: 'PresenceInput' });

const Person = z.object({
  userId: z.string(),
  name: z.string().nullable(),
  state: PresenceInput.shape.state,
  expiresAt: z.iso.datetime().meta({ description: 'Unless they report again earlier.' }),
});

/** Who else is there. */
export const PresentPerson = Person.meta({ id: 'PresentPerson' });
export type PresentPerson = z.infer<typeof PresentPerson>;

/** `data` of the event of the stream. */
export const Presence = Person.extend({
  event: z.literal(PRESENCE_EVENT),
  timestamp: z.iso.datetime(),
  workspaceId: WorkspaceId,
  address: z.string(),
});
export type Presence = z.infer<typeof Presence>;

/** The end of a contact's typing may get lost. Phones show it for as long. */
export const CONTACT_TYPING_SECONDS = 60;

/** The name of the event of the stream, which is like that of presence. */
export const CONTACT_TYPING_EVENT = 'conversation.typing';

/** `data` of the event of the stream. */
export const ContactTyping = z.object({
  event: z.literal(CONTACT_TYPING_EVENT),
  timestamp: z.iso.datetime(),
  workspaceId: WorkspaceId,
  address: z.string(),
  state: z.enum(['on', 'off']),
  expiresAt: z.iso.datetime(),
});
export type ContactTyping = z.infer<typeof ContactTyping>;

/** What streams tell of who is there now. */
export const Seen = z.discriminatedUnion('event', [Presence, ContactTyping]);
export type Seen = z.infer<typeof Seen>;
