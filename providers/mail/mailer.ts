import { createTransport, type NodemailerError } from 'nodemailer';
import { isLoopback } from '../egress-address.ts';
import { smtpFailure } from '../carriers/smtp-failure.ts';
import type { RenderedMail } from './template.ts';

export interface OutgoingMail extends RenderedMail {
  /** The same each time this email is tried: what came twice is recognised by it. */
  id: string;
  to: string;
}

export type MailOutcome =
  | { kind: 'sent' }
  | {
      kind: 'refused' | 'later';
      /** The mail server's words, which usually name the recipient: not for logs. */
      reason: string;
      /** Its reply code, or the mail library's name for what went wrong. */
      code: string;
    };

/** Sends the product's own emails. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<MailOutcome>;
  close(): void;
}

/** Emails sent at once by a process. */
export const MAIL_CONNECTIONS = 2;
const CONNECT_MS = 10_000;
const ANSWER_MS = 30_000;

/**
 * @param url `SMTP_URL`; a login needs TLS, except on this machine.
 * @param from `MAIL_FROM`, e.g. `Linepace <no-reply@example.com>`
 */
export function createMailer({ url, from }: { url: string; from: string }): Mailer {
  const { username, hostname } = new URL(url);
  const transport = createTransport(
    {
      url,
      pool: true,
      requireTLS: username !== '' && !isLoopback(hostname),
      maxConnections: MAIL_CONNECTIONS,
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: ANSWER_MS,
      // What emails say is ours: nothing in it names a file or a URL to be read.
      disableFileAccess: true,
      disableUrlAccess: true,
    },
    { from },
  );
  const domain = /@([\w.-]+)/.exec(from)?.[1] ?? 'localhost';

  return {
    async send({ id, to, subject, text, html, turnOffLink }) {
      try {
        await transport.sendMail({
          to: { name: '', address: to },
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          headers: {
            // Answering machines keep silent (RFC 3834).
            'Auto-Submitted': 'auto-generated',
            ...(turnOffLink !== undefined && {
              'List-Unsubscribe': `<${turnOffLink}>`,
              'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
            }),
          },
        });
        return { kind: 'sent' };
      } catch (error) {
        const { message: reason, responseCode, code = 'UNKNOWN' } = error as NodemailerError;
        const failure = smtpFailure(error as NodemailerError, false);
        return {
          kind: failure.kind === 'refused' ? 'refused' : 'later',
          reason,
          code: String(responseCode ?? code),
        };
      }
    },
    close: () => transport.close(),
  };
}
