import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TwilioConfig } from '#providers/carriers/twilio/api.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { startMailbox, type TestMailbox } from '#test/support/mailbox.ts';
import { mailsTo } from '#test/support/mails.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

/*
 * Files as mail programs, mail servers, address books and phones write them, each by its own way into the product.
 */

const FILES = new URL('../../fixtures/world/', import.meta.url).pathname;
const filesIn = (folder: string): string[] => readdirSync(join(FILES, folder)).toSorted();
const linesOf = (file: string): string[] =>
  readFileSync(join(FILES, 'texts', file), 'utf8')
    .split('\n')
    .filter(Boolean);

let app: OwnApp;
let mailbox: TestMailbox;
let twilio: TwilioStandIn;
let workspace: TestWorkspace;
let callbackUrl: string;
let lineEmail: string;
/** By the name of the file. */
const received = new Map<string, { to: string; messageId: string | null }>();
let receiveAllMail: () => Promise<void>;

beforeAll(async () => {
  [mailbox, twilio] = await Promise.all([startMailbox(), startTwilio(TWILIO_ACCOUNT)]);
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1', TWILIO_API_URL: twilio.url } });
  workspace = await createWorkspace(app);
  const emailLineId = await createLine(app, workspace.id, 'email');
  lineEmail = `${emailLineId}@line.example`;
  const config = { url: app.smtpUrl, imapUrl: mailbox.url };
  const carrier = { provider: 'smtp', config };
  const { status } = await workspace.api('PUT', `/api/lines/${emailLineId}/carrier`, carrier);
  if (status !== 200) throw new Error(`not connected: ${status}`);
  await receiveAllMail();
});
afterAll(async () => {
  await app.stop();
  await Promise.all([mailbox.stop(), twilio.stop()]);
});

/** Waits if the rate limit is reached. */
const get = (path: string) =>
  eventually(async () => {
    const { status, body } = await workspace.api('GET', path);
    return status !== 429 && body;
  });
const threadOf = async (address: string): Promise<Record<string, unknown>[]> =>
  (await get(`/api/conversations/${encodeURIComponent(address)}`)).messages ?? [];
const inboundOf = async (address: string) =>
  (await threadOf(address)).filter(({ direction }) => direction === 'in');
const isOptedOut = async (address: string): Promise<boolean> =>
  (await get(`/api/opt-outs/${encodeURIComponent(address)}`)).optedOut;
const suspected = async (): Promise<string[]> =>
  (await get('/api/opt-outs/suspected?limit=100')).suspicions.map(
    ({ address }: { address: string }) => address,
  );

/** @param hasArrived asked first, because reading the message until it is sent would exceed the rate limit, whose minute the tests would wait for. */
async function send(
  fields: object,
  isSent: (status: string) => boolean,
  hasArrived: () => Promise<boolean> = async () => true,
): Promise<string> {
  const { status, body } = await workspace.api('POST', '/api/messages', fields);
  expect(status, JSON.stringify(body)).toBe(201);
  await eventually(hasArrived);
  await eventually(async () => isSent((await get(`/api/messages/${body._id}`)).status));
  return body._id;
}

describe('an email', () => {
  interface Expected {
    /** Below `contact.example`; who was written to before. Default: bea. */
    to?: string;
    /** Who writes. Default: `to`. */
    from?: string;
    reply?: { message?: string; autoReply?: boolean; warning?: string; subject?: string };
    optedOut?: boolean;
    status?: 'sent' | 'delivered' | 'failed';
    errorMessage?: string;
    opened?: boolean;
    senderName?: string;
  }
  const human = { autoReply: false };
  const automatic = { reply: { autoReply: true }, optedOut: false };
  const stop = { reply: human, optedOut: true };
  const gone = { to: 'gone', status: 'failed' } as const;

  const EXPECTED: Record<string, Expected> = {
    'a-person-whose-mail-carries-the-suppress-header': {
      reply: { ...human, message: 'Yes, please call me on Monday.' },
      optedOut: false,
    },
    'bulk-mail-that-says-stop': { reply: { autoReply: true }, optedOut: true },
    'ampersand-in-the-sender': { to: 'R&D', reply: { ...human, message: 'Yes, please.' } },
    'bounce-exchange-5-1-10': { ...gone, optedOut: true },
    'bounce-exim': { ...gone, optedOut: true },
    'bounce-full-mailbox': { status: 'failed', optedOut: false },
    'bounce-international': { to: 'josé', status: 'failed', optedOut: true },
    'bounce-postfix': { ...gone, optedOut: true },
    'bounce-qmail': { ...gone, optedOut: true },
    'bounce-yahoo': { ...gone, optedOut: true },
    delayed: { status: 'sent', optedOut: false },
    'failed-authentication': { reply: { warning: 'sender_not_verified' }, optedOut: false },
    'from-the-line-itself': { from: 'LINE', reply: { warning: 'own_address' }, optedOut: false },
    'international-sender': { to: 'josé', reply: { ...human, message: 'Yes, please.' } },
    'name-in-last-first-order': { to: 'ada', reply: human, senderName: 'Lovelace, Ada' },
    'no-message-id': { reply: { ...human, message: 'Are you open on Sunday?' } },
    'out-of-office-by-subject-and-suppress-header': automatic,
    'outlook-german-quote': { reply: { ...human, message: 'Ja, gern.' }, optedOut: false },
    'phone-number-as-sender': { to: '+14155550123', optedOut: false },
    'quoted-stop-in-bold-outlook-headers': {
      reply: { ...human, message: 'Yes, please.' },
      optedOut: false,
    },
    'quoted-stop-in-danish-outlook': { reply: { ...human, message: 'Ja tak.' }, optedOut: false },
    'quoted-stop-in-japanese-quote': {
      reply: { ...human, message: 'はい、お願いします。' },
      optedOut: false,
    },
    'read-receipt': { status: 'delivered', opened: true, optedOut: false },
    'read-receipt-automatic': { status: 'delivered', opened: true, optedOut: false },
    'read-receipt-deleted': { status: 'sent', opened: false, optedOut: false },
    'reply-to-of-a-contact-form': {
      to: 'ada@customer.example',
      reply: { ...human, message: 'Do you deliver on Saturdays?' },
      senderName: 'Ada Example',
    },
    'sender-that-needs-quotes': { ...stop, to: '"bea."' },
    'short-code-as-sender': { to: '12345', optedOut: false },
    'stop-above-a-german-signature': stop,
    'stop-above-a-name-and-title': stop,
    'stop-above-swedish-quote': stop,
    'stop-above-yahoo-quote': stop,
    'stop-in-an-encoded-subject': stop,
    'stop-in-html-above-outlook-mobile': stop,
    'stop-in-the-subject': { ...stop, reply: { ...human, subject: 'unsubscribe' } },
    'stop-through-a-list-that-asks-for-answers': stop,
    'stop-through-a-list-that-replaces-the-sender': { ...stop, senderName: 'Bea Example' },
    'stop-through-a-mailing-list': stop,
    'subject-only': { reply: { ...human, message: 'Are you open on Sunday?' } },
    'vacation-autogenerated': automatic,
    'vacation-finnish-suppressed': automatic,
    'vacation-french-subject': automatic,
    'vacation-precedence-auto-reply': automatic,
    'vacation-spanish-suppressed': automatic,
  };

  it('is expected to do something for each file', () => {
    expect(Object.keys(EXPECTED).toSorted()).toEqual(
      filesIn('mail')
        .map((name) => name.replace('.eml', ''))
        .toSorted(),
    );
  });

  it.each(Object.entries(EXPECTED))('is read as what it is: %s', async (name, expected) => {
    const { to, messageId } = received.get(name) ?? { to: '', messageId: null };
    const from = expected.from === 'LINE' ? lineEmail : to;
    const isAsked = expected.status !== undefined || expected.opened !== undefined;
    const sent = isAsked && messageId !== null ? await get(`/api/messages/${messageId}`) : null;
    const conversation = await get(`/api/conversations/${encodeURIComponent(from)}`);
    const messages: { direction: string }[] = conversation.messages ?? [];
    const inbound = messages.filter(({ direction }) => direction === 'in');
    expect({
      reply: expected.reply ? inbound : inbound.length,
      optedOut: (await isOptedOut(from)) ?? false,
      ...(expected.status && { status: sent?.status }),
      ...(expected.opened !== undefined && { opened: sent?.readAt !== null }),
    }).toMatchObject({
      reply: expected.reply ? [expected.reply] : 0,
      optedOut: expected.optedOut ?? false,
      ...(expected.status && { status: expected.status }),
      ...(expected.opened !== undefined && { opened: expected.opened }),
    });
    if (expected.senderName) expect(JSON.stringify(conversation)).toContain(expected.senderName);
  });

  it('is suspected of nothing that it does not say', async () => {
    expect((await suspected()).filter((address) => address.includes('contact.example'))).toEqual([]);
  });

  receiveAllMail = async () => {
    const contactOf = (name: string, to = 'bea'): string =>
      /[@+]|^\d/.test(to) ? to : `${to}@${name}.contact.example`;
    const isEmail = (to: string): boolean => to.includes('@');
    for (const [name, { to: given }] of Object.entries(EXPECTED)) {
      const to = contactOf(name, given);
      const raw = readFileSync(join(FILES, 'mail', `${name}.eml`), 'utf8');
      let messageId: string | null = null;
      if (raw.includes('<OURS>') && isEmail(to)) {
        const message = { message: 'Hello', subject: 'Our offer', messageType: 'email', recipientEmail: to };
        messageId = await send(
          message,
          (status) => status === 'sent',
          async () => (await mailsTo(app, to)).length > 0,
        );
      }
      const [mail] = await mailsTo(app, to);
      const ours = mail?.headers['message-id'] ?? '';
      received.set(name, { to, messageId });
      const now = new Date().toUTCString();
      mailbox.deliverRaw(
        raw
          .replaceAll('<OURS>', ours)
          .replaceAll('contact.example', `${name}.contact.example`)
          .replaceAll('dana@line.example', lineEmail)
          .replace(/^Date: .*$/m, `Date: ${now}`),
      );
    }
    const last = 'last@contact.example';
    mailbox.deliver({ From: last, To: lineEmail, Date: new Date().toUTCString() }, 'The last one');
    await eventually(async () => (await inboundOf(last)).length > 0);
  };
});

describe('a text', () => {
  const OFFER = 'Hi Ada, your table is booked. To stop texting you, reply STOP to unsubscribe.';
  let count = 0;
  /** Two for each text, and twice as many questions, would exceed the rate limit of one workspace. */
  async function connectLine(): Promise<void> {
    workspace = await createWorkspace(app);
    const smsLineId = await createLineAt(app, workspace.id, 'sms', {
      name: 'twilio',
      schema: TwilioConfig,
      settings: { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, from: '+14155550111' },
    });
    callbackUrl = `${app.url}/callbacks/carriers/twilio/${smsLineId}`;
  }

  async function answered(text: string) {
    if (count % 6 === 0) await connectLine();
    const to = phone();
    for (const message of [OFFER, 'Hi Ada'])
      await send({ message, messageType: 'sms', recipientPhone: to }, (status) => status === 'delivered');
    count += 1;
    const form = { MessageSid: `SM-world-${count}`, From: to, To: '+14155550111', Body: text };
    expect((await twilio.receive(callbackUrl, form)).status).toBe(200);
    return to;
  }

  const reactions = [...linesOf('reactions.txt'), ...linesOf('reactions-more.txt')];
  it.each(reactions)('that reports a reaction is no reply: %s', async (text) => {
    const to = await answered(text);
    expect(await inboundOf(to)).toEqual([]);
    expect(JSON.stringify(await threadOf(to))).toMatch(/"reaction/);
    expect([await isOptedOut(to), (await suspected()).includes(to)]).toEqual([false, false]);
  });

  const automatic = [...linesOf('automatic.txt'), ...linesOf('automatic-more.txt')];
  it.each(automatic)('that a phone sends by itself is automatic: %s', async (text) => {
    const to = await answered(text);
    expect(await inboundOf(to)).toMatchObject([{ autoReply: true }]);
    expect([await isOptedOut(to), (await suspected()).includes(to)]).toEqual([false, false]);
  });
});

describe('an import', () => {
  beforeAll(async () => {
    workspace = await createWorkspace(app);
  });

  const Lead = z.object({
    firstName: z.string(),
    lastName: z.string(),
    emails: z.array(z.string()),
    phones: z.array(z.string()),
    companyName: z.string(),
  });
  type Expected = Partial<z.infer<typeof Lead>>;

  const EXPECTED: Record<string, { country?: string; leads: Expected[]; rejected?: number }> = {
    'control-characters.csv': {
      leads: [{ firstName: 'Ada Maria', companyName: 'Engines Ltd UK', emails: ['ada2@contact.example'] }],
    },
    'empty-cells.csv': {
      leads: [
        { firstName: 'A', emails: ['a@contact.example'], phones: [] },
        { firstName: 'B', emails: ['b@contact.example'], phones: [] },
        { firstName: 'C', emails: ['c@contact.example'], phones: [] },
        { firstName: 'D', emails: ['d@contact.example'], phones: [] },
        { firstName: 'E', emails: [], phones: ['+14155550130'] },
      ],
      rejected: 1,
    },
    'excel-sep-tab.csv': { leads: [{ firstName: 'Zoë', emails: ['zoe@contact.example'] }] },
    'excel-sep.csv': {
      country: '+49',
      leads: [{ firstName: 'Jörg', lastName: 'Beispiel', phones: ['+4915112345678'] }],
    },
    'floats-of-the-united-states.csv': {
      leads: [
        { firstName: 'US', phones: ['+14155550131'] },
        { firstName: 'Without', phones: ['+14155550132'] },
      ],
    },
    'french-headers.csv': {
      country: '+33',
      leads: [
        { firstName: 'Zoé', lastName: 'Exemple', phones: ['+33612345678'], emails: ['zoe@contact.example'] },
      ],
    },
    'google-contacts.csv': {
      leads: [
        {
          firstName: 'Ada',
          lastName: 'Example',
          emails: ['ada@contact.example', 'ada@work.example'],
          phones: ['+14155550123', '+14155550124'],
        },
      ],
    },
    'hubspot-contacts.csv': {
      leads: [
        {
          firstName: 'Ada',
          emails: ['ada@hubspot.example'],
          phones: ['+14155550128'],
          companyName: 'Engines',
        },
      ],
    },
    'outlook-contacts.csv': {
      leads: [
        {
          firstName: 'Ada',
          emails: ['ada@outlook.example'],
          phones: ['+14155550127'],
          companyName: 'Engines',
        },
      ],
    },
    'phones-made-floats.csv': {
      country: '+49',
      leads: [{ firstName: 'Jörg', phones: ['+4915112345678'], emails: ['joerg@contact.example'] }],
    },
    'salesforce-contacts.csv': {
      leads: [
        {
          firstName: 'Ada',
          emails: ['ada@salesforce.example'],
          phones: ['+14155550129'],
          companyName: 'Engines',
        },
      ],
    },
    'utf16-big-endian.csv': { leads: [{ firstName: 'Zoë', phones: ['+14155550125'] }] },
    'utf16-little-endian.csv': { leads: [{ firstName: 'Zoë', phones: ['+14155550126'] }] },
    'windows-1252.csv': { country: '+49', leads: [{ firstName: 'Jörg', phones: ['+4915112345679'] }] },
  };

  it('is expected to do something for each file', () => {
    expect(Object.keys(EXPECTED)).toEqual(filesIn('imports'));
  });

  it.each(Object.entries(EXPECTED))(
    'saves what a file means: %s',
    async (name, { country, leads, rejected = 0 }) => {
      const listId = (await workspace.api('POST', '/api/lists', { name })).body.list._id;
      const query = country ? `?defaultCountryCode=${encodeURIComponent(country)}` : '';
      const path = `${app.url}/api/lists/${listId}/import${query}`;
      const headers = { authorization: `Bearer ${workspace.key}`, 'content-type': 'text/csv' };
      const body = new Uint8Array(readFileSync(join(FILES, 'imports', name)));
      const started = await fetch(path, { method: 'POST', headers, body });
      expect(started.status).toBe(202);
      const { importId } = (await started.json()) as { importId: string };
      const done = await eventually(async () => {
        const found = await get(`/api/lists/${listId}/imports/${importId}`);
        return found.status !== 'running' && found;
      });
      expect(done).toMatchObject({ status: 'completed', saved: leads.length, rejected, error: null });
      const saved = z.array(Lead).parse((await get(`/api/leads?listId=${listId}`)).leads);
      const sorted = saved.toSorted(
        (a, b) =>
          leads.findIndex(({ firstName }) => firstName === a.firstName) -
          leads.findIndex(({ firstName }) => firstName === b.firstName),
      );
      expect(sorted).toMatchObject(leads);
    },
  );
});
