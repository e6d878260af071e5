import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { firstMailTo } from '#test/support/mails.ts';

const SECRET = 'a secret for callbacks';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { url: app.smtpUrl, inboundSecret: SECRET },
  });
});

const post = async (body: object, secret = SECRET): Promise<number> => {
  const url = `${app.url}/callbacks/carriers/smtp/${lineId}?secret=${encodeURIComponent(secret)}`;
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
};

const address = (): string => `contact-${newId()}@example.com`;
const toPostmarkHeaders = (headers: Record<string, string>) =>
  Object.entries(headers).map(([Name, Value]) => ({ Name, Value }));

/** An email as Postmark reports it. */
const inbound = (from: string, text: string, headers: Record<string, string> = {}) => ({
  FromName: 'Somebody',
  MessageID: newId(),
  From: `Somebody <${from}>`,
  FromFull: { Email: from, Name: 'Somebody', MailboxHash: '' },
  Subject: 'Re: Hello',
  Date: new Date().toUTCString(),
  TextBody: `${text}\n\nOn Monday we wrote:\n> Hello`,
  StrippedTextReply: text,
  Headers: toPostmarkHeaders(headers),
  Attachments: [],
});

interface Sent {
  id: string;
  messageId: string;
  echoed: string;
}

/** Sends an email. @returns its id and the Message-ID that the recipient sees. */
async function send(recipientEmail: string): Promise<Sent> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    messageType: 'email',
    recipientEmail,
  });
  expect(status).toBe(201);
  const { headers } = await firstMailTo(app, recipientEmail);
  await eventually(async () => (await message(body._id)).status === 'sent');
  return {
    id: body._id,
    messageId: headers['message-id'] ?? '',
    echoed: headers['message-id'] ?? '',
  };
}

const message = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const thread = async (of: string) =>
  (await api('GET', `/api/conversations/${encodeURIComponent(of)}`)).body.messages ?? [];
const inboundOf = async (of: string) =>
  (await thread(of)).filter(({ direction }: { direction: string }) => direction === 'in');

test('a reply by email is stored once, without its quote, and matched to the message it replies to', async () => {
  const to = address();
  const first = await send(to);
  await send(to);
  const email = inbound(to.toUpperCase(), 'Sounds good', {
    'Message-ID': '<their-id@example.com>',
    'In-Reply-To': '<something@else.example>',
    References: `<x@y.example> ${first.messageId}`,
  });
  expect(await post(email)).toBe(200);
  expect(await post({ ...email, MessageID: newId() })).toBe(200);
  expect(await inboundOf(to)).toEqual([
    expect.objectContaining({ message: 'Sounds good', autoReply: false, originalMessageId: first.id }),
  ]);
  const { body } = await api('GET', '/api/replies');
  expect(body.replies.some((reply: { recipientEmail: string }) => reply.recipientEmail === to)).toBe(true);
});

describe('the whole text of an email', () => {
  const TextBody = `Ja, gern.

Mit freundlichen Grüßen
Bea Beispiel

Am 26.11.2026 um 09:00 schrieb Dana Demo <dana@line.example>:
> Hello, quoted words`;

  it('is kept and shown on demand, and goes to no event, draft or list', async () => {
    const from = address();
    const { StrippedTextReply: _stripped, ...email } = inbound(from, '');
    expect(await post({ ...email, TextBody })).toBe(200);
    const listed = await api('GET', `/api/conversations/${encodeURIComponent(from)}`);
    expect(JSON.stringify(listed.body)).not.toContain('quoted words');
    const [reply] = listed.body.messages;
    expect(reply).toMatchObject({ message: 'Ja, gern.', isShortened: true });
    expect((await api('GET', `/api/replies/${reply.messageId}`)).body.reply).toMatchObject({
      messageId: reply.messageId,
      address: from,
      message: 'Ja, gern.',
      wholeMessage: TextBody,
    });
    expect(JSON.stringify((await api('GET', '/api/replies')).body)).not.toContain('quoted words');
    const bodies = await withSystem(app.pools, (db) =>
      db.anyFirst(sql.type(z.object({ body: z.string() }))`
        select body::text from events where workspace_id = ${workspace.id} and body::text like ${`%${from}%`}
        union all select coalesce(draft, '') from ai_drafts where workspace_id = ${workspace.id} and address = ${from}`),
    );
    expect(bodies.length).toBeGreaterThan(0);
    expect(bodies.join('\n')).not.toContain('quoted words');
  });

  it('is the text itself if nothing was left out, and belongs to the workspace', async () => {
    const from = address();
    const { StrippedTextReply: _stripped, ...email } = inbound(from, '');
    expect(await post({ ...email, TextBody: 'Ja, gern.' })).toBe(200);
    const [reply] = await inboundOf(from);
    expect(reply.isShortened).toBe(false);
    const path = `/api/replies/${reply.messageId}`;
    expect((await api('GET', path)).body.reply.wholeMessage).toBe('Ja, gern.');
    const other = await createWorkspace(app);
    expect((await apiClient(app.url, other.key)('GET', path)).status).toBe(404);
  });
});

test('attachments of an email are stored with the reply', async () => {
  const from = address();
  const Content = Buffer.from('name,age\nAda,36\n').toString('base64');
  const Attachments = [{ Name: 'ages.csv', Content, ContentType: 'text/csv', ContentLength: 16 }];
  expect(await post({ ...inbound(from, 'See the file'), Attachments })).toBe(200);
  const [url] = await eventually(async () => {
    const [reply] = await inboundOf(from);
    return reply?.attachmentUrls.length === 1 && reply.attachmentUrls;
  });
  const file = await eventually(async () => {
    const response = await fetch(new URL(url, app.url), {
      headers: { authorization: `Bearer ${workspace.key}` },
    });
    return response.ok && response;
  });
  expect(await file.text()).toBe('name,age\nAda,36\n');
});

test.each([
  { 'Auto-Submitted': 'auto-replied' },
  { 'X-Autoreply': 'yes' },
  { Precedence: 'auto_reply' },
  { 'Return-Path': '<>' },
])('an email with %j is stored as an automatic reply', async (headers) => {
  const from = address();
  expect(await post(inbound(from, 'I am away', headers))).toBe(200);
  expect(await inboundOf(from)).toEqual([expect.objectContaining({ message: 'I am away', autoReply: true })]);
});

const isOptedOut = async (of: string): Promise<boolean> =>
  (await api('GET', `/api/opt-outs/${encodeURIComponent(of)}`)).body.optedOut;
const eventsAbout = async (of: string): Promise<string[]> =>
  withSystem(app.pools, async (db) => [
    ...(await db.anyFirst(sql.type(z.object({ event: z.string() }))`
      select event from events where workspace_id = ${workspace.id} and body::text like ${`%${of}%`} order by id`)),
  ]);

describe('a person', () => {
  it.each([
    ['a mailing list', { Precedence: 'list', 'List-ID': '<sales.line.example>', 'X-Google-Group-Id': '1' }],
    ['a list that says bulk', { Precedence: 'bulk', 'List-Id': '<sales.line.example>' }],
    ['Outlook', { 'X-Auto-Response-Suppress': 'DR, OOF, AutoReply' }],
    ['a server that says so', { 'Auto-Submitted': 'no', Precedence: 'bulk' }],
  ])('who writes through %s is no program', async (_what, headers) => {
    const from = address();
    expect(await post(inbound(from, 'Yes, call me', headers))).toBe(200);
    expect(await inboundOf(from)).toEqual([expect.objectContaining({ autoReply: false })]);
    expect(await eventsAbout(from)).toContain('message.reply');
    expect(await post(inbound(from, 'STOP', headers))).toBe(200);
    expect(await isOptedOut(from)).toBe(true);
  });

  it('opts out with STOP even if the email looks automatic, but not with words that are quoted', async () => {
    const [from, quoting] = [address(), address()];
    expect(await post(inbound(from, 'STOP', { Precedence: 'bulk' }))).toBe(200);
    expect(await isOptedOut(from)).toBe(true);
    expect(await eventsAbout(from)).not.toContain('message.reply');
    const { StrippedTextReply: _stripped, ...email } = inbound(quoting, '', {
      'Auto-Submitted': 'auto-replied',
    });
    expect(await post({ ...email, TextBody: 'I am away.\n\nOn Monday we wrote:\n> STOP' })).toBe(200);
    expect(await isOptedOut(quoting)).toBe(false);
  });

  it.each([
    { Subject: 'unsubscribe', text: 'Sent from my iPhone' },
    { Subject: 'STOP', text: '' },
    { Subject: 'Re: stop', text: 'please' },
  ])('opts out by the subject: %j', async ({ Subject, text }) => {
    const from = address();
    expect(await post({ ...inbound(from, text), TextBody: text, Subject })).toBe(200);
    expect(await isOptedOut(from)).toBe(true);
    expect((await inboundOf(from))[0].subject).toBe(Subject);
  });

  it('is not opted out by the subject that we chose', async () => {
    const to = address();
    const { body } = await api('POST', '/api/messages', {
      message: 'Hello',
      subject: 'Cancel',
      messageType: 'email',
      recipientEmail: to,
    });
    await firstMailTo(app, to);
    await eventually(async () => (await message(body._id)).status === 'sent');
    expect(await post({ ...inbound(to, ''), TextBody: '', Subject: 'AW: Cancel' })).toBe(200);
    expect(await isOptedOut(to)).toBe(false);
    expect((await inboundOf(to))[0].message).toBe('');
  });

  it('asks in the subject, which is the text if there is no other', async () => {
    const from = address();
    const empty = { StrippedTextReply: '', TextBody: '' };
    expect(await post({ ...inbound(from, ''), ...empty, Subject: 'Are you open on Sunday?' })).toBe(200);
    expect(await inboundOf(from)).toEqual([
      expect.objectContaining({ subject: 'Are you open on Sunday?', message: 'Are you open on Sunday?' }),
    ]);
    const { replies } = (await api('GET', '/api/replies?limit=100')).body;
    expect(replies.find((reply: { recipientEmail: string }) => reply.recipientEmail === from)).toMatchObject({
      subject: 'Are you open on Sunday?',
      name: 'Somebody',
      warning: null,
    });
  });

  it('may repeat a Message-ID, or have none', async () => {
    const from = address();
    const same = { 'Message-ID': '<1@localhost>' };
    for (const text of ['One', 'Two']) expect(await post(inbound(from, text, same))).toBe(200);
    expect(await post(inbound(from, 'Two', same))).toBe(200);
    for (const text of ['Three', 'Four'])
      expect(await post(inbound(from, text, { 'Message-ID': '<>' }))).toBe(200);
    const texts = (await inboundOf(from)).map(({ message: text }: { message: string }) => text);
    expect(texts.toSorted()).toEqual(['Four', 'One', 'Three', 'Two']);
  });
});

/** The emails to an address, oldest first. */
const mailsTo = async (to: string, count: number) =>
  eventually(async () => {
    const response = await fetch(`${app.url}/simulated/mail?to=${encodeURIComponent(to)}`);
    const { messages } = (await response.json()) as {
      messages: { subject: string; headers: Record<string, string>; receivedAt: string }[];
    };
    return messages.length >= count && messages.toSorted((a, b) => a.receivedAt.localeCompare(b.receivedAt));
  });

describe('an email', () => {
  it('that answers is in the thread of the email that it answers', async () => {
    const from = address();
    const headers = {
      'Message-ID': `<${newId()}@their.example>`,
      References: '<a@their.example> <b@their.example>',
    };
    expect(
      await post({ ...inbound(from, 'Twenty chairs?', headers), Subject: 'AW: Quote request #42' }),
    ).toBe(200);
    const { status } = await api('POST', '/api/inbox/send-reply', {
      email: from,
      message: 'Good morning,\n\n900.',
    });
    expect(status).toBe(201);
    const [answer] = await mailsTo(from, 1);
    expect(answer?.subject).toBe('Re: Quote request #42');
    expect(answer?.headers['in-reply-to']).toBe(headers['Message-ID']);
    expect(answer?.headers['references']).toBe(
      `<a@their.example> <b@their.example> ${headers['Message-ID']}`,
    );
    const [shown] = await thread(from);
    expect(shown.subject).toBe('Re: Quote request #42');
  });

  it('of a later step is in the thread of the first, and its subject is a template', async () => {
    const to = address();
    const { body } = await api('POST', '/api/campaigns', {
      name: 'Three steps',
      steps: [
        { message: 'First', messageType: 'email', subject: 'For {{ firstName }}: our offer' },
        { message: 'Just following up', messageType: 'email' },
        { message: 'Bye', messageType: 'email', subject: 'Last words, {{ firstName }}' },
      ],
      start: true,
    });
    const lead = { email: to, firstName: 'Ada' };
    expect((await api('POST', `/api/campaigns/${body.campaign._id}/leads`, { lead })).status).toBeLessThan(
      300,
    );
    const mails = await mailsTo(to, 3);
    expect(mails.map(({ subject }) => subject)).toEqual([
      'For Ada: our offer',
      'Re: For Ada: our offer',
      'Last words, Ada',
    ]);
    const ids = mails.map(({ headers }) => headers['message-id']);
    expect(mails.map(({ headers }) => headers['in-reply-to'])).toEqual([undefined, ids[0], ids[1]]);
    expect(mails[2]?.headers['references']).toBe(`${ids[0]} ${ids[1]}`);
  });

  it('needs a valid template as its subject', async () => {
    const bad = {
      message: 'Hi',
      messageType: 'email',
      recipientEmail: address(),
      subject: 'Hi {{ firstName',
    };
    const { status, body } = await api('POST', '/api/messages', bad);
    expect([status, body.issues?.[0]?.path ?? JSON.stringify(body)]).toEqual([400, 'subject']);
  });
});

test('a stranger writes, which is shown and counts in no metric of replies', async () => {
  const replied = async (): Promise<number> => (await api('GET', '/api/analytics')).body.metrics.replied;
  const before = await replied();
  const [stranger, contact] = [address(), address()];
  expect(await post(inbound(stranger, 'Read our newsletter'))).toBe(200);
  expect(await inboundOf(stranger)).toHaveLength(1);
  expect(await eventsAbout(stranger)).toContain('message.reply');
  await send(contact);
  expect(await post(inbound(contact, 'Yes'))).toBe(200);
  expect(await replied()).toBe(before + 1);
});

describe('the contact of an email', () => {
  it('is the one address of Reply-To', async () => {
    const [form, customer, other] = [address(), address(), address()];
    const two = { ...inbound(form, 'For two'), ReplyTo: `a <${customer}>, b <${other}>` };
    expect(await post({ ...inbound(form, 'Do you deliver?'), ReplyTo: `Ada <${customer}>` })).toBe(200);
    expect(await post(inbound(form, 'And on Sundays?', { 'Reply-To': customer }))).toBe(200);
    expect(await inboundOf(customer)).toHaveLength(2);
    expect(await inboundOf(form)).toEqual([]);
    expect(await post(two)).toBe(200);
    expect(await inboundOf(form)).toHaveLength(1);
  });

  it('is not a line of the workspace, which replies to nobody', async () => {
    const own: string = (await api('GET', `/api/lines/${lineId}`)).body.line.email;
    const customer = address();
    expect(await post({ ...inbound(customer, 'Hello'), ReplyTo: own })).toBe(200);
    expect(await inboundOf(customer)).toHaveLength(1);
    expect(await post(inbound(own, 'STOP'))).toBe(200);
    expect(await inboundOf(own)).toEqual([expect.objectContaining({ warning: 'own_address' })]);
    expect(await isOptedOut(own)).toBe(false);
    expect(await eventsAbout(own)).not.toContain('message.reply');
  });

  it('is never a phone number', async () => {
    const number = '+1 (415) 555-0123';
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: number });
    const email = { ...inbound(number, 'STOP'), From: `"x" <${number}>` };
    expect(await post(email)).toBe(200);
    expect(await isOptedOut('+14155550123')).toBe(false);
    expect(await inboundOf('+14155550123')).toEqual([]);
    expect(await inboundOf('unknown-sender@invalid')).toEqual([
      expect.objectContaining({ warning: 'invalid_sender' }),
    ]);
  });
});

describe('the sender of an email', () => {
  const forged = { 'Authentication-Results': 'mx.example; spf=fail; dkim=none; dmarc=fail (p=REJECT)' };

  it('who is not verified opts nobody out or in, and the email is shown with a warning', async () => {
    const to = address();
    await send(to);
    expect(await post(inbound(to, 'STOP', forged))).toBe(200);
    expect(await isOptedOut(to)).toBe(false);
    expect(await inboundOf(to)).toEqual([
      expect.objectContaining({
        warning: 'sender_not_verified',
        authentication: { result: 'fail', server: 'mx.example', details: 'spf=fail dkim=none dmarc=fail' },
      }),
    ]);
    const verified = { 'Authentication-Results': 'mx.example; dkim=pass header.d=example.com; spf=fail' };
    expect(await post(inbound(to, 'STOP', verified))).toBe(200);
    expect(await isOptedOut(to)).toBe(true);
  });

  it('who asks for answers to a contact of another domain does not write as that contact', async () => {
    const to = address();
    const { messageId } = await send(to);
    const stranger = `mallory-${newId()}@elsewhere.example`;
    const verified = { 'Authentication-Results': 'mx.example; dmarc=pass header.from=elsewhere.example' };
    const asTo = (headers: object) => ({
      ...inbound(stranger, 'STOP', { ...verified, ...headers }),
      ReplyTo: `Ada <${to}>`,
    });
    expect(await post(asTo({}))).toBe(200);
    expect(await inboundOf(to)).toMatchObject([{ warning: 'sender_not_verified' }]);
    expect(await isOptedOut(to)).toBe(false);
    // Whoever names an email of ours has got it.
    expect(await post(asTo({ 'In-Reply-To': messageId }))).toBe(200);
    expect(await isOptedOut(to)).toBe(true);
    // Forms of websites write for people whom nobody knows.
    const customer = address();
    expect(await post({ ...inbound(stranger, 'Do you deliver?', verified), ReplyTo: customer })).toBe(200);
    expect(await inboundOf(customer)).toMatchObject([{ warning: null }]);
  });

  it('opts in only by an answer to an email of ours', async () => {
    const to = address();
    const { messageId } = await send(to);
    expect(await post(inbound(to, 'STOP'))).toBe(200);
    expect(await post(inbound(to, 'START'))).toBe(200);
    expect(await isOptedOut(to)).toBe(true);
    expect(await post(inbound(to, 'Start', { 'In-Reply-To': messageId }))).toBe(200);
    expect(await isOptedOut(to)).toBe(false);
  });

  it('who answers from another address opts out both', async () => {
    const [to, alias] = [address(), address()];
    const { messageId } = await send(to);
    expect(await post(inbound(alias, 'STOP', { 'In-Reply-To': messageId }))).toBe(200);
    expect([await isOptedOut(to), await isOptedOut(alias)]).toEqual([true, true]);
    // A wish of before that arrives late.
    const earlier = { Date: new Date(Date.now() - 60_000).toUTCString() };
    expect(await post({ ...inbound(to, 'START', { 'In-Reply-To': messageId }), ...earlier })).toBe(200);
    expect(await isOptedOut(to)).toBe(true);
  });

  it('who answers from another address stops the campaign', async () => {
    const [to, alias] = [address(), address()];
    const { body } = await api('POST', '/api/campaigns', {
      name: 'Two steps',
      steps: [
        { message: 'First', messageType: 'email' },
        { message: 'Second', messageType: 'email', delay: { days: 1 } },
      ],
      start: true,
    });
    const entered = await api('POST', `/api/campaigns/${body.campaign._id}/leads`, { lead: { email: to } });
    expect(entered.status).toBeLessThan(300);
    const { headers } = await firstMailTo(app, to);
    const steps = async () =>
      (await api('GET', `/api/messages?campaignId=${body.campaign._id}`)).body.messages;
    await eventually(async () => (await steps()).some(({ status }: { status: string }) => status === 'sent'));
    expect(await post(inbound(alias, 'Call me', { 'In-Reply-To': headers['message-id'] ?? '' }))).toBe(200);
    expect((await steps()).map(({ status }: { status: string }) => status).toSorted()).toEqual([
      'canceled',
      'sent',
    ]);
  });
});

test('a bounce fails its message, and the address gets no further email', async () => {
  const to = address();
  const { id, messageId } = await send(to);
  const part = (ContentType: string, text: string) => ({
    Name: 'part',
    ContentType,
    Content: Buffer.from(text).toString('base64'),
  });
  const report = (action: string, status: string) => ({
    ...inbound('mailer-daemon@mx.example.com', 'Delivery status', {
      'Content-Type': 'multipart/report; report-type=delivery-status; boundary="x"',
      'Auto-Submitted': 'auto-replied',
    }),
    Attachments: [
      part(
        'message/delivery-status',
        `Reporting-MTA: dns; mx.example.com\n\nFinal-Recipient: rfc822; ${to}\nAction: ${action}\nStatus: ${status}\nDiagnostic-Code: smtp; 550 ${status} no such user\n`,
      ),
      part('text/rfc822-headers', `Subject: Hello\nMessage-ID: ${messageId}\nTo: ${to}\n`),
    ],
  });
  expect(await post(report('delayed', '4.4.1'))).toBe(200);
  expect((await message(id)).status).toBe('sent');
  expect(await post(report('failed', '5.1.1'))).toBe(200);
  expect(await message(id)).toMatchObject({
    status: 'failed',
    errorMessage: 'bounced: 550 5.1.1 no such user',
  });
  const { body } = await api('POST', '/api/messages', {
    message: 'Again',
    messageType: 'email',
    recipientEmail: to,
  });
  await eventually(async () => (await message(body._id)).errorMessage === 'recipient_opted_out');
  expect(await thread('mailer-daemon@mx.example.com')).toEqual([]);
});

test("Postmark's hard bounces block the address, soft bounces fail one message, and transient ones neither", async () => {
  const [hard, soft, slow] = [address(), address(), address()];
  const bounce = async (to: string, Type: string): Promise<string> => {
    const { id, echoed } = await send(to);
    const Metadata = { 'message-id': echoed };
    const record = { RecordType: 'Bounce', ID: newId(), Type, MessageID: newId(), Email: to };
    expect(await post({ ...record, Description: `It was a ${Type}`, Metadata })).toBe(200);
    return id;
  };
  const failed = { status: 'failed', errorMessage: 'bounced: It was a HardBounce' };
  expect(await message(await bounce(hard, 'HardBounce'))).toMatchObject(failed);
  expect(await message(await bounce(soft, 'SoftBounce'))).toMatchObject({ status: 'failed' });
  expect(await message(await bounce(slow, 'Transient'))).toMatchObject({ status: 'sent' });
  const { body } = await api('GET', '/api/opt-outs');
  const blocked = JSON.stringify(body);
  expect([hard, soft, slow].map((one) => blocked.includes(one))).toEqual([true, false, false]);
});

test('an email without the secret of the line is refused', async () => {
  const from = address();
  expect(await post(inbound(from, 'Hello'), 'another secret, as long as')).toBe(401);
  const bare = await fetch(`${app.url}/callbacks/carriers/smtp/${lineId}`, { method: 'POST', body: '{}' });
  expect(bare.status).toBe(401);
  expect(await inboundOf(from)).toEqual([]);
});

describe('a large email', () => {
  const stored = async (from: string) => {
    const rows = await withSystem(app.pools, (db) =>
      db.any(sql.type(z.object({ length: z.int(), files: z.coerce.number() }))`
        select length(i.body) length, (select count(*) from attachments a where a.workspace_id = i.workspace_id and a.inbound_message_id = i.id) files
        from inbound_messages i where i.address = ${from}`),
    );
    return rows[0];
  };

  it('is stored up to 100,000 characters and 100 files, and shown up to 20,000 characters', async () => {
    const from = address();
    const Attachments = Array.from({ length: 150 }, (_, index) => ({
      Name: `../../../${index}\r\n.txt`,
      Content: 'eA==',
      ContentType: 'text/plain\r\nX-Injected: 1',
    }));
    const text = 'x'.repeat(300_000);
    expect(await post({ ...inbound(from, text), Attachments })).toBe(200);
    expect(await stored(from)).toEqual({ length: 100_000, files: 100 });
    const [reply] = await inboundOf(from);
    expect(reply.message).toBe('x'.repeat(20_000));
    const { body } = await api('GET', '/api/conversations');
    const listed = body.conversations.find((one: { address: string }) => one.address === from);
    expect(listed.lastMessage).toHaveLength(20_000);
    const names = await eventually(async () => {
      const [shown] = await inboundOf(from);
      return shown.attachmentNames.length === 100 && shown.attachmentNames;
    });
    expect(names.slice(0, 2)).toEqual(['0.txt', '1.txt']);
  });

  it('causes small events', async () => {
    const from = address();
    for (let count = 0; count < 4; count += 1)
      expect(await post(inbound(from, `${count}${'long '.repeat(600_000)}`))).toBe(200);
    const sizes = await withSystem(app.pools, (db) =>
      db.anyFirst(sql.type(z.object({ size: z.int() }))`
        select length(body::text) size from events
        where workspace_id = ${workspace.id} and event = 'message.reply' and body::text like ${`%${from}%`}`),
    );
    expect(sizes).toHaveLength(4);
    expect(Math.max(...sizes)).toBeLessThan(200_000);
  });

  it.each([
    ['nested', 'Yes<br>', '<div>'.repeat(80_000)],
    ['nested in lists', 'Yes<br>', '<ul><li>'.repeat(125_000)],
    ['wide', 'Yes<br>', '<p>x</p>'.repeat(100_000)],
  ])('of %s HTML is read without blocking other requests', async (_what, said, html) => {
    const from = address();
    const { TextBody: _text, StrippedTextReply: _stripped, ...email } = inbound(from, '');
    const done = new AbortController();
    const posting = post({ ...email, HtmlBody: said + html }).finally(() => done.abort());
    let answered = 0;
    while (!done.signal.aborted) {
      expect((await fetch(`${app.url}/healthz`)).status).toBe(200);
      answered += 1;
    }
    expect(await posting).toBe(200);
    expect(answered).toBeGreaterThan(0);
    expect((await inboundOf(from))[0].message).toMatch(/^Yes\n/);
  });

  it.each([
    { FromFull: null, Headers: null, Attachments: null },
    { Headers: [null, { Name: 'X-Spam', Value: null }], Subject: 5, StrippedTextReply: {} },
    { Attachments: [null, { Content: 'aGk=', ContentType: 3 }], Date: [], ReplyTo: 1 },
  ])('loses no words because of fields in another form: %j', async (fields) => {
    const from = address();
    expect(await post({ ...inbound(from, ''), From: from, TextBody: 'STOP', ...fields })).toBe(200);
    expect(await isOptedOut(from)).toBe(true);
  });

  it('with an invalid sender is refused', async () => {
    const email = inbound('ada@example.com', 'Hello');
    const { FromFull: _from, ...unnamed } = email;
    expect(await post({ ...unnamed, From: '<'.repeat(200_000) })).toBe(400);
  });
});
