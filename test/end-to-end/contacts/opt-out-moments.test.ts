import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi } from '#api/server.ts';
import { newId } from '#domain/base/ids.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { HTML_QUOTATIONS } from '#test/fixtures/html-quotations.ts';
import { QUOTATIONS } from '#test/fixtures/quotations.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace } from '#test/support/factories.ts';
import { mailsTo } from '#test/support/mails.ts';

const SECRET = 'a secret for callbacks';
const PASSWORD = 'the password of the Mac';

let app: OwnApp;
let mac: BlueBubblesStandIn;
let api: ApiClient;
let emailLineId: string;

beforeAll(async () => {
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1' } });
  mac = await startBlueBubbles(PASSWORD);
  const workspace = await createWorkspace(app);
  ({ api } = workspace);
  const phoneLineId = await createLine(app, workspace.id);
  const config = { url: mac.url, password: PASSWORD, method: 'apple-script' };
  const connected = await api('PUT', `/api/lines/${phoneLineId}/carrier`, {
    provider: 'bluebubbles',
    config,
  });
  if (connected.status !== 200) throw new Error(JSON.stringify(connected.body));
  emailLineId = await createLineAt(app, workspace.id, 'email', {
    name: 'smtp',
    schema: SmtpConfig,
    settings: { url: app.smtpUrl, inboundSecret: SECRET },
  });
});
afterAll(async () => {
  await app.stop();
  await mac.stop();
  if (process.env['SHOW_MOMENTS'] === '1') process.stdout.write(`${moments.join('\n')}\n`);
});

/**
 * For each moment, when STOP was written, when it was accepted (its callback was answered, or it was found in the list), and when the last message
 * left, in milliseconds after the acceptance: negative if it left before.
 */
const moments: string[] = [
  '| STOP | written | accepted after ms | left after the acceptance | last message, ms after it |',
  '| - | - | - | - | - |',
];

const email = (): string => `contact-${newId()}@example.com`;

/** What left for a contact, and when. */
async function left(to: string): Promise<Date[]> {
  if (to.includes('@')) return (await mailsTo(app, to)).map(({ receivedAt }) => new Date(receivedAt));
  return mac.messages.filter((message) => message.to === to).map(({ createdAt }) => new Date(createdAt));
}

/** A contact who got the first step of a campaign; a second one and another message are scheduled. */
async function inSequence(to: string): Promise<void> {
  const messageType = to.includes('@') ? 'email' : 'imessage';
  const { body } = await api('POST', '/api/campaigns', {
    name: newId(),
    steps: [
      { message: 'Our offer is ready', messageType },
      { message: 'Did you see it?', messageType, delay: { days: 1 } },
    ],
    start: true,
  });
  const lead = to.includes('@') ? { email: to } : { phone: to };
  const entered = await api('POST', `/api/campaigns/${body.campaign._id}/leads`, { lead });
  expect(entered.status, JSON.stringify(entered.body)).toBeLessThan(300);
  await send(to, { scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
  await eventually(async () => (await left(to)).length === 1);
  await eventually(async () =>
    (await statuses(to)).some((status) => status === 'sent' || status === 'delivered'),
  );
}

async function send(to: string, fields: object = {}): Promise<string> {
  const recipient = to.includes('@')
    ? { recipientEmail: to, messageType: 'email' }
    : { recipientPhone: to, messageType: 'imessage' };
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello again',
    ...recipient,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body._id;
}

const messagesOf = async (to: string): Promise<{ status: string; errorMessage: string | null }[]> => {
  const address = to.includes('@') ? 'recipientEmail' : 'recipientPhone';
  const { body } = await api('GET', '/api/messages?limit=100');
  return body.messages.filter((message: Record<string, unknown>) => message[address] === to);
};
const statuses = async (to: string) => (await messagesOf(to)).map(({ status }) => status);

async function optedOutAt(address: string): Promise<Date> {
  const found = await eventually(async () => {
    const { body } = await api('GET', `/api/opt-outs?limit=100`);
    return body.optOuts.find((one: { address: string }) => one.address === address);
  });
  return new Date(found.createdAt);
}

/** Proves that nothing more leaves for these addresses, while the line goes on. */
async function nothingMoreLeaves(moment: string, writtenAt: Date, addresses: string[]): Promise<void> {
  const answeredAt = new Date();
  for (const address of addresses) {
    const notedAt = await optedOutAt(address);
    const acceptedAt = notedAt > answeredAt ? notedAt : answeredAt;
    await eventually(async () =>
      (await statuses(address)).every((status) => !['pending', 'scheduled', 'sending'].includes(status)),
    );
    const before = await left(address);
    const refused = await send(address);
    await eventually(async () => {
      const { body } = await api('GET', `/api/messages/${refused}`);
      return body.status === 'failed' && body.errorMessage === 'recipient_opted_out';
    });
    const other = address.includes('@') ? email() : phone();
    await send(other);
    await eventually(async () => (await left(other)).length === 1);
    const after = await left(address);
    expect(after).toEqual(before);
    expect(Math.max(0, ...after.map(Number))).toBeLessThanOrEqual(writtenAt.getTime());
    const lastLeft = after.at(-1);
    const late = after.filter((leftAt) => leftAt > acceptedAt).length;
    const columns = [
      moment,
      writtenAt.toISOString(),
      acceptedAt.getTime() - writtenAt.getTime(),
      late === 0 ? 'nothing' : `${late} messages`,
      lastLeft ? lastLeft.getTime() - acceptedAt.getTime() : 'none left',
    ];
    moments.push(`| ${columns.join(' | ')} |`);
  }
}

/** Posts an email as an email service does. */
async function writeEmail(
  from: string,
  fields: { text?: string; html?: string; subject?: string; headers?: object },
) {
  const { text = '', html, subject = 'Re: Our offer is ready', headers = {} } = fields;
  const response = await fetch(
    `${app.url}/callbacks/carriers/smtp/${emailLineId}?secret=${encodeURIComponent(SECRET)}`,
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        MessageID: newId(),
        From: `Bea <${from}>`,
        Subject: subject,
        Date: new Date().toUTCString(),
        TextBody: text,
        HtmlBody: html,
        Headers: Object.entries(headers).map(([Name, Value]) => ({ Name, Value })),
        Attachments: [],
      }),
    },
  );
  expect(response.status).toBe(200);
}

const repliedTo = async (to: string): Promise<string> =>
  (await mailsTo(app, to))[0]?.headers['message-id'] ?? '';

describe('after STOP nothing more leaves', () => {
  it('while the API restarts', async () => {
    const to = phone();
    await inSequence(to);
    await app.api.stop();
    const at = new Date();
    await mac.write(to, { text: 'STOP' });
    app.api = await startApi(app.config);
    await nothingMoreLeaves('during a restart of the API', at, [to]);
  });

  it('from another address of the contact', async () => {
    const [to, alias] = [email(), email()];
    await inSequence(to);
    const at = new Date();
    await writeEmail(alias, { text: 'STOP', headers: { 'In-Reply-To': await repliedTo(to) } });
    await nothingMoreLeaves('from an alias', at, [to, alias]);
  });

  it.each([
    ['a quotation', { text: `STOP\n\n${QUOTATIONS['Outlook, German']}` }],
    [
      'a quotation in HTML',
      { html: HTML_QUOTATIONS['Outlook on the web']?.replace('Joo, soita.', 'STOP') ?? '' },
    ],
  ])('above %s', async (above, fields) => {
    const to = email();
    await inSequence(to);
    const at = new Date();
    await writeEmail(to, fields);
    await nothingMoreLeaves(`above ${above}`, at, [to]);
  });

  it.each([
    ['alone', 'STOP', ''],
    ['above a signature', 'Unsubscribe', 'Von meinem iPhone gesendet'],
  ])('in the subject, %s', async (_what, subject, text) => {
    const to = email();
    await inSequence(to);
    const at = new Date();
    await writeEmail(to, { subject, text, headers: { 'In-Reply-To': await repliedTo(to) } });
    await nothingMoreLeaves(`in the subject (${subject})`, at, [to]);
  });

  it('through a mailing list', async () => {
    const to = email();
    await inSequence(to);
    const at = new Date();
    const headers = { Precedence: 'list', 'List-Id': '<sales.line.example>', 'X-Google-Group-Id': '1' };
    await writeEmail(to, {
      text: 'STOP\n\n-- \nYou received this message because you are subscribed to the group "Sales".',
      headers,
    });
    await nothingMoreLeaves('through a mailing list', at, [to]);
  });

  it.each([
    ['Mexico', '+52555', '+521555'],
    ['Brazil', '+5541987', '+554187'],
    ['Vietnam', '+8435', '+84165'],
  ])('on another form of the number, as in %s', async (country, written, reported) => {
    const length = country === 'Brazil' ? 6 : 7;
    const digits = phone().slice(-length);
    const [to, form] = [written + digits, reported + digits];
    await inSequence(to);
    const at = new Date();
    await mac.write(form, { text: 'STOP' });
    await nothingMoreLeaves(`on another form of the number (${country})`, at, [to]);
    expect(await left(form)).toEqual([]);
  });

  it('in an edited message', async () => {
    const to = phone();
    await inSequence(to);
    const { guid } = await mac.write(to, { text: 'Shop' });
    const at = new Date();
    await mac.change(guid, { text: 'Stop', dateEdited: at.getTime() });
    await nothingMoreLeaves('in an edited message', at, [to]);
  });

  it('in a group', async () => {
    const to = phone();
    await inSequence(to);
    const at = new Date();
    await mac.write(to, { text: 'STOP', chats: [{ guid: 'iMessage;+;chat77' }] });
    await nothingMoreLeaves('in a group', at, [to]);
  });

  it('by SMS, to a line of iMessage', async () => {
    const to = phone();
    await inSequence(to);
    const at = new Date();
    await mac.write(to, {
      text: 'Stop.',
      chats: [{ guid: `SMS;-;${to}` }],
      handle: { address: to, service: 'SMS', country: 'us' },
    });
    await nothingMoreLeaves('by SMS', at, [to]);
  });

  it.each([
    ['above', 'STOP\n\nMit freundlichen Grüßen\nBea Beispiel\nLeiterin Einkauf'],
    ['below', 'Hi,\n\n-- \nBea Example\nHead of Purchasing\n\nSTOP'],
    ['below, under a quotation', `Best,\nBea\n\n${QUOTATIONS['Gmail, English']}\nSTOP`],
  ])('%s a signature', async (where, text) => {
    const to = email();
    await inSequence(to);
    const at = new Date();
    await writeEmail(to, { text });
    await nothingMoreLeaves(`${where} a signature`, at, [to]);
  });
});
