import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { CarrierEvent } from '../../../providers/carriers/carrier.ts';
import { SmtpConfig } from '../../../providers/carriers/smtp/config.ts';
import { smtpCarrier } from '../../../providers/carriers/smtp/smtp.ts';
import { freePort } from '../../../providers/free-port.ts';
import { createUntrustedWork } from '../../../providers/untrusted/processes.ts';
import { debianProgram, startProgram } from './part.ts';

const DOVECOT = '/usr/sbin/dovecot';
/** `nobody`: Dovecot and Postfix refuse to deliver as root. */
export const MAIL_OWNER = { uid: 65_534, gid: 65_534 };

/** @returns its version; null if it cannot be run here. */
export function findDovecot(): string | null {
  if (userInfo().uid !== 0 || debianProgram(DOVECOT, ['dovecot-imapd']) === null) return null;
  return `Dovecot ${execFileSync(DOVECOT, ['--version']).toString().split(' ', 1)[0]}`;
}

export interface Mailbox {
  /** For everything of the run; deleted at the end. */
  folder: string;
  /** A certificate that signs itself, and its key. */
  certificateFile: string;
  keyFile: string;
  /** The Maildir of `dana`, whose password is `hunter2`. */
  maildir: string;
  /** The socket at which Postfix checks passwords. */
  authSocket: string;
  carrier: ReturnType<typeof smtpCarrier>;
  /** The settings of a line that has this mailbox. */
  config(fields?: object): SmtpConfig;
  /** @returns what the line reads after a position, in order, and the next position. */
  readAll(from: string | null): Promise<{ events: CarrierEvent[]; position: string }>;
  /** @returns why the mailbox cannot be read; empty: it can. */
  failureOf(fields: object): Promise<string>;
  imapUrl(password: string): string;
  stop(): Promise<void>;
}

/** Starts a Dovecot server with one mailbox, in a folder of its own. */
export async function startMailbox(): Promise<Mailbox> {
  const folder = mkdtempSync(join(tmpdir(), 'linepace-mail-'));
  chmodSync(folder, 0o755);
  const port = await freePort();
  const path = (name: string): string => join(folder, name);
  for (const name of ['run', 'state']) mkdirSync(path(name));
  for (const name of ['mail', 'mail/new', 'mail/cur', 'mail/tmp']) {
    mkdirSync(path(name));
    chownSync(path(name), MAIL_OWNER.uid, MAIL_OWNER.gid);
  }
  const [certificateFile, keyFile, authSocket] = [path('cert.pem'), path('key.pem'), path('auth')];
  const subject = '-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1';
  execFileSync(
    'openssl',
    `req -x509 -newkey rsa:2048 -nodes -days 2 ${subject} -keyout ${keyFile} -out ${certificateFile}`.split(
      ' ',
    ),
    { stdio: 'ignore' },
  );
  writeFileSync(path('users'), `dana:{PLAIN}hunter2:${MAIL_OWNER.uid}:${MAIL_OWNER.gid}::${folder}\n`);
  writeFileSync(
    path('dovecot.conf'),
    `protocols = imap
listen = 127.0.0.1
base_dir = ${path('run')}
state_dir = ${path('state')}
log_path = ${path('log')}
ssl = required
ssl_cert = <${certificateFile}
ssl_key = <${keyFile}
mail_location = maildir:${path('mail')}
first_valid_uid = 1
auth_failure_delay = 0
auth_mechanisms = plain login
passdb {
  driver = passwd-file
  args = ${path('users')}
}
userdb {
  driver = passwd-file
  args = ${path('users')}
}
service auth {
  unix_listener ${authSocket} {
    mode = 0666
  }
}
service imap-login {
  inet_listener imap {
    port = 0
  }
  inet_listener imaps {
    port = ${port}
    ssl = yes
  }
}
`,
  );

  const untrusted = createUntrustedWork();
  const carrier = smtpCarrier({ untrusted });
  const imapUrl = (password: string): string => `imaps://dana:${password}@127.0.0.1:${port}/INBOX`;
  const config = (fields: object = {}): SmtpConfig =>
    SmtpConfig.parse({
      host: '127.0.0.1',
      imapUrl: imapUrl('hunter2'),
      caCertificates: readFileSync(certificateFile, 'utf8'),
      ...fields,
    });
  const failureOf = (fields: object): Promise<string> =>
    Promise.resolve(carrier.readInbox?.(config(fields), null, 'proof')).then(
      () => '',
      (error: Error) => error.message,
    );
  const server = await startProgram(
    DOVECOT,
    ['-F', '-c', path('dovecot.conf')],
    async () => (await failureOf({})) === '',
  );
  return {
    folder,
    certificateFile,
    keyFile,
    maildir: path('mail'),
    authSocket,
    carrier,
    config,
    async readAll(from) {
      const events: CarrierEvent[] = [];
      let position = from;
      for (;;) {
        const batch = await carrier.readInbox?.(config(), position, 'proof');
        for (const item of batch?.read ?? []) {
          position = item.position;
          events.push(...item.events);
        }
        if (!batch?.more) return { events, position: position ?? '' };
      }
    },
    failureOf,
    imapUrl,
    async stop() {
      // Its processes end with it.
      await server.stop('SIGTERM');
      untrusted.close();
      await carrier.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
