import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { freePort } from '../../../providers/free-port.ts';
import { MAIL_OWNER, type Mailbox } from './dovecot.ts';
import { startProgram } from './part.ts';

export const POSTFIX = '/usr/sbin/postfix';
export const MAX_MAIL_BYTES = 1_000_000;

interface MailServer {
  /** Requires STARTTLS and a login, and accepts all recipients first. */
  submission: number;
  /** Requires TLS from the start and a login, and refuses unknown recipients at once. */
  submissions: number;
  /** What Postfix has written to its log. */
  log(): string;
  /** Makes it give up what it could not deliver so far. */
  expire(): void;
  stop(): void;
}

/**
 * Starts a Postfix instance in the folder of a mailbox, to which it delivers email for `dana@line.example` and `bea@contact.example`.
 * It defers `grey@contact.example` at once and `…@late.example` afterwards, and finds the mailboxes of `full.example` full.
 */
export async function startPostfix({
  folder,
  maildir,
  certificateFile,
  keyFile,
  authSocket,
}: Mailbox): Promise<MailServer> {
  const [submission, submissions, closed] = [await freePort(), await freePort(), await freePort()];
  const path = (name: string): string => join(folder, 'postfix', name);
  const [queue, data, log] = [join(folder, 'queue'), join(folder, 'data'), join(folder, 'maillog')];
  const maildirOfBea = join(folder, 'mail-of-bea');
  for (const name of [path(''), queue, data, maildirOfBea]) mkdirSync(name);
  chownSync(maildirOfBea, MAIL_OWNER.uid, MAIL_OWNER.gid);
  execFileSync('chown', ['postfix', data]);
  const write = (settings: Record<string, string>): void =>
    writeFileSync(
      path('main.cf'),
      Object.entries(settings)
        .map(([name, value]) => `${name} = ${value}\n`)
        .join(''),
    );
  const settings = {
    compatibility_level: '3.6',
    queue_directory: queue,
    data_directory: data,
    command_directory: '/usr/sbin',
    daemon_directory: '/usr/lib/postfix/sbin',
    maillog_file: log,
    maillog_file_prefixes: folder,
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'mail.line.example',
    mydestination: '',
    mynetworks: '',
    local_recipient_maps: '',
    alias_maps: '',
    alias_database: '',
    virtual_mailbox_domains: 'line.example, contact.example',
    virtual_mailbox_base: folder,
    virtual_mailbox_maps: `inline:{ dana@line.example=${basename(maildir)}/, bea@contact.example=${basename(maildirOfBea)}/ }`,
    virtual_uid_maps: `static:${MAIL_OWNER.uid}`,
    virtual_gid_maps: `static:${MAIL_OWNER.gid}`,
    virtual_minimum_uid: '1',
    transport_maps: `inline:{ { full.example = error:5.2.2 Mailbox full }, late.example=smtp:[127.0.0.1]:${closed} }`,
    message_size_limit: String(MAX_MAIL_BYTES),
    smtpd_tls_cert_file: certificateFile,
    smtpd_tls_key_file: keyFile,
    smtpd_sasl_auth_enable: 'yes',
    smtpd_sasl_type: 'dovecot',
    smtpd_sasl_path: authSocket,
    smtpd_recipient_restrictions:
      'check_recipient_access inline:{ { grey@contact.example = 450 4.2.0 Greylisted } }, permit_sasl_authenticated, reject',
    delay_warning_time: '1s',
    minimal_backoff_time: '1s',
    maximal_backoff_time: '2s',
    queue_run_delay: '1s',
  };
  write(settings);
  writeFileSync(
    path('master.cf'),
    `127.0.0.1:${submission} inet n - n - - smtpd
  -o smtpd_tls_security_level=encrypt
  -o smtpd_reject_unlisted_recipient=no
127.0.0.1:${submissions} inet n - n - - smtpd
  -o smtpd_tls_wrappermode=yes
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
smtp unix - - n - - smtp
error unix - - n - - error
retry unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
postlog unix-dgram n - n - 1 postlogd
`,
  );
  const control = (command: string): void =>
    void spawnSync(POSTFIX, ['-c', path(''), command], { stdio: 'ignore' });
  const accepts = (port: number): Promise<boolean> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', reject);
    });
  const server = await startProgram(POSTFIX, ['-c', path(''), 'start-fg'], () => accepts(submissions));
  return {
    submission,
    submissions,
    log: () => readFileSync(log, 'utf8'),
    expire() {
      write({ ...settings, maximal_queue_lifetime: '1s' });
      control('reload');
    },
    stop() {
      control('stop');
      // Ends what is left of the start.
      void server.stop('SIGTERM');
    },
  };
}
