import { z } from 'zod';

const EMAIL_CHECKS = ['spf', 'dkim', 'dmarc', 'mx', 'ptr'] as const;

/** One check of how receivers authenticate the emails of a line. */
export const EmailCheck = z
  .object({
    name: z.enum(EMAIL_CHECKS),
    result: z.enum(['pass', 'fail', 'unknown']).meta({
      description: '`unknown`: DNS did not answer in time, or the answer does not decide it.',
    }),
    found: z.string().nullable().meta({ description: 'The records found in DNS, one per line; null: none.' }),
    expected: z.string().meta({ description: 'What DNS should have.' }),
    text: z.string().meta({ description: 'The result in words.' }),
  })
  .meta({ id: 'EmailCheck' });
export type EmailCheck = z.infer<typeof EmailCheck>;

/** The source of a line's emails. `host` and `dkimSelector` are null if its carrier does not provide them. */
export interface EmailSender {
  /** The domain of the line's address. */
  domain: string;
  /** The SMTP server that the line uses. */
  host: string | null;
  dkimSelector: string | null;
}
