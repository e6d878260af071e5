/**
 * `npm run prove -- mailbox`: reads a mailbox of a real Dovecot server with a certificate of its own: new email once, also after the server renumbers it; old
 * email not at all; an answer to us before a flood; and why it cannot be read. Skipped where Dovecot is not installed
 * (Debian: `dovecot-imapd`).
 */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { smtpCarrier, SmtpConfig } from '#providers/carriers/smtp.ts';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { conclude, debianProgram } from './world/part.ts';

const DOVECOT = '/usr/sbin/dovecot';
if (userInfo().uid !== 0 || debianProgram(DOVECOT, ['dovecot-imapd']) === null) {
  conclude('skipped', 'mailbox', 'Dovecot is not installed (Debian: dovecot-imapd), or this is not root');
  process.exit(0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const folder = mkdtempSync(join(tmpdir(), 'linepace-dovecot-'));
chmodSync(folder, 0o755);
const port = await freePort();
const path = (name: string): string => join(folder, name);
const inbox = path('mail/new');
for (const name of ['mail', 'mail/new', 'mail/cur', 'mail/tmp', 'run', 'state']) mkdirSync(path(name));
const owner = { uid: 65_534, gid: 65_534 };
for (const name of ['mail', 'mail/new', 'mail/cur', 'mail/tmp']) chownSync(path(name), owner.uid, owner.gid);
execFileSync(
  'openssl',
  `req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout ${path('key.pem')} -out ${path('cert.pem')}`.split(
    ' ',
  ),
  { stdio: 'ignore' },
);
writeFileSync(path('users'), `dana:{PLAIN}hunter2:${owner.uid}:${owner.gid}::${folder}\n`);
writeFileSync(
  path('dovecot.conf'),
  `protocols = imap
listen = 127.0.0.1
base_dir = ${path('run')}
state_dir = ${path('state')}
log_path = ${path('log')}
ssl = required
ssl_cert = <${path('cert.pem')}
ssl_key = <${path('key.pem')}
mail_location = maildir:${path('mail')}
first_valid_uid = 1
auth_failure_delay = 0
passdb {
  driver = passwd-file
  args = ${path('users')}
}
userdb {
  driver = passwd-file
  args = ${path('users')}
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

let delivered = 0;
function deliver(headers: Record<string, string>, text: string): void {
  delivered += 1;
  const lines = Object.entries({
    From: 'Bea <bea@contact.example>',
    Date: new Date().toUTCString(),
    'Message-ID': `<${delivered}@contact.example>`,
    ...headers,
  }).map(([name, value]) => `${name}: ${value}`);
  const file = join(inbox, `${Date.now()}.${String(delivered).padStart(6, '0')}.host`);
  writeFileSync(file, `${lines.join('\n')}\n\n${text}\n`);
  chownSync(file, owner.uid, owner.gid);
}

function assert(holds: boolean, what: string): void {
  if (!holds) throw new Error(`does not hold: ${what}`);
  console.log(`holds: ${what}`);
}

const untrusted = createUntrustedWork();
const carrier = smtpCarrier({ untrusted });
const config = (fields: object = {}) =>
  SmtpConfig.parse({
    host: '127.0.0.1',
    imapUrl: `imaps://dana:hunter2@127.0.0.1:${port}/INBOX`,
    caCertificates: readFileSync(path('cert.pem'), 'utf8'),
    ...fields,
  });

/** Reads all that there is. @returns the texts, in the order in which they were read, and the position. */
async function readAll(from: string | null): Promise<{ texts: string[]; position: string }> {
  const texts: string[] = [];
  let position = from;
  for (;;) {
    const batch = await carrier.readInbox?.(config(), position, 'proof');
    for (const item of batch?.read ?? []) {
      position = item.position;
      for (const event of item.events) if (event.kind === 'reply') texts.push(event.text);
    }
    if (!batch?.more) return { texts, position: position ?? '' };
  }
}

const failureOf = (fields: object): Promise<string> =>
  Promise.resolve(carrier.readInbox?.(config(fields), null, 'proof')).then(
    () => '',
    (error: Error) => error.message,
  );

const server = spawn(DOVECOT, ['-F', '-c', path('dovecot.conf')], { stdio: 'inherit' });
try {
  for (let tries = 0; tries < 50 && (await failureOf({})) !== ''; tries += 1) await sleep(100);
  deliver({}, 'Before the line was connected');
  let { texts, position } = await readAll(null);
  assert(texts.length === 0, 'nothing is read from before the connection');

  deliver({ Subject: 'Grüße' }, 'First');
  deliver({ Date: 'Mon, 15 Jan 2024 10:00:00 +0000' }, 'Restored');
  ({ texts, position } = await readAll(position));
  assert(texts.join() === 'First', 'new email is read, and old email that was restored is not');

  for (let count = 0; count < 100; count += 1) deliver({}, `Newsletter ${count}`);
  deliver({ 'In-Reply-To': '<6742f1c09b1e8a00d4c3b2a1.0123456789abcdef@line.example>' }, 'Yes please');
  ({ texts, position } = await readAll(position));
  assert(texts[0] === 'Yes please', 'an answer to us does not wait behind a flood');
  assert(new Set(texts).size === 101 && texts.length === 101, 'each email is read once');
  ({ texts } = await readAll(position));
  assert(texts.length === 0, 'there is nothing more');

  const untrustedCertificate = await failureOf({ caCertificates: undefined });
  assert(untrustedCertificate.includes('no trusted authority signed it'), untrustedCertificate);
  const refused = await failureOf({ imapUrl: `imaps://dana:wrong@127.0.0.1:${port}/INBOX` });
  assert(refused.includes('refuses the user or the password'), refused);
  conclude('holds', 'mailbox', `Dovecot ${execFileSync(DOVECOT, ['--version']).toString().split(' ', 1)[0]}`);
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  untrusted.close();
  await carrier.close();
  rmSync(folder, { recursive: true, force: true });
}
