import { z } from 'zod';

/** What the server that received an email found about its sender (RFC 8601). */
export const SenderAuthentication = z.object({
  result: z.enum(['pass', 'fail', 'none']).meta({
    description: 'Whether the email is from the domain of its `From`. `none`: the server could not tell.',
  }),
  server: z
    .string()
    .max(255)
    .nullable()
    .meta({ description: 'The server that checked it, as it names itself.' }),
  details: z.string().max(300).meta({ example: 'spf=fail dkim=none dmarc=fail' }),
});

export type SenderAuthentication = z.infer<typeof SenderAuthentication>;

/**
 * Why an inbound message has no effects: nobody can tell that the contact wrote it, or the line itself did.
 */
export const SenderWarning = z.enum(['sender_not_verified', 'own_address', 'invalid_sender']);
export type SenderWarning = z.infer<typeof SenderWarning>;
