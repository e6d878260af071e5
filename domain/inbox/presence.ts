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
