import { readFileSync } from 'node:fs';
import { rootCertificates } from 'node:tls';
import type { NodemailerError } from 'nodemailer';
import { isLoopback } from '../egress-address.ts';
import { smtpFailure } from '../carriers/smtp/failure.ts';
import type { RenderedMail } from './template.ts';

export interface OutgoingMail extends RenderedMail {
  /** The same for every attempt, so that mail servers can detect duplicates. */
  id: string;
  to: string;
}

export type MailOutcome =
  | { kind: 'sent' }
  | {
      kind: 'refused' | 'later';
      /** The mail server's reply, which usually contains the recipient: must not be logged. */
      reason: string;
      /** The reply code, or the error code of the mail library. */
      code: string;
    };

/** Sends system emails. */
export interface Mailer {
  send(mail: OutgoingMail): Promise<MailOutcome>;
  /** Connects and logs in. @throws with the reason. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Concurrent emails per process. */
export const MAIL_CONNECTIONS = 2;
const CONNECT_MS = 10_000;
const RESPONSE_MS = 30_000;

/**
 * @param url `SMTP_URL`; a login requires TLS, except on loopback.
 * @param from `MAIL_FROM`, e.g. `Linepace <no-reply@example.com>`
 * @param caFile `SMTP_CA_FILE`; null: the server has a certificate of a public authority.
 */
export function createMailer({
  url,
  from,
  caFile = null,
}: {
  url: string;
  from: string;
  caFile?: string | null;
}): Mailer {
  const { username, hostname } = new URL(url);
  const ca = caFile === null ? null : [...rootCertificates, readFileSync(caFile, 'utf8')];
  const openTransport = async () => {
    const { createTransport } = await import('nodemailer');
    return createTransport(
      {
        url,
        pool: true,
        ...(ca && { tls: { ca } }),
        requireTLS: username !== '' && !isLoopback(hostname),
        maxConnections: MAIL_CONNECTIONS,
        connectionTimeout: CONNECT_MS,
        greetingTimeout: CONNECT_MS,
        socketTimeout: RESPONSE_MS,
        // No content is ever loaded from files or URLs.
        disableFileAccess: true,
        disableUrlAccess: true,
      },
      { from },
    );
  };
  let transport: ReturnType<typeof openTransport> | undefined;
  const domain = /@([\w.-]+)/.exec(from)?.[1] ?? 'localhost';

  return {
    async send({ id, to, subject, text, html, turnOffLink }) {
      try {
        transport ??= openTransport();
        await (
          await transport
        ).sendMail({
          to: { name: '', address: to },
          subject,
          text,
          html,
          messageId: `<${id}@${domain}>`,
          headers: {
            // Suppresses automatic replies (RFC 3834).
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
    async check() {
      transport ??= openTransport();
      await (await transport).verify();
    },
    async close() {
      (await transport)?.close();
    },
  };
}
