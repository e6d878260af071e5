import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGuard } from '../../egress-guard.ts';
import { createMailer } from '../../mail/mailer.ts';
import { createUntrustedWork } from '../../untrusted/processes.ts';
import { mailboxOf, readMailbox } from './mailbox.ts';
import { smtpCarrier } from './smtp.ts';

/** A mail server that offers no TLS, as a man in the middle would present it. `received` is what clients sent. */
let received: string[];
let port: number;
let close: () => Promise<void>;

beforeEach(async () => {
  received = [];
  const answer = (line: string): string => {
    if (/^EHLO/i.test(line)) return '250-plain.example\r\n250 AUTH PLAIN LOGIN\r\n';
    if (/^\w+ CAPABILITY/i.test(line)) return `* CAPABILITY IMAP4rev1\r\n${line.split(' ')[0]} OK done\r\n`;
    return /^\w+ (LOGIN|AUTHENTICATE)/i.test(line) ? `${line.split(' ')[0]} NO\r\n` : '502 not here\r\n';
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.setEncoding('utf8').on('data', (text: string) => {
      for (const line of text.split('\r\n').filter((one) => one !== '')) {
        received.push(line);
        socket.write(answer(line));
      }
    });
    // One server plays both protocols: SMTP and IMAP differ only in the greeting.
    socket.write(greeting);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
  close = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(() => close());

let greeting = '';
const SMTP = '220 plain.example ESMTP\r\n';
const IMAP = '* OK ready\r\n';
const PASSWORD = /hunter2|AUTH |LOGIN|AUTHENTICATE|aHVudGVyMg/;
const guard = createGuard({
  allowPrivate: true,
  httpsOnly: false,
  resolve: async () => [{ address: '127.0.0.1', family: 4 }],
});

test('a line sends no password to a mail server without TLS', async () => {
  greeting = SMTP;
  const untrusted = createUntrustedWork();
  const carrier = smtpCarrier({ guard, untrusted });
  const config = carrier.config.parse({ host: 'mail.example', port, user: 'dana', password: 'hunter2' });
  await expect(carrier.probe(config, 'line')).rejects.toThrow(/STARTTLS/);
  expect(received.length).toBeGreaterThan(0);
  expect(received.join('\n')).not.toMatch(PASSWORD);
  await carrier.close();
  untrusted.close();
});

test('no login is attempted at a mailbox without TLS', async () => {
  greeting = IMAP;
  const mailbox = mailboxOf(`imap://dana:hunter2@mail.example:${port}/INBOX`);
  await expect(readMailbox(mailbox, null, { guard, read: async () => [] })).rejects.toThrow(/STARTTLS/);
  expect(received.length).toBeGreaterThan(0);
  expect(received.join('\n')).not.toMatch(PASSWORD);
});

test('a password may be sent to loopback without TLS', async () => {
  greeting = SMTP;
  const mailer = createMailer({ url: `smtp://dana:hunter2@127.0.0.1:${port}`, from: 'a@example.com' });
  const mail = { id: '1', to: 'ada@example.com', subject: 's', text: 't', html: 'h' };
  expect(await mailer.send(mail)).toMatchObject({ kind: 'later', code: expect.stringMatching(/^\w+$/) });
  expect(received.join('\n')).toMatch(PASSWORD);
  await mailer.close();
});
