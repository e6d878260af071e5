import type { Socket } from 'node:net';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { findSignals } from '#db/queries/lines/line-signals.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { sumSignals } from '#domain/lines/line-signals.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { startHostileMailbox } from '#test/support/hostile-mailbox.ts';
import { startMailbox, type TestMailbox } from '#test/support/mailbox.ts';
import { firstMailTo } from '#test/support/mails.ts';

let app: OwnApp;
let api: ApiClient;
let mailbox: TestMailbox;
let lineId: string;
let workspace: TestWorkspace;

beforeAll(async () => {
  mailbox = await startMailbox();
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1' } });
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id, 'email');
  mailbox.deliver(from('before@example.com'), 'From the time before the line was connected');
  const config = { url: app.smtpUrl, imapUrl: mailbox.url };
  const { status } = await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config });
  if (status !== 200) throw new Error(`not connected: ${status}`);
});
afterAll(async () => {
  await app.stop();
  await mailbox.stop();
});

const address = (): string => `contact-${newId()}@example.com`;
const from = (sender: string, headers: Record<string, string> = {}): Record<string, string> => ({
  From: `Somebody <${sender}>`,
  To: 'dana@line.example',
  Subject: 'Re: Hello',
  Date: new Date().toUTCString(),
  'Message-ID': `<${newId()}@their.example>`,
  ...headers,
});

async function send(recipientEmail: string): Promise<{ id: string; messageId: string }> {
  const { body } = await api('POST', '/api/messages', {
    message: 'Hello',
    messageType: 'email',
    recipientEmail,
  });
  const { headers } = await firstMailTo(app, recipientEmail);
  await eventually(async () => (await message(body._id)).status === 'sent');
  return { id: body._id, messageId: headers['message-id'] ?? '' };
}

const message = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const inboundOf = async (of: string) => {
  const { body } = await api('GET', `/api/conversations/${encodeURIComponent(of)}`);
  return (body.messages ?? []).filter(({ direction }: { direction: string }) => direction === 'in');
};
/** Looks at the database until the email is there: the API answers so many requests of one workspace only. */
async function arrived(of: string) {
  const isStored = () =>
    withTenant(app.pools, workspace.id, (db) =>
      db.exists(sql.type(z.unknown())`select from inbound_messages where address = ${of}`),
    );
  await eventually(isStored);
  return inboundOf(of);
}

test('a reply in HTML only is stored as text without its quote and matched to its message', async () => {
  const to = address();
  const { id, messageId } = await send(to);
  const html = `<p>Klingt gut &amp; sch&ouml;n,<br>bis Montag – Ada</p><div class="gmail_quote">On Mon, Mar 3, 2025 at 9:00 Dana &lt;dana@line.example&gt; wrote:<blockquote>Hello</blockquote></div>`;
  const type = { 'Content-Type': 'text/html; charset=utf-8' };
  mailbox.deliver(from(to, { 'In-Reply-To': messageId, ...type }), html);
  expect(await arrived(to)).toEqual([
    expect.objectContaining({
      message: 'Klingt gut & schön,\nbis Montag – Ada',
      originalMessageId: id,
      autoReply: false,
    }),
  ]);
  expect(await inboundOf('before@example.com')).toEqual([]);
});

test('an automatic reply is stored as such', async () => {
  const to = address();
  mailbox.deliver(from(to, { 'Auto-Submitted': 'auto-replied' }), 'I am away');
  expect(await arrived(to)).toEqual([expect.objectContaining({ message: 'I am away', autoReply: true })]);
});

test('a STOP above a quoted message opts out', async () => {
  const to = address();
  mailbox.deliver(from(to), 'STOP\n\n> Hello\n> Dana\n');
  await eventually(async () => JSON.stringify((await api('GET', '/api/opt-outs')).body).includes(to));
});

/** An email of a mail server about one of ours: a part for programs, and the headers of the email. */
function report(kind: string, about: { messageId: string; to: string }, facts: string): void {
  const body = [
    '--b',
    'Content-Type: text/plain\n\nThis is about an email of yours.',
    '--b',
    `Content-Type: message/${kind === 'feedback-report' ? kind : 'delivery-status'}\n\n${facts}\n`,
    '--b',
    `Content-Type: text/rfc822-headers\n\nSubject: Hello\nMessage-ID: ${about.messageId}\nTo: ${about.to}\n`,
    '--b--',
  ].join('\n');
  const type = `multipart/report; report-type=${kind}; boundary="b"`;
  const headers = { 'MIME-Version': '1.0', 'Content-Type': type };
  mailbox.deliver(from('mailer-daemon@mx.example.com', headers), body);
}

const bounced = (to: string, status: string): string =>
  `Reporting-MTA: dns; mx.example.com\n\nFinal-Recipient: rfc822; ${to}\nAction: failed\nStatus: ${status}\nDiagnostic-Code: smtp; 550 ${status} refused\n`;
const feedback = (type: string): string =>
  `Feedback-Type: ${type}\nUser-Agent: SomeGenerator/1.0\nVersion: 1\nSource-IP: 192.0.2.1\n`;

const sourceOf = async (to: string): Promise<string | undefined> =>
  (await api('GET', '/api/opt-outs?limit=200')).body.optOuts.find(
    ({ address: known }: { address: string }) => known === to,
  )?.source;
/** Of the days so far. */
const signals = () =>
  withTenant(app.pools, workspace.id, async (db) => {
    const days = (await findSignals(db, [lineId], '2020-01-01')).get(lineId) ?? [];
    return sumSignals(days, '2020-01-01', '9999-12-31');
  });

test('a delivery failure notification fails its message, and that of a dead address blocks it', async () => {
  const before = await signals();
  const [dead, full] = [address(), address()];
  const [toDead, toFull] = [await send(dead), await send(full)];
  report('delivery-status', { ...toFull, to: full }, bounced(full, '5.2.2'));
  report('delivery-status', { ...toDead, to: dead }, bounced(dead, '5.1.1'));
  await eventually(async () => (await message(toDead.id)).status === 'failed');
  expect((await message(toDead.id)).errorMessage).toBe('bounced: 550 5.1.1 refused');
  expect((await message(toFull.id)).errorMessage).toBe('bounced: 550 5.2.2 refused');
  expect([await sourceOf(dead), await sourceOf(full)]).toEqual(['carrier', undefined]);
  const after = await signals();
  expect(after.bounced).toBe(before.bounced + 2);
  expect(after.complained).toBe(before.complained);
});

test('a complaint opts the contact out, fails its message and counts for the reputation of the line', async () => {
  const before = await signals();
  const [to, content] = [address(), address()];
  const [sent, other] = [await send(to), await send(content)];
  report('feedback-report', { ...other, to: content }, feedback('not-spam'));
  report('feedback-report', { ...sent, to }, feedback('abuse'));
  report('feedback-report', { ...sent, to }, feedback('abuse'));
  const last = address();
  mailbox.deliver(from(last), 'After the reports');
  await arrived(last);
  expect(await message(sent.id)).toMatchObject({ status: 'failed', errorMessage: 'complained: abuse' });
  expect((await message(other.id)).status).toBe('sent');
  expect([await sourceOf(to), await sourceOf(content)]).toEqual(['complaint', undefined]);
  const after = await signals();
  expect(after.complained).toBe(before.complained + 1);
  expect(after.bounced).toBe(before.bounced);
  expect(await inboundOf('mailer-daemon@mx.example.com')).toEqual([]);
  const { consents } = (await api('GET', `/api/consents?address=${encodeURIComponent(to)}`)).body;
  expect(consents).toMatchObject([{ status: 'revoked', source: 'keyword', evidence: 'complaint' }]);
});

test('emails that arrive while no worker runs are stored once, even if the server renumbers them', async () => {
  const [first, ...others] = Array.from({ length: 25 }, address);
  await app.stopWorker();
  for (const one of [first, ...others]) mailbox.deliver(from(one ?? ''), `From ${one}`);
  await app.startWorker();
  await arrived(others.at(-1) ?? '');
  mailbox.renumber();
  const [late, later] = [address(), address()];
  mailbox.deliver(from(late), 'After the renumbering');
  await arrived(late);
  mailbox.deliver(from(later), 'And one more');
  await arrived(later);
  const { conversations } = (await api('GET', '/api/conversations?limit=200')).body;
  const known = JSON.stringify(conversations);
  expect([first, ...others].filter((one) => !known.includes(one ?? ''))).toEqual([]);
  for (const one of [first, others[20], others[23], late]) expect(await inboundOf(one ?? '')).toHaveLength(1);
});

test('emails are read after the mailbox was restored from a backup, or moved to another host', async () => {
  const [before, restored, between, moved] = [address(), address(), address(), address()];
  mailbox.deliver(from(before), 'Before');
  await arrived(before);
  mailbox.restore();
  mailbox.deliver(from(restored), 'STOP');
  expect(await arrived(restored)).toMatchObject([{ message: 'STOP' }]);
  await app.stopWorker();
  mailbox.deliver(from(between), 'STOP');
  const imapUrl = mailbox.url.replace('127.0.0.1', 'localhost');
  const connect = (url: string) =>
    api('PUT', `/api/lines/${lineId}/carrier`, {
      provider: 'smtp',
      config: { url: app.smtpUrl, imapUrl: url },
    });
  expect((await connect(imapUrl)).status).toBe(200);
  mailbox.deliver(from(moved), 'After');
  await app.startWorker();
  await arrived(moved);
  for (const one of [restored, between, moved]) expect(await inboundOf(one)).toHaveLength(1);
  expect((await connect(mailbox.url)).status).toBe(200);
});

test('email from before the connection is no news, unless it belongs to a thread of ours', async () => {
  const to = address();
  const { messageId } = await send(to);
  const [old, last] = [address(), address()];
  const Date = 'Mon, 15 Jan 2024 10:00:00 +0000';
  for (let count = 0; count < 60; count += 1) mailbox.deliver(from(old, { Date }), `Old ${count}`);
  mailbox.deliver(from(to, { Date, 'In-Reply-To': messageId }), 'STOP');
  mailbox.deliver(from(last), 'New');
  await arrived(last);
  expect(await inboundOf(old)).toEqual([]);
  expect(await arrived(to)).toMatchObject([{ message: 'STOP' }]);
});

test('a new email is as new as the server that received it says, whatever the clock of its sender', async () => {
  const received = (at: Date): string =>
    `from pc (pc.example (comment) [192.0.2.1]) by mx.line.example with ESMTPS id 1; ${at.toUTCString()} (UTC)`;
  const now = new Date();
  const senders = [
    'Thu, 01 Jan 1970 00:00:12 +0000',
    'Mon, 15 Jan 2018 10:00:00 +0000',
    'Fri, 13 Dec 1901 20:45:52 GMT',
    'no date',
  ].map((wrong): [string, string] => [address(), wrong]);
  const restored = address();
  const old = 'Mon, 15 Jan 2024 10:00:00 +0000';
  mailbox.deliver(from(restored, { Received: received(new Date(old)), Date: now.toUTCString() }), 'Old');
  for (const [sender, Date] of senders)
    mailbox.deliver(from(sender, { Received: received(now), Date }), 'Are you open?');
  for (const [sender] of senders) {
    const [{ at }] = await arrived(sender);
    expect([sender, Date.parse(at)]).toEqual([sender, Math.floor(now.getTime() / 1000) * 1000]);
  }
  expect(await inboundOf(restored)).toEqual([]);
});

test('an answer to us does not wait behind many other emails, and all are stored once', async () => {
  const to = address();
  const { id, messageId } = await send(to);
  const strangers = Array.from({ length: 45 }, address);
  await app.stopWorker();
  for (const one of strangers) mailbox.deliver(from(one), 'Read our newsletter');
  mailbox.deliver(from(to, { 'In-Reply-To': messageId }), 'Yes please');
  await app.startWorker();
  await arrived(strangers.at(-1) ?? '');
  for (const one of [...strangers, to]) expect(await inboundOf(one)).toHaveLength(1);
  const answer = (await inboundOf(to))[0];
  expect(answer).toMatchObject({ originalMessageId: id });
  const ids = await withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ id: z.string() }))`
      select id from inbound_messages where workspace_id = ${workspace.id} order by id desc limit 46`),
  );
  expect(ids.at(-1)).toBe(answer.messageId);
});

test('a mailbox that cannot be read is shown with its line, and told once by email', async () => {
  const line = async () => {
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    return lines.find(({ _id }: { _id: string }) => _id === lineId);
  };
  await api('GET', `/api/lines/check-availability?id=${lineId}`);
  expect((await line()).healthCheck.inbox).toBeUndefined();
  mailbox.refuseLogins(true);
  const { inbox } = await eventually(async () => {
    const { healthCheck } = await line();
    return healthCheck.inbox && healthCheck;
  });
  expect(inbox.reason).toMatch(/^127\.0\.0\.1:\d+ refuses the user or the password/);
  const { body } = await api('GET', `/api/lines/check-availability?id=${lineId}`);
  expect(body).toMatchObject({
    status: 'degraded',
    failures: [{ check: 'inbox', error: expect.any(String) }],
  });
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`
      update lines set inbox_failing_since = now() - interval '11 minutes' where id = ${lineId}`),
  );
  const mails = () =>
    withSystem(app.pools, (db) =>
      db.anyFirst(sql.type(z.object({ template: z.string() }))`
        select template from mails where workspace_id = ${workspace.id} and template = 'inboxUnreadable'`),
    );
  await eventually(async () => (await mails()).length > 0);
  expect((await line()).healthCheck.status).toBe('degraded');
  const unreadable = async () =>
    /^linepace_inboxes\{state="unreadable"\} (\d+)$/m.exec(
      await (await fetch(`${app.url}/metrics`)).text(),
    )?.[1];
  await eventually(async () => (await unreadable()) === '1');
  mailbox.refuseLogins(false);
  await eventually(async () => (await line()).healthCheck.inbox === undefined);
  await eventually(async () => (await unreadable()) === '0');
  expect(await mails()).toHaveLength(1);
  expect((await line()).healthCheck.status).toBe('healthy');
});

test('a mailbox that cannot be read cannot be connected', async () => {
  const connect = (imapUrl: string) =>
    api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config: { url: app.smtpUrl, imapUrl } });
  const wrong = await connect(mailbox.url.replace('hunter2', 'wrong'));
  expect([wrong.status, wrong.body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
  const inside = await connect('imap://dana:x@10.0.0.1/INBOX');
  expect([inside.status, inside.body.code]).toEqual([400, 'URL_NOT_ALLOWED']);
});

test('an unreadable email is recorded and counted, and the emails after it are read', async () => {
  const to = address();
  const nested = Array.from(
    { length: 300 },
    (_, level) => `Content-Type: multipart/mixed; boundary=b${level}\n\n--b${level}`,
  ).join('\n');
  mailbox.deliver(from(address(), { 'Content-Type': 'multipart/mixed; boundary=b' }), `--b\n${nested}\n`);
  mailbox.deliver(from(to), 'STOP');
  await eventually(async () => JSON.stringify((await api('GET', '/api/opt-outs')).body).includes(to));
  const rows = await withSystem(app.pools, (db) =>
    db.any(sql.type(z.object({ reason: z.string() }))`
      select reason from unreadable_inbound where line_id = ${lineId} order by reference::int`),
  );
  expect(rows.map(({ reason }) => reason)).toEqual(['reading it failed: Error']);
  await eventually(async () => {
    const metrics = await (await fetch(`${app.url}/metrics`)).text();
    return (
      /^linepace_unreadable_inbound_messages 1$/m.test(metrics) &&
      /^linepace_inbox_read_age_seconds \d/m.test(metrics)
    );
  });
});

test('deeply nested HTML is read, and so is the next email', async () => {
  const [first, second] = [address(), address()];
  const html = (text: string) => `${text}${'<div><ul><li>'.repeat(50_000)}`;
  mailbox.deliver(from(first, { 'Content-Type': 'text/html' }), html('Yes'));
  mailbox.deliver(from(second), 'No');
  expect((await arrived(first))[0].message).toMatch(/^Yes/);
  expect((await arrived(second))[0].message).toBe('No');
});

test.each<[string, (socket: Socket, tag: string) => void]>([
  ['never answers', () => {}],
  ['announces a gigabyte', (socket) => socket.write('* 1 FETCH (UID 1 BODY[] {1073741824}\r\n')],
  [
    'sends a line without end',
    (socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write('* FLAGS '.repeat(10_000)));
        if (!socket.destroyed) socket.once('drain', more);
      };
      more();
    },
  ],
  ['reports no next UID', (socket, tag) => socket.write(`* 1 EXISTS\r\n${tag} OK [READ-ONLY] done\r\n`)],
])('connecting a mailbox whose server %s soon fails', async (_what, response) => {
  const server = await startHostileMailbox(response);
  const config = { url: app.smtpUrl, imapUrl: server.url };
  const { status, body } = await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config });
  expect([status, body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
  await server.stop();
});

test('the mailbox is no longer read after the line is connected without it', async () => {
  const handle = app.temporal.workflow.getHandle(`mailbox-reader:${lineId}`);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  const config = { url: app.smtpUrl };
  expect((await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'smtp', config })).status).toBe(200);
  await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
});
