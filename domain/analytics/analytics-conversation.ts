import { z } from 'zod';

/** One contact's messages on one day. */
export const DayConversation = z
  .object({
    name: z.string(),
    phone: z.string().meta({ description: 'The conversation id: E.164, or an email address.' }),
    leadId: z.string().nullable(),
    sent: z.int(),
    replied: z.int(),
    lastMessage: z.string(),
    lastDirection: z.enum(['in', 'out']),
    lastAt: z.iso.datetime(),
    inboxHref: z.string(),
  })
  .meta({ id: 'DayConversation' });
export type DayConversation = z.infer<typeof DayConversation>;

/** The path of the conversation in the inbox; `+` and `@` are left unescaped for readability. */
export const inboxHref = (address: string): string =>
  `/inbox/${encodeURIComponent(address).replaceAll('%2B', '+').replaceAll('%40', '@')}`;
