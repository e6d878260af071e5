import { z } from 'zod';
import { caCertificatesOf } from '../ca-certificates.ts';

/** An email line's mail server: a `url` (`smtps://user:password@host:465`), or its parts. */
export const SmtpConfig = z
  .object({
    url: z
      .url({ protocol: /^smtps?$/ })
      .meta({
        secret: true,
        description: 'smtps://user:password@host:465, instead of the five settings below.',
      })
      .optional(),
    host: z
      .string()
      .min(1)
      .optional()
      .meta({ description: 'The outgoing server, for example smtp.example.com.' }),
    port: z.int().min(1).max(65_535).optional(),
    /** Implicit TLS; otherwise STARTTLS, which a login requires except on loopback. */
    secure: z.boolean().default(false),
    user: z.string().optional(),
    password: z.string().meta({ secret: true }).optional(),
    /** The mailbox for replies and bounces: `imaps://user:password@host:993/INBOX`. Without it none is read. */
    imapUrl: z
      .url({ protocol: /^imaps?$/ })
      .meta({
        secret: true,
        description: 'imaps://user:password@host:993/INBOX: where replies and bounces are read.',
      })
      .optional(),
    /** The selector of the mail server's DKIM key, for checking its DNS record. */
    dkimSelector: z
      .string()
      .max(200)
      .regex(/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i, 'must be the selector of a DKIM key')
      .optional(),
    /** Which `Authentication-Results` are the receiving server's own (RFC 8601); without it, the topmost count. */
    authservId: z.string().min(1).max(255).optional().meta({
      description:
        'The name under which the receiving mail server writes Authentication-Results, for example mx.google.com. For Microsoft 365 and Outlook.com, which write none: microsoft365. Without it, the topmost results count.',
    }),
    /** Certificate authorities of the mail servers besides the public ones. */
    caCertificates: caCertificatesOf('mail servers'),
    ehloName: z
      .string()
      .max(255)
      .regex(/^(?:[a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z0-9-]+$/i, 'must be a full host name')
      .optional()
      .meta({
        description:
          'The host name with which the line greets its mail server. Default: `SMTP_EHLO_NAME` of this installation.',
      }),
    /** The `secret` in the callback URL for inbound email and bounces. Without it callbacks are refused. */
    inboundSecret: z.string().min(16).meta({ secret: true }).optional(),
  })
  .refine(({ url, host }) => (url === undefined) !== (host === undefined), {
    path: ['host'],
    message: 'is required, or url, but not both',
  });
export type SmtpConfig = z.infer<typeof SmtpConfig>;

/** The URL is not passed to the library, which would accept any of its options from the query string. */
export function serverOf({ url, host = '', port, secure, user, password = '' }: SmtpConfig) {
  if (url === undefined) {
    const auth = user === undefined ? null : { user, pass: password };
    return { host, port: port ?? (secure ? 465 : 587), secure, auth };
  }
  const { protocol, hostname, port: given, username, password: pass } = new URL(url);
  const isSecure = protocol === 'smtps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: given === '' ? (isSecure ? 465 : 587) : Number(given),
    secure: isSecure,
    auth: username === '' ? null : { user: decodeURIComponent(username), pass: decodeURIComponent(pass) },
  };
}
