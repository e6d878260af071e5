import { readFileSync } from 'node:fs';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { createServer, type TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { createUntrustedWork } from '#providers/untrusted/processes.ts';
import { connectionResults, outbound, smtpWorld, type SmtpWorld } from '#test/conformance/carrier-worlds.ts';
import { startMailbox } from '#test/support/mailbox.ts';
import { startReplying } from '#test/support/replying-mail-server.ts';
import { smtpCarrier } from './smtp.ts';

let world: SmtpWorld;
beforeEach(async () => {
  world = await smtpWorld();
});
afterEach(() => world.stop());

const send = (to: string, fields = {}, config = {}) =>
  world.carrier.send(
    { ...world.config, ...config },
    outbound(world, to, fields),
    new AbortController().signal,
  );

describe('the outcome of a send', () => {
  it.each([
    ['a connection that is lost before the data', 'broken-off@example.com', 'transient'],
    ['a 4yz reply to the data', 'later-content@example.com', 'transient'],
    ['a 5yz reply to the data', 'refused-content@example.com', 'refused'],
    ['a connection that is lost after the data', 'answer-lost@example.com', 'unknown'],
  ])('after %s (%s) is %s', async (_what, to, kind) => {
    expect((await send(to)).kind).toBe(kind);
  });

  it('after a connection that is lost before the end of a large email is transient: nothing was accepted', async () => {
    const large = { text: 'line\n'.repeat(1_000_000) };
    expect((await send('stops-in-data@example.com', large)).kind).toBe('transient');
  });

  it('for an empty address is refused, without asking the server', async () => {
    expect((await send('')).kind).toBe('refused');
  });

  it('with a wrong password is transient, and the probe of the line fails', async () => {
    const login = { user: 'dana', password: 'wrong' };
    expect((await send('ada@example.com', {}, login)).kind).toBe('transient');
    await expect(world.carrier.probe({ ...world.config, ...login }, 'line')).rejects.toThrow(
      'wrong password',
    );
    expect((await send('ada@example.com', {}, { user: 'dana', password: 'right' })).kind).toBe('accepted');
  });

  it('is accepted even if the server has closed a kept connection', async () => {
    expect((await send('first@example.com')).kind).toBe('accepted');
    world.dropConnections();
    expect((await send('second@example.com')).kind).toBe('accepted');
    expect(await world.taken('second@example.com')).toBe(1);
  });
});

async function replying(replies: Record<string, string>) {
  const server = await startReplying(replies);
  onTestFinished(() => void server.stop());
  return server;
}

describe('a permanent reply', () => {
  it.each([
    ['greeting', '554 5.7.1 Service unavailable; client host blocked using zen.example'],
    ['greeting', 'HTTP/1.1 400 Bad Request'],
    ['mail from', '550 5.1.8 Access denied, bad outbound sender'],
    ['mail from', '553 5.7.1 Sender address rejected: not owned by user'],
    ['rcpt to', '554 5.7.1 <ada@example.com>: Relay access denied'],
    ['rcpt to', '550 5.4.5 Daily user sending limit exceeded'],
    ['.', '550 5.7.501 Service unavailable. Access denied, spam abuse detected'],
    ['.', '550 5.7.26 This mail is unauthenticated, which poses a security risk'],
    ['.', '554 Message rejected: Email address is not verified.'],
  ])('to %s that speaks of the sender or the server, “%s”, fails no message', async (command, text) => {
    const { url } = await replying({ [command]: text });
    expect(await send('ada@example.com', {}, { url })).toMatchObject({ kind: 'transient', ofLine: true });
  });

  it.each([
    ['rcpt to', '550 5.1.1 The email account does not exist'],
    ['rcpt to', '550 No such user here'],
    ['rcpt to', '552 5.2.2 Mailbox full'],
    ['.', '554 5.7.1 Message contains spam'],
    ['.', '552 5.3.4 Message size exceeds fixed limit'],
  ])('to %s that speaks of the recipient or the text, “%s”, is final', async (command, text) => {
    const { url } = await replying({ [command]: text });
    expect((await send('ada@example.com', {}, { url })).kind).toBe('refused');
  });
});

describe('a server that breaks the protocol', () => {
  it.each([
    ['asks for the data with 250', { data: '250 go on' }, 'accepted'],
    [
      'replies twice to the sender, so that each reply is one late',
      { 'mail from': '250 a\r\n250 b' },
      'unknown',
    ],
    ['replies twice to the recipient', { 'rcpt to': '250 a\r\n250 b' }, 'unknown'],
    ['asks for the data twice', { data: '354 go on\r\n354 go on' }, 'unknown'],
    ['asks for more after the data', { '.': '354 go on' }, 'unknown'],
    ['replies to the data with a code that does not exist', { '.': '999 no' }, 'unknown'],
    ['replies to the data with something else', { '.': 'HTTP/1.1 502 Bad Gateway' }, 'unknown'],
    ['accepts the data before it has them', { data: '354 go on\r\n250 queued' }, 'unknown'],
  ])('and %s: the outcome is as certain as the reply', async (_what, replies, kind) => {
    const { url } = await replying(replies);
    expect((await send('ada@example.com', {}, { url })).kind).toBe(kind);
  });

  it.each([
    ['data', '500 unrecognized command'],
    ['data', '503 Bad sequence of commands'],
    ['rcpt to', '503 valid RCPT command must precede'],
    ['rcpt to', 'what?'],
    ['.', '502 Command not implemented'],
  ])('by answering %s with “%s” fails no message', async (command, text) => {
    const { url } = await replying({ [command]: text });
    expect(await send('ada@example.com', {}, { url })).toMatchObject({ kind: 'transient', ofLine: true });
  });
});

test('a server is greeted with the name in the settings of the line, otherwise with that of the installation', async () => {
  const server = await replying({});
  const installation = smtpCarrier({ untrusted: createUntrustedWork(), ehloName: 'mx.linepace.example' });
  const message = outbound(world, 'ada@example.com', {});
  const config = { url: server.url, inboundSecret: 'a secret of the line' };
  for (const ehloName of [undefined, 'mail.line.example'])
    await installation.send(
      installation.config.parse({ ...config, ...(ehloName && { ehloName }) }),
      message,
      new AbortController().signal,
    );
  expect(server.received.filter((line) => /^EHLO/i.test(line))).toEqual([
    'EHLO mx.linepace.example',
    'EHLO mail.line.example',
  ]);
  await installation.close();
});

describe('servers with certificates of an authority of their own', () => {
  const folder = join(import.meta.dirname, '../../../test/fixtures/tls');
  const pem = (name: string) => readFileSync(join(folder, name), 'utf8');

  /** A server behind TLS. @returns its port. */
  async function behindTls(port: number): Promise<number> {
    const sockets = new Set<TLSSocket>();
    const server = createServer({ cert: pem('server.pem'), key: pem('server-key.pem') }, (socket) => {
      sockets.add(socket);
      const plain = connect(port, '127.0.0.1');
      for (const [end, other] of [
        [socket, plain],
        [plain, socket],
      ] as const)
        end.on('error', () => other.destroy());
      socket.pipe(plain).pipe(socket);
    });
    server.on('tlsClientError', () => {});
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return (server.address() as AddressInfo).port;
  }

  it('send and are read once the line trusts the authority', async () => {
    const mailbox = await startMailbox();
    onTestFinished(() => mailbox.stop());
    const inbox = new URL(mailbox.url);
    const imapPort = await behindTls(Number(inbox.port));
    const smtpPort = await behindTls((world.config as { port: number }).port);
    const config = {
      url: `smtps://localhost:${smtpPort}`,
      imapUrl: `imaps://${inbox.username}:${inbox.password}@localhost:${imapPort}/INBOX`,
    };
    const results = (given: Record<string, unknown>) =>
      connectionResults({ ...world, config: given }, 'https://a.example/');
    expect(await results(config)).toMatchObject({ encryption: 'fail', inbox_server: 'fail' });
    const trusting = { ...config, caCertificates: pem('authority.pem') };
    expect(await results(trusting)).toMatchObject({ server: 'pass', inbox: 'pass' });
    const message = () => outbound(world, 'ada@example.com');
    const never = new AbortController().signal;
    expect((await world.carrier.send(config, message(), never)).kind).toBe('transient');
    expect((await world.carrier.send(trusting, message(), never)).kind).toBe('accepted');
  });
});

describe('an email', () => {
  const mailTo = async (to: string, fields: object) => {
    const outcome = await send(to, fields);
    const mail = world.mails.find((candidate) => candidate.to === to);
    if (!mail) throw new Error(`no email arrived: ${JSON.stringify(outcome)}`);
    return { outcome, email: mail.email };
  };
  const header = (email: SmtpWorld['mails'][0]['email'], name: string) =>
    email.headers.find(({ key }) => key === name)?.value;

  it('contains the text as plain text and as escaped HTML', async () => {
    const { email } = await mailTo('ada@example.com', { text: 'Hi <b>Ada</b> & co,\nline two\n\nBye "now"' });
    expect(email.text?.trim()).toBe('Hi <b>Ada</b> & co,\nline two\n\nBye "now"');
    expect(email.html).toContain('<p>Hi &lt;b&gt;Ada&lt;/b&gt; &amp; co,<br>');
    expect(email.html).toContain('<p>Bye &quot;now&quot;</p>');
    expect(email.from).toMatchObject({ name: 'Dana Line', address: 'dana@line.example' });
    expect(email.to).toMatchObject([{ name: 'Ada', address: 'ada@example.com' }]);
  });

  it.each([
    ['the given one', { subject: 'Lunch?', text: 'Hello' }, 'Lunch?'],
    ['the first line that is not empty', { text: '\n  Hello Ada \nHow are you?' }, 'Hello Ada'],
    ['a long first line cut between words', { text: 'word '.repeat(40) }, `${'word '.repeat(15).trim()}…`],
    ['a long word that is cut', { text: 'x'.repeat(100) }, `${'x'.repeat(77)}…`],
    ['the sender if there is no text', { text: '' }, 'Message from Dana Line'],
    [
      'one header, even with line breaks',
      { subject: 'Hi\r\nBcc: eve@example.com' },
      'Hi Bcc: eve@example.com',
    ],
  ])('has as its subject %s', async (_what, fields, subject) => {
    const { email } = await mailTo('ada@example.com', fields);
    expect(email.subject).toBe(subject);
    expect(header(email, 'bcc')).toBeUndefined();
  });

  it('has a Message-ID made of the attempt id and a secret', async () => {
    const attemptId = '6742f1c09b1e8a00d4c3b2a1';
    const { outcome, email } = await mailTo('ada@example.com', { attemptId });
    expect(email.messageId).toMatch(new RegExp(`^<${attemptId}\\.[0-9a-f]{16}@line\\.example>$`));
    expect(email.headers.filter(({ key }) => key.startsWith('x-pm'))).toEqual([]);
    expect(outcome).toEqual({ kind: 'accepted', carrierMessageId: email.messageId });
  });

  it('offers one-click unsubscribe (RFC 8058) if there is a link', async () => {
    const unsubscribeUrl = 'https://api.example.com/unsubscribe/abc.def?x=1&y=2';
    const { email } = await mailTo('ada@example.com', { unsubscribeUrl });
    expect(header(email, 'list-unsubscribe')).toBe(`<${unsubscribeUrl}>`);
    expect(header(email, 'list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    const { email: without } = await mailTo('bob@example.com', {});
    expect(header(without, 'list-unsubscribe')).toBeUndefined();
  });

  const file = (url: string) => ({ name: 'offer.txt', url, contentType: null, voiceNote: false });

  it('contains its attachments', async () => {
    const { email } = await mailTo('ada@example.com', { attachments: [file('https://files.example/offer')] });
    expect(email.attachments).toMatchObject([{ filename: 'offer.txt', mimeType: 'text/plain' }]);
    expect(Buffer.from(email.attachments[0]?.content as ArrayBuffer).toString()).toBe('the file');
  });

  it('is not sent if an attachment cannot be fetched', async () => {
    const outcome = await send('ada@example.com', { attachments: [file('https://files.example/missing')] });
    expect(outcome).toMatchObject({ kind: 'transient', reason: expect.stringContaining('attachment') });
    expect(world.mails).toEqual([]);
  });
});
