import { expect, test } from 'vitest';
import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { readMimeEmail } from './inbound.ts';

const OURS = '<6742f1c09b1e8a00d4c3b2a1.0123456789abcdef@line.example>';
const GUESSABLE = '<6742f1c09b1e8a00d4c3b2a1@line.example>';

const read = (lines: readonly string[]): Promise<CarrierEvent[]> =>
  readMimeEmail(Buffer.from(lines.join('\r\n')), true);

const HEAD = [
  'From: Mail Delivery System <mailer-daemon@contact.example>',
  'To: dana@line.example',
  'Date: Fri, 27 Nov 2026 10:00:00 +0100',
  'Subject: Mail delivery failed',
  'Message-ID: <b1@contact.example>',
  'MIME-Version: 1.0',
];

const report = (kind: string, type: string, fields: readonly string[], id = OURS) =>
  read([
    ...HEAD,
    `Content-Type: multipart/report; report-type=${kind};`,
    '\tboundary="BOUND"',
    '',
    '--BOUND',
    'Content-Type: text/plain',
    '',
    'About an email of yours.',
    '--BOUND',
    `Content-Type: ${type}`,
    '',
    ...fields,
    '--BOUND',
    type.includes('global') ? 'Content-Type: message/global-headers' : 'Content-Type: message/rfc822',
    '',
    `Message-ID: ${id}`,
    'Subject: Our offer',
    '',
    'Hello',
    '--BOUND--',
  ]);

const bounced = (status: string, diagnosis: readonly string[], recipient = 'gone@contact.example') => [
  'Reporting-MTA: dns; mx.contact.example',
  '',
  'Action: failed',
  `Final-Recipient: rfc822;${recipient}`,
  `Status: ${status}`,
  ...diagnosis,
];

test.each([
  ['the status', '5.1.1', [], true],
  [
    'the diagnosis, of Exim',
    '5.0.0',
    ['Diagnostic-Code: smtp; 550 5.1.1 <gone@contact.example>: User unknown'],
    true,
  ],
  [
    'a folded diagnosis',
    '5.0.0',
    ['Diagnostic-Code: smtp; 550-the recipient', ' 550 5.1.1 is unknown'],
    true,
  ],
  ['the more exact of both', '5.1.0', ['Diagnostic-Code: smtp; 550 5.1.1 no such user'], true],
  ['the status of a full mailbox', '5.2.2', ['Diagnostic-Code: smtp; 552 5.0.0 failed'], false],
  ['no code in words about spam', '5.0.0', ['Diagnostic-Code: smtp; 550 rejected as spam'], false],
  ['words without a code', '5.0.0', ['Diagnostic-Code: smtp; 550 No such user here'], true],
  ['words beside a vague code', '5.1.0', ['Diagnostic-Code: smtp; 550 5.1.0 User unknown'], true],
  [
    'the code of Microsoft for a remote mailbox',
    '5.1.351',
    ['Diagnostic-Code: smtp; 550 5.1.351 failed'],
    true,
  ],
  ['a host that does not exist', '5.4.4', ['Diagnostic-Code: X-Postfix; Host not found'], true],
  [
    'no host without a mail server',
    '5.4.4',
    ['Diagnostic-Code: X-Postfix; Host found but no data record'],
    false,
  ],
  ['words beside a code of a mailbox', '5.2.1', ['Diagnostic-Code: smtp; 550 5.2.1 User Unknown'], true],
  ['words beside a code of a policy', '5.7.1', ['Diagnostic-Code: smtp; 554 5.7.1 No such user'], true],
  [
    'no code of a user if a list is why',
    '5.1.1',
    ['Diagnostic-Code: smtp; 550 5.7.1 IP address blacklisted'],
    false,
  ],
  [
    'no code of a user if the mailbox is full',
    '5.1.1',
    ['Diagnostic-Code: smtp; 552 over quota (#5.1.1)'],
    false,
  ],
  ['no unknown domain of the sender', '5.1.7', ['Diagnostic-Code: smtp; 550 5.1.7 No such domain'], false],
  ['no vague code alone', '5.1.0', ['Diagnostic-Code: smtp; 550 5.1.0 Sender rejected'], false],
])('a bounce is about a dead address by %s', async (_what, status, diagnosis, isDead) => {
  const [event] = await report('delivery-status', 'message/delivery-status', bounced(status, diagnosis));
  expect(event).toMatchObject({ kind: 'receipt', status: 'failed', carrierMessageId: OURS });
  expect(event && 'deadAddress' in event).toBe(isDead);
});

test.each([
  ['5.7.1', 'smtp; 550 5.7.1 Sender blocked'],
  ['5.0.0', 'smtp; 554 5.7.1 Client host [192.0.2.1] blocked using a list'],
  ['5.7.26', 'smtp; 550 5.7.26 This mail is unauthenticated'],
  ['5.0.0', 'smtp; 550 Domain has exceeded the max emails per hour (100/100) allowed'],
  ['5.1.8', 'smtp; 501 5.1.8 Bad sender'],
  ['5.4.5', 'smtp; 550 5.4.5 Daily user sending limit exceeded'],
])('a bounce that blames the sender is about the line: %s, %s', async (status, diagnosis) => {
  const fields = bounced(status, [`Diagnostic-Code: ${diagnosis}`]);
  const [event] = await report('delivery-status', 'message/delivery-status', fields);
  expect(event).toMatchObject({ kind: 'receipt', status: 'failed', ofLine: true });
  expect(event).not.toHaveProperty('deadAddress');
});

test('words and codes in the address of the recipient mean nothing', async () => {
  for (const recipient of ['user-unknown@contact.example', 'a.5.1.1@contact.example']) {
    const [event] = await report(
      'delivery-status',
      'message/delivery-status',
      bounced(
        '5.0.0',
        [`Diagnostic-Code: smtp; 550 <${recipient}>: message for ${recipient} is too big`],
        recipient,
      ),
    );
    expect(event && 'deadAddress' in event).toBe(false);
  }
});

test('a bounce to an international address is read (RFC 6533)', async () => {
  const fields = [
    'Reporting-MTA: dns; mx',
    '',
    'Final-Recipient: utf-8; josé@contact.example',
    'Action: failed',
    'Status: 5.1.1',
  ];
  expect(await report('delivery-status', 'message/global-delivery-status', fields)).toMatchObject([
    { kind: 'receipt', carrierMessageId: OURS, deadAddress: true },
  ]);
});

test('a delay is not a failure, and a report about an id that can be guessed counts for nothing', async () => {
  const delayed = bounced('4.4.1', []).map((line) => line.replace('failed', 'delayed'));
  expect(await report('delivery-status', 'message/delivery-status', delayed)).toEqual([]);
  expect(await report('delivery-status', 'message/delivery-status', bounced('5.1.1', []), GUESSABLE)).toEqual(
    [],
  );
});

test.each([
  ['displayed', 1],
  ['deleted', 0],
])('a receipt of an email that was %s', async (disposition, count) => {
  const fields = [
    'Reporting-UA: mail.contact.example',
    'Final-Recipient: rfc822;bea@contact.example',
    `Original-Message-ID: ${OURS}`,
    `Disposition: manual-action/MDN-sent-manually; ${disposition}`,
  ];
  const events = await report('disposition-notification', 'message/disposition-notification', fields);
  expect(events).toMatchObject(
    Array.from({ length: count }, () => ({ kind: 'read', carrierMessageId: OURS })),
  );
});

const worded = (text: readonly string[], headers: readonly string[] = []) =>
  read([...HEAD, ...headers, 'Content-Type: text/plain', '', ...text]);

test('a bounce of qmail without a report is read', async () => {
  const events = await worded([
    'Hi. This is the qmail-send program at mx.contact.example.',
    "I'm afraid I wasn't able to deliver your message to the following addresses.",
    "This is a permanent error; I've given up. Sorry it didn't work out.",
    '',
    '<gone@contact.example>:',
    '192.0.2.1 does not like recipient.',
    'Remote host said: 550 5.1.1 User unknown',
    'Giving up on 192.0.2.1.',
    '',
    '--- Below this line is a copy of the message.',
    '',
    'Return-Path: <dana@line.example>',
    `Message-ID: ${OURS}`,
    'Subject: Our offer',
  ]);
  expect(events).toMatchObject([
    {
      kind: 'receipt',
      status: 'failed',
      carrierMessageId: OURS,
      deadAddress: true,
      reason: 'bounced: 550 5.1.1 User unknown',
    },
  ]);
});

test('a bounce of old Exim is read, and a warning of it is not', async () => {
  const copy = [
    '',
    '------ This is a copy of the message, including all the headers. ------',
    '',
    `Message-ID: ${OURS}`,
  ];
  const header = ['X-Failed-Recipients: gone@contact.example'];
  const failed = [
    'A message that you sent could not be delivered to one or more of its',
    'recipients. This is a permanent error. The following address(es) failed:',
    '',
    '  gone@contact.example',
    '    Unrouteable address',
    ...copy,
  ];
  expect(await worded(failed, header)).toMatchObject([
    { kind: 'receipt', carrierMessageId: OURS, deadAddress: true },
  ]);
  const warning = [
    'A message that you sent has not yet been delivered to one or more of its recipients.',
    'No action is required on your part. Delivery attempts will continue for some time.',
    ...copy,
  ];
  expect(await worded(warning)).toEqual([]);
});

const AS_REPORTED = 'Message headers follow.';
test.each<[string, readonly string[], readonly string[], boolean]>([
  [
    'DragonFly, which has no address',
    ['From: MAILER-DAEMON <>'],
    ['did not like our RCPT TO:', '550 5.2.1 <gone@contact.example>: User unknown.', AS_REPORTED],
    true,
  ],
  [
    'a server with a name',
    ['From: Mail Delivery System <mail.delivery.system@contact.example>', 'Return-Path: <>'],
    ['Delivery to the following recipients failed permanently:', 'gone@contact.example'],
    false,
  ],
  [
    'Exchange 5.5',
    ['From: System Administrator <postmaster@contact.example>'],
    ['did not reach the following recipient(s):', 'gone', '    The recipient name is not recognized'],
    true,
  ],
  ['IMail', ['From: Postmaster <postmaster@contact.example>'], ['Unknown user: gone@contact.example'], true],
  [
    'Google Groups',
    ['From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>'],
    [
      'The group you tried to contact (x) may not exist, or you may not have permission to post messages to it.',
    ],
    false,
  ],
  [
    'Exchange, in German',
    ['From: Microsoft Outlook <postmaster@contact.example>', 'Subject: Unzustellbar: Our offer'],
    ['Fehler bei der Nachrichtenzustellung an folgende Empfänger'],
    false,
  ],
])('a bounce without a report is read: %s', async (_server, headers, text, isDead) => {
  const [event, ...others] = await read([
    ...HEAD.filter((line) => !line.startsWith('From') && !(line.startsWith('Subject') && headers.length > 1)),
    ...headers,
    'Content-Type: text/plain; charset=utf-8',
    '',
    ...text,
    '',
    `Message-ID: ${OURS}`,
  ]);
  expect(others).toEqual([]);
  expect(event).toMatchObject({ kind: 'receipt', status: 'failed', carrierMessageId: OURS });
  expect(event && 'deadAddress' in event).toBe(isDead);
});

test.each([
  ['Re: Our offer', 'I am away until Monday.'],
  [
    'Automatic reply: Our offer',
    'This address does not exist any longer, and your email will not be sent on.',
  ],
])('a note of somebody who is away is none, though it has no return path: %s', async (subject, text) => {
  const events = await read([
    'Return-Path: <>',
    'From: Ada <ada@contact.example>',
    `Subject: ${subject}`,
    'Message-ID: <a1@contact.example>',
    `In-Reply-To: ${OURS}`,
    '',
    text,
  ]);
  expect(events).toMatchObject([{ kind: 'reply', text, autoReply: true }]);
});

test('a person who quotes an email of ours sends no bounce', async () => {
  const events = await read([
    ...HEAD.map((line) => line.replace(/^From: .*/, 'From: Ada <ada@contact.example>')),
    'Content-Type: text/plain',
    '',
    'Your email could not be delivered to my colleague: 550 5.1.1',
    `> Message-ID: ${OURS}`,
  ]);
  expect(events).toMatchObject([{ kind: 'reply' }]);
});
