import { z } from 'zod';
import { AuditActor } from '../accounts/audit.ts';
import { Id } from '../base/ids.ts';
import { NOT_BLANK } from '../base/text.ts';

/** Members whom one note may alert. */
export const MAX_MENTIONS = 20;

const MENTION = /@\[([^\]\s]{1,200})\]/g;

/** The ids of the users whom a text mentions as `@[id]`, each once. */
export const mentionsIn = (text: string): string[] => [
  ...new Set([...text.matchAll(MENTION)].map(([, userId = '']) => userId)),
];

/** A text with each mention replaced by `@name`. @param nameOf undefined: the id stays. */
export const withNames = (text: string, nameOf: (userId: string) => string | undefined): string =>
  text.replaceAll(MENTION, (mention, userId: string) => {
    const name = nameOf(userId);
    return name === undefined ? mention : `@${name}`;
  });

/** The body of `POST /api/conversations/{address}/notes`. */
export const NoteInput = z
  .object({
    text: z
      .string()
      .max(5000)
      .refine(...NOT_BLANK)
      .refine(
        (text) => mentionsIn(text).length <= MAX_MENTIONS,
        `must not mention more than ${MAX_MENTIONS} members`,
      )
      .meta({ description: '`@[user id]` mentions a member, who gets an email.' }),
  })
  .meta({ id: 'ConversationNoteInput' });

/** A comment that a member writes about a contact for the other members. It is never sent. */
export const ConversationNote = z
  .object({
    _id: Id,
    address: z.string().meta({ description: 'It identifies the conversation.' }),
    text: z.string(),
    author: AuditActor,
    mentions: z
      .array(z.object({ userId: z.string(), name: z.string() }))
      .meta({ description: 'Mentioned members, without those who have left the workspace.' }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'ConversationNote' });
export type ConversationNote = z.infer<typeof ConversationNote>;
