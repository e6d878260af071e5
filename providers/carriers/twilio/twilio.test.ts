import { afterAll, beforeAll, describe, expect, it, onTestFinished, test, vi } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { newId } from '#domain/base/ids.ts';
import { refusedCredentials, type SendOutcome } from '#domain/messages/send-outcome.ts';
import { outbound } from '#test/conformance/carrier-worlds.ts';
import { startSomebodyElse, type TwilioWorld, twilioWorld } from '#test/conformance/http-carrier-worlds.ts';
import { startTlsProxy } from '#test/support/tls-proxy.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { createGuard } from '../../egress-guard.ts';
import { BadSignature, type ConnectionCheck } from '../carrier.ts';
import { signTwilio } from './callback.ts';
import { twilioCarrier } from './twilio.ts';
import type { TwilioNumber, TwilioService } from '#simulator/twilio-numbers.ts';

let world: TwilioWorld;
beforeAll(async () => {
  world = await twilioWorld();
});
afterAll(() => world.stop());

const never = new AbortController().signal;
let recipients = 0;
const recipient = (): string => `+1415556${String((recipients += 1)).padStart(4, '0')}`;

const CODES: [
  code: number,
  status: number,
  outcome: SendOutcome['kind'] | 'credentials' | 'line',
  optedOut?: true,
][] = [
  [20003, 401, 'credentials'],
  [20429, 429, 'line'],
  [21211, 400, 'refused'],
  [21212, 400, 'line'],
  [21408, 403, 'refused'],
  [21606, 400, 'line'],
  [21608, 400, 'line'],
  [21610, 400, 'refused', true],
  [21611, 429, 'line'],
  [21612, 400, 'unavailable'],
  [21614, 400, 'unavailable'],
  [21617, 400, 'refused'],
  [30001, 400, 'line'],
  [30002, 400, 'line'],
  [30003, 400, 'transient'],
  [30004, 400, 'refused'],
  [30005, 400, 'unavailable'],
  [30006, 400, 'unavailable'],
  [30007, 400, 'refused'],
  [30008, 400, 'refused'],
  [30034, 400, 'line'],
  [10001, 400, 'line'],
  [20005, 403, 'line'],
  [20404, 404, 'line'],
  [21268, 400, 'refused'],
  [21635, 400, 'unavailable'],
  [21659, 400, 'line'],
  [21660, 400, 'line'],
  [21703, 400, 'line'],
  [30032, 400, 'line'],
  // The status decides for an undocumented code.
  [29999, 400, 'refused'],
  [29999, 403, 'credentials'],
  [29999, 429, 'line'],
  [29999, 500, 'unknown'],
];

test.each(CODES)('error %i with status %i has the outcome %s', async (code, status, kind, optedOut) => {
  const to = recipient();
  world.twilio.fault(to, { kind: 'error', status, code });
  const outcome = await world.carrier.send(world.config, outbound(world, to), never);
  const reason = `${code}: The message was refused`;
  const ofLine: SendOutcome = { kind: 'transient', reason, ofLine: true };
  const others = { credentials: refusedCredentials(reason), line: ofLine };
  expect(outcome).toEqual(
    kind === 'credentials' || kind === 'line'
      ? others[kind]
      : { kind, reason, ...(optedOut && { optedOut }) },
  );
  expect(await world.taken(to)).toBe(0);
});

test('a message includes its text, its media and the status callback URL', async () => {
  const to = recipient();
  const attachments = ['a.png', 'b.png'].map((name) => ({
    name,
    url: `https://files.example/${name}`,
    contentType: null,
    voiceNote: false,
  }));
  await world.carrier.send(world.config, outbound(world, to, { text: 'Grüße & more', attachments }), never);
  expect(world.twilio.sent.find((message) => message.to === to)).toMatchObject({
    from: '+14155550111',
    messagingServiceSid: null,
    body: 'Grüße & more',
    media: ['https://files.example/a.png', 'https://files.example/b.png'],
    statusCallback: world.callbacks?.url,
  });
});

test("a message leaves from the messaging service if there is one, else from the line's own number", async () => {
  const { from: _from, ...account } = world.config;
  const [byService, byLine] = [recipient(), recipient()];
  const service = { ...account, messagingServiceSid: 'MG1' };
  await world.carrier.send(service, outbound(world, byService), never);
  const own = { from: { address: '+14155550199', name: '' } };
  await world.carrier.send(account, outbound(world, byLine, own), never);
  const sent = (to: string) => world.twilio.sent.find((message) => message.to === to);
  expect(sent(byService)).toMatchObject({ from: null, messagingServiceSid: 'MG1' });
  expect(sent(byLine)).toMatchObject({ from: '+14155550199', messagingServiceSid: null });
});

describe('a send whose response was lost', () => {
  const ask = (
    to: string,
    fields: {
      text?: string | null;
      takenIds?: string[];
      startedAt?: Date;
      startedBy?: Date;
      from?: string;
    },
    config = world.config,
  ) =>
    world.carrier.reconcile(config, {
      attemptId: newId(),
      lineId: newId(),
      channel: 'sms',
      from: null,
      to,
      startedAt: new Date(),
      startedBy: fields.startedAt ?? new Date(),
      text: 'Hello Ada',
      attachmentCount: 0,
      takenIds: [],
      ...fields,
    });

  const minutesAgo = (minutes: number): Date => new Date(Date.now() - minutes * 60_000);
  const sidTo = (to: string): string => world.twilio.sent.find((message) => message.to === to)?.sid ?? '';
  const sendTo = (to: string, fields: Parameters<typeof outbound>[2] = {}, config = world.config) =>
    world.carrier.send(config, outbound(world, to, fields), never);

  it('is found by its text, and not sent only if another attempt sent all that Twilio lists', async () => {
    const to = recipient();
    world.twilio.fault(to, { kind: 'gateway_error' });
    expect(await sendTo(to)).toMatchObject({ kind: 'unknown' });
    expect(await ask(to, {})).toMatchObject({ kind: 'accepted', carrierMessageId: sidTo(to) });
    const startedAt = minutesAgo(1);
    expect(await ask(to, { takenIds: [sidTo(to)], startedAt })).toEqual({ kind: 'not_sent' });
    expect(await ask(to, { text: 'Another text' })).toMatchObject({ kind: 'unreachable' });
    expect(await ask(to, { text: 'Another text', startedAt })).toEqual({ kind: 'unknown' });
  });

  it('is found with what has become of it, as the callback tells', async () => {
    const to = recipient();
    world.twilio.quiet = true;
    await sendTo(to);
    world.twilio.quiet = false;
    const [message] = world.twilio.sent.filter((one) => one.to === to);
    if (!message) throw new Error('nothing was sent');
    for (const [status, errorCode, receipt] of [
      ['delivered', null, { status: 'delivered' }],
      ['failed', 30001, { status: 'failed', reason: '30001: failed', ofLine: true }],
      ['undelivered', 30006, { status: 'failed', reason: '30006: undelivered', unavailable: true }],
      ['undelivered', null, { status: 'failed' }],
    ] as const) {
      Object.assign(message, { status, errorCode });
      const eventId = `${message.sid}:${status}${errorCode === null ? '' : `:${errorCode}`}`;
      expect(await ask(to, { startedAt: minutesAgo(1) })).toMatchObject({
        kind: 'accepted',
        carrierMessageId: message.sid,
        reports: [{ kind: 'receipt', eventId, ...receipt }],
      });
    }
  });

  it('is not taken for an equal one that failed before, unless nothing else is listed', async () => {
    const to = recipient();
    world.twilio.quiet = true;
    await sendTo(to);
    world.twilio.quiet = false;
    const [failed] = world.twilio.sent.filter((one) => one.to === to);
    Object.assign(failed ?? {}, { status: 'failed', errorCode: 30001 });
    expect(await ask(to, {})).toMatchObject({ kind: 'unreachable' });
    await sendTo(to);
    const [, second] = world.twilio.sent.filter((one) => one.to === to);
    expect(await ask(to, {})).toMatchObject({ kind: 'accepted', carrierMessageId: second?.sid });
  });

  it('is found although Smart Encoding replaced its characters', async () => {
    const to = recipient();
    const config = { ...world.config, messagingServiceSid: 'MG-smart' };
    world.twilio.services.set('MG-smart', {
      numbers: ['+14155550111'],
      inboundRequestUrl: null,
      useInboundWebhookOnNumber: true,
    });
    const text = 'It’s “ready” – see\u00a0you…';
    await sendTo(to, { text }, config);
    expect(world.twilio.sent.at(-1)?.body).toBe('It\'s "ready" - see you...');
    const found = await ask(to, { text, startedAt: minutesAgo(1) }, config);
    expect(found).toMatchObject({ kind: 'accepted', carrierMessageId: sidTo(to) });
  });

  it('is found although its messaging service sent it by RCS, for which Twilio has other addresses', async () => {
    const [byRcs, bySms] = [recipient(), recipient()];
    const config = { ...world.config, messagingServiceSid: 'MG-rcs' };
    const service = { numbers: ['+14155550111'], inboundRequestUrl: null, useInboundWebhookOnNumber: true };
    const startedAt = minutesAgo(1);
    for (const [to, rcsAgent] of [[byRcs, { rcsAgent: 'our_agent' }] as const, [bySms, {}] as const]) {
      world.twilio.services.set('MG-rcs', { ...service, ...rcsAgent });
      world.twilio.fault(to, { kind: 'gateway_error' });
      expect(await sendTo(to, {}, config)).toMatchObject({ kind: 'unknown' });
      const reported = 'rcsAgent' in rcsAgent ? { transport: 'rcs' } : {};
      Object.assign(world.twilio.sent.find((message) => message.to === to) ?? {}, { status: 'delivered' });
      expect(await ask(to, { startedAt }, config)).toMatchObject({
        carrierMessageId: sidTo(to),
        reports: [{ kind: 'receipt', status: 'delivered', ...reported }],
      });
      expect(await ask(to, { startedAt, takenIds: [sidTo(to)] }, config)).toEqual({ kind: 'not_sent' });
    }
  });

  it('is found on a later page', async () => {
    const to = recipient();
    await sendTo(to, { text: 'The first of several' });
    for (const text of ['Two', 'Three', 'Four']) await sendTo(to, { text });
    world.twilio.maxPageSize = 2;
    const found = await ask(to, { text: 'The first of several', startedAt: minutesAgo(1) });
    world.twilio.maxPageSize = 1000;
    expect(found).toMatchObject({ kind: 'accepted', carrierMessageId: sidTo(to) });
  });

  it('is found although the clock of Twilio is minutes behind', async () => {
    const to = recipient();
    world.twilio.clockBehindMs = 5 * 60_000;
    await sendTo(to);
    world.twilio.clockBehindMs = 0;
    expect(await ask(to, {})).toMatchObject({ kind: 'accepted', carrierMessageId: sidTo(to) });
  });

  it('is found without the sentence that a trial account puts before it', async () => {
    const to = recipient();
    await sendTo(to, { text: 'Sent from your Twilio trial account - Hello Ada' });
    expect(await ask(to, {})).toMatchObject({ kind: 'accepted' });
  });

  it('stays unknown if its text is no longer available and anything was sent', async () => {
    const to = recipient();
    await sendTo(to);
    expect(await ask(to, { text: null, startedAt: minutesAgo(1) })).toEqual({ kind: 'unknown' });
  });

  it('stays unknown if it has only files and anything was sent', async () => {
    const to = recipient();
    await sendTo(to);
    expect(await ask(to, { text: '', startedAt: minutesAgo(1) })).toEqual({ kind: 'unknown' });
  });

  it('is not confused with a message from another number of the account, which leaves it unknown', async () => {
    const to = recipient();
    const { from: _from, ...account } = world.config;
    const other = { from: { address: '+14155550198', name: '' } };
    await sendTo(to, other, account);
    expect(await ask(to, { from: '+14155550199' }, account)).toMatchObject({ kind: 'unreachable' });
    const startedAt = minutesAgo(1);
    expect(await ask(to, { from: '+14155550199', startedAt }, account)).toEqual({ kind: 'unknown' });
    expect(await ask(to, { from: '(415) 555-0198' }, account)).toMatchObject({ kind: 'accepted' });
  });

  it('is told apart from other messages by its text if the records of all of them are lost', async () => {
    const to = recipient();
    await sendTo(to);
    const lost = { startedAt: minutesAgo(10), startedBy: minutesAgo(1) };
    expect(await ask(to, { ...lost, text: 'Another text' })).toEqual({ kind: 'not_sent' });
    expect(await ask(to, lost)).toMatchObject({ kind: 'accepted' });
  });

  it('is not confused with a message that was sent long before', async () => {
    const to = recipient();
    await sendTo(to);
    const later = new Date(Date.now() + 3_600_000);
    expect(await ask(to, { startedAt: later })).toMatchObject({ kind: 'unreachable' });
  });
});

describe('a server that speaks the API of Twilio in another form', () => {
  const answering = async (status: number, body: object) => {
    const other = await startSomebodyElse();
    other.answer(status, 'application/json', JSON.stringify(body));
    const config = { accountSid: 'AC1', authToken: 'x', baseUrl: other.url };
    onTestFinished(() => other.stop());
    return config;
  };

  it.each([
    [{ sid: 'SM1' }, { kind: 'accepted', carrierMessageId: 'SM1' }],
    [{ sid: 'SM1', status: null, error_code: '' }, { kind: 'accepted' }],
    [
      { sid: 'SM1', status: 'failed', error_code: '30034' },
      { kind: 'transient', ofLine: true },
    ],
    [[{ sid: 'SM1' }], { kind: 'unknown' }],
  ])('has accepted a message that it names: %j', async (body, outcome) => {
    const config = await answering(201, body);
    expect(await world.carrier.send(config, outbound(world, recipient()), never)).toMatchObject(outcome);
  });

  it.each([
    [
      { code: '21610', message: 'x' },
      { kind: 'refused', optedOut: true },
    ],
    [
      { code: '20429', message: null },
      { kind: 'transient', ofLine: true },
    ],
    [{ code: 21614, message: { text: 'x' } }, { kind: 'unavailable' }],
  ])('is understood by its code: %j', async (body, outcome) => {
    const config = await answering(400, body);
    expect(await world.carrier.send(config, outbound(world, recipient()), never)).toMatchObject(outcome);
  });

  const at = new Date(Date.now() - 3_600_000);
  const to = recipient();
  const listed = { sid: 'SM1', direction: 'outbound-api', to, body: 'Hello', date_created: at.toUTCString() };
  it.each([
    [[null, listed], { kind: 'accepted', carrierMessageId: 'SM1' }],
    [[{ ...listed, error_code: '', to: null, direction: null }], { kind: 'accepted' }],
    [[null], { kind: 'unknown' }],
    [[{ ...listed, body: {} }], { kind: 'unknown' }],
    [[{ ...listed, to: '+14155550199' }], { kind: 'not_sent' }],
  ])('lists what may be a message whose response was lost: %j', async (messages, outcome) => {
    const config = await answering(200, { messages });
    const about = { attemptId: newId(), lineId: newId(), channel: 'sms', from: null, to } as const;
    const attempt = {
      ...about,
      text: 'Hello',
      attachmentCount: 0,
      takenIds: [],
      startedAt: at,
      startedBy: at,
    };
    expect(await world.carrier.reconcile(config, attempt)).toMatchObject(outcome);
  });
});

test('a server with a certificate of an authority of its own can be used once the settings trust the authority', async () => {
  const folder = join(import.meta.dirname, '../../../test/fixtures/tls');
  const proxy = await startTlsProxy(folder);
  onTestFinished(() => proxy.close());
  proxy.to(Number(new URL(world.twilio.url).port));
  const config = {
    accountSid: TWILIO_ACCOUNT.sid,
    authToken: TWILIO_ACCOUNT.authToken,
    from: '+14155550111',
    baseUrl: `https://localhost:${proxy.port}`,
  };
  const send = (carrier: TwilioWorld['carrier'], settings: object) =>
    carrier.send(settings, outbound(world, recipient()), never);
  expect(await send(world.carrier, config)).toMatchObject({ kind: 'transient' });
  const ca = readFileSync(join(folder, 'authority.pem'), 'utf8');
  expect(await send(world.carrier, { ...config, caCertificates: ca })).toMatchObject({ kind: 'accepted' });
  const { baseUrl, ...own } = config;
  expect(await send(twilioCarrier({ baseUrl, ca }), own)).toMatchObject({ kind: 'accepted' });
});

describe('callbacks', () => {
  it('report an error later with the meaning that it has at once, and the list shows it', async () => {
    const to = recipient();
    world.twilio.fault(to, { kind: 'error_later', code: 30005 });
    const sent = await world.carrier.send(world.config, outbound(world, to), never);
    expect(sent).toMatchObject({ kind: 'accepted' });
    const carrierMessageId = sent.kind === 'accepted' ? sent.carrierMessageId : '';
    const reported = () =>
      world.callbacks?.received.filter(({ rawBody }) => rawBody.includes(`MessageSid=${carrierMessageId}`)) ??
      [];
    await vi.waitFor(() => expect(reported()).toHaveLength(2));
    const events = await Promise.all(
      reported().map((callback) => world.carrier.parseCallback(world.config, callback, 'test')),
    );
    expect(events.flat()).toMatchObject([
      {
        kind: 'receipt',
        status: 'failed',
        reason: '30005: undelivered',
        carrierMessageId,
        unavailable: true,
      },
    ]);
    const account = `${TWILIO_ACCOUNT.sid}:${TWILIO_ACCOUNT.authToken}`;
    const headers = { authorization: `Basic ${Buffer.from(account).toString('base64')}` };
    const path = `/2010-04-01/Accounts/${TWILIO_ACCOUNT.sid}/Messages.json?To=${encodeURIComponent(to)}`;
    const listed = await (await fetch(world.twilio.url + path, { headers })).json();
    expect(listed).toMatchObject({ messages: [{ status: 'undelivered', error_code: 30005 }] });
  });

  const url = 'https://linepace.example/callbacks/carriers/twilio/0123456789abcdef01234567';
  const read = (fields: Record<string, string>, signedUrl = url, readUrl = url) => {
    const { headers, body } = world.twilio.sign(signedUrl, fields);
    return world.carrier.parseCallback(world.config, { url: readUrl, headers, rawBody: body }, 'tenant');
  };

  it("have the signature of the example in Twilio's documentation", () => {
    const fields = {
      CallSid: 'CA1234567890ABCDE',
      Caller: '+12349013030',
      Digits: '1234',
      From: '+12349013030',
      To: '+18005551212',
    };
    const signature = signTwilio(
      '12345',
      'https://mycompany.com/myapp.php?foo=1&bar=2',
      new URLSearchParams(fields),
    );
    expect(signature).toBe('0/KCTR6DLpKmkAf8muzZqo1nDgQ=');
  });

  it.each([
    ['with its port', url.replace('.example', '.example:443'), url],
    ['without its port', url, url.replace('.example', '.example:443')],
  ])('are accepted when they are signed over the URL %s', async (_name, signedUrl, readUrl) => {
    const status = { MessageSid: 'SM1', MessageStatus: 'delivered' };
    expect(await read(status, signedUrl, readUrl)).toHaveLength(1);
  });

  it.each([
    ['delivered', [{ kind: 'receipt', status: 'delivered' }]],
    ['undelivered', [{ kind: 'receipt', status: 'failed', reason: '30003: undelivered' }]],
    ['failed', [{ kind: 'receipt', status: 'failed', reason: '30003: failed' }]],
    ['canceled', [{ kind: 'receipt', status: 'failed', reason: '30003: canceled' }]],
    ['read', [{ kind: 'read' }]],
    ...[
      'accepted',
      'scheduled',
      'queued',
      'sending',
      'sent',
      'partially_delivered',
      'receiving',
      'received',
    ].map((status): [string, object[]] => [status, []]),
  ])('with the status %s become the matching events', async (status, expected) => {
    const events = await read({
      MessageSid: 'SM1',
      MessageStatus: status,
      SmsStatus: status,
      ErrorCode: '30003',
    });
    expect(events).toHaveLength(expected.length);
    expect(events).toMatchObject(expected.map((event) => ({ ...event, carrierMessageId: 'SM1' })));
  });

  it('report a failure caused by a STOP as an opt-out', async () => {
    const failed = { MessageSid: 'SM1', MessageStatus: 'failed', ErrorCode: '21610' };
    expect(await read(failed)).toMatchObject([{ kind: 'receipt', status: 'failed', optedOut: true }]);
  });

  it('give a repeated status the same event id, and another status another', async () => {
    const id = async (status: string) =>
      (await read({ MessageSid: 'SM1', MessageStatus: status }))[0]?.eventId;
    expect(await id('delivered')).toBe(await id('delivered'));
    expect(await id('delivered')).not.toBe(await id('failed'));
  });

  it.each([
    ['delivered', { From: 'rcs:our_agent', To: 'rcs:+14155550123' }, 'rcs'],
    ['read', { From: 'RCS:our_agent', ChannelPrefix: 'rcs' }, 'rcs'],
    ['undelivered', { ChannelPrefix: 'rcs' }, 'rcs'],
    // It fell back to SMS.
    ['delivered', { From: '+14155550111', To: '+14155550123' }, undefined],
    ['delivered', { From: 'whatsapp:+14155550111', ChannelPrefix: 'whatsapp' }, undefined],
  ])(
    'say of a message that is %s by %j that it travelled as %s',
    async (MessageStatus, fields, transport) => {
      const [event] = await read({ MessageSid: 'SM1', MessageStatus, ...fields });
      expect(event).toHaveProperty('carrierMessageId', 'SM1');
      expect(event && 'transport' in event ? event.transport : undefined).toBe(transport);
    },
  );

  it('report a failure again once its reason is known', async () => {
    const failed = { MessageSid: 'SM1', MessageStatus: 'undelivered' };
    const [before] = await read(failed);
    const [after] = await read({ ...failed, ErrorCode: '30007' });
    expect(before).not.toHaveProperty('reason');
    expect(after).toMatchObject({ kind: 'receipt', status: 'failed', reason: '30007: undelivered' });
    expect(after?.eventId).not.toBe(before?.eventId);
  });

  describe('that are signed with a SharedKey', () => {
    const fields = { MessageSid: 'SM1', MessageStatus: 'delivered' };
    const config = {
      accountSid: TWILIO_ACCOUNT.sid,
      authToken: TWILIO_ACCOUNT.authToken,
      sharedKeySecret: 'the shared key',
    };
    const settings = 'x-twilio-webhooks-signature-settings';
    const readSigned = (algorithm: string, sign: 'sha1' | 'sha256', key: string, given: object = config) => {
      const form = new URLSearchParams(fields);
      const headers = {
        'x-twilio-signature': signTwilio(key, url, form, sign),
        [settings]: `key=webhooks_sharedkey_1,algorithm=${algorithm}`,
      };
      return world.carrier.parseCallback(given, { url, headers, rawBody: form.toString() }, 'tenant');
    };

    it('are accepted with the algorithm that they name', async () => {
      expect(await readSigned('HMAC_SHA256', 'sha256', 'the shared key')).toHaveLength(1);
      expect(await readSigned('HMAC_SHA1', 'sha1', 'the shared key')).toHaveLength(1);
    });

    it.each([
      ['with another key', 'HMAC_SHA256', 'sha256', 'another key'],
      ['with the token of the account', 'HMAC_SHA256', 'sha256', TWILIO_ACCOUNT.authToken],
      ['with another algorithm than they name', 'HMAC_SHA256', 'sha1', 'the shared key'],
      ['with an unknown algorithm', 'HMAC_MD5', 'sha256', 'the shared key'],
    ] as const)('are refused %s', async (_name, algorithm, sign, key) => {
      await expect(readSigned(algorithm, sign, key)).rejects.toThrow(BadSignature);
    });

    it('are refused if the settings have no such key', async () => {
      const given = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken };
      await expect(readSigned('HMAC_SHA256', 'sha256', 'the shared key', given)).rejects.toThrow(
        'sharedKeySecret',
      );
    });

    it('are still verified with the token of the account if they have no such header', async () => {
      const { headers, body: rawBody } = world.twilio.sign(url, fields);
      expect(await world.carrier.parseCallback(config, { url, headers, rawBody }, 'tenant')).toHaveLength(1);
    });
  });

  const call = { CallSid: 'CA1', From: '+14155550111', To: '+14155550123', CallDuration: '61' };

  it.each([
    ['queued', { status: 'requested' }],
    ['initiated', { status: 'requested' }],
    ['ringing', { status: 'ringing' }],
    ['in-progress', { status: 'answered' }],
    ['completed', { status: 'billed', durationSec: 61, hangupCause: 'completed' }],
    ...['busy', 'no-answer', 'failed', 'canceled'].map((status): [string, object] => [
      status,
      { status: 'failed', hangupCause: status },
    ]),
  ])('report a call that is %s', async (callStatus, expected) => {
    const at = new Date(Date.UTC(2026, 2, 1, 12, 0, 5));
    const fields = { ...call, CallStatus: callStatus, Timestamp: 'Sun, 01 Mar 2026 12:00:05 +0000' };
    expect(await read(fields)).toEqual([
      {
        kind: 'call',
        eventId: `CA1:${callStatus}`,
        callId: 'CA1',
        at,
        from: call.From,
        to: call.To,
        ...expected,
      },
    ]);
    expect(await read({ ...call, CallStatus: callStatus, Timestamp: 'soon' })).toMatchObject([
      { at: expect.any(Date) },
    ]);
  });

  it('with an unknown status become no event', async () => {
    expect(await read({ ...call, CallStatus: 'on-hold' })).toEqual([]);
  });

  const address = 'https://api.twilio.com/2010-04-01/Accounts/AC1/Recordings/RE1';
  it.each([
    ['that is fetched as MP3', { RecordingStatus: 'completed', RecordingUrl: address }, `${address}.mp3`],
    ['whose URL has a file extension', { RecordingUrl: `${address}.wav` }, `${address}.wav`],
    ['that has only begun', { RecordingStatus: 'in-progress', RecordingUrl: address }, null],
    ['that is absent', { RecordingStatus: 'absent' }, null],
    ['that failed', { RecordingStatus: 'failed', RecordingUrl: '' }, null],
  ])('report only a finished recording: one %s', async (_name, fields, recordingUrl) => {
    const recording = {
      kind: 'recording',
      eventId: 'CA1:RE1',
      callId: 'CA1',
      at: expect.any(Date),
      recordingUrl,
    };
    const expected = recordingUrl === null ? [] : [recording];
    expect(await read({ CallSid: 'CA1', RecordingSid: 'RE1', ...fields })).toEqual(expected);
  });

  const inbound = {
    MessageSid: 'SM9',
    SmsStatus: 'received',
    From: '+14155550123',
    To: '+14155550111',
    NumMedia: '0',
  };

  it('report an inbound message as a reply', async () => {
    expect(await read({ ...inbound, Body: 'Sounds good' })).toEqual([
      {
        kind: 'reply',
        eventId: 'SM9',
        carrierMessageId: 'SM9',
        at: expect.any(Date),
        from: '+14155550123',
        text: 'Sounds good',
        attachments: [],
        autoReply: false,
      },
    ]);
  });

  it.each(['rcs:+14155550123', 'RCS:+14155550123', 'whatsapp:+14155550123'])(
    'report a message from %s as one of the contact with that number',
    async (From) => {
      const to = { To: 'rcs:our_agent' };
      expect(await read({ ...inbound, ...to, From, Body: 'STOP' })).toMatchObject([
        { kind: 'reply', from: '+14155550123', text: 'STOP' },
      ]);
    },
  );

  it.each([
    [{ Latitude: '37.78', Longitude: '-122.4' }, 'https://maps.google.com/?q=37.78,-122.4'],
    [
      { Latitude: '37.78', Longitude: '-122.4', Label: 'Engines', Address: '1 Market St' },
      'Engines\n1 Market St\nhttps://maps.google.com/?q=37.78,-122.4',
    ],
    [{ Latitude: '37.78', Longitude: '-122.4', Body: 'I am here' }, 'I am here'],
    [{ Latitude: '', Longitude: '' }, ''],
  ])('report the place that a contact has shared: %j', async (place, text) => {
    expect(await read({ ...inbound, Body: '', ...place })).toMatchObject([{ kind: 'reply', text }]);
  });

  it.each([
    ['ARRET', 'STOP', 'STOP'],
    ['unsubscribe', 'STOP', 'unsubscribe'],
    ['join', 'START', 'START'],
    ['help me', 'HELP', 'help me'],
  ])('report %s with the opt-out type %s as %s', async (Body, OptOutType, text) => {
    expect(await read({ ...inbound, Body, OptOutType })).toMatchObject([{ kind: 'reply', text }]);
  });

  it("name files that are fetched with the account's password, from the carrier's addresses only", async () => {
    const path = '/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages/SM9/Media/ME1';
    const media = { NumMedia: '1', MediaUrl0: world.twilio.url + path, MediaContentType0: 'image/png' };
    const [event] = await read({ ...inbound, Body: '', ...media });
    const files = event?.kind === 'reply' ? event.attachments : [];
    expect(files).toEqual([
      { name: 'attachment-1.png', contentType: 'image/png', url: world.twilio.url + path },
    ]);
    const opened = await world.carrier.openMedia(world.config, files[0]?.url ?? '', never);
    expect(opened.contentType).toBe('image/png');
    expect(await readText(opened.body)).toContain('PNG');
    const elsewhere = world.carrier.openMedia(world.config, 'http://169.254.169.254/', never);
    await expect(elsewhere).rejects.toThrow("carrier's addresses");
    const wrong = { ...world.config, authToken: 'wrong' };
    await expect(world.carrier.openMedia(wrong, files[0]?.url ?? '', never)).rejects.toThrow('401');
  });

  it.each([
    ['image/jpeg', 'attachment-1.jpg'],
    ['text/x-vcard', 'attachment-1.vcf'],
    ['Text/vCard; charset=utf-8', 'attachment-1.vcf'],
    ['video/quicktime', 'attachment-1.mov'],
    ['audio/mpeg', 'attachment-1.mp3'],
    ['audio/amr', 'attachment-1.amr'],
    ['text/plain', 'attachment-1.txt'],
    ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'attachment-1.docx'],
    ['application/x-unknown', 'attachment-1'],
  ])('name a file of the type %s %s', async (MediaContentType0, name) => {
    const media = { NumMedia: '1', MediaUrl0: `${world.twilio.url}/m`, MediaContentType0 };
    expect(await read({ ...inbound, Body: '', ...media })).toMatchObject([{ attachments: [{ name }] }]);
  });

  it.each([undefined, '', '2 files', '60'])(
    'lose nothing because of the number of files %j',
    async (count) => {
      const media = { MediaUrl0: `${world.twilio.url}/m`, MediaContentType0: 'image/png' };
      const { NumMedia: _, ...fields } = { ...inbound, Body: 'STOP', ...media };
      const [event] = await read({ ...fields, ...(count !== undefined && { NumMedia: count }) });
      expect(event).toMatchObject({ text: 'STOP', attachments: [{ name: 'attachment-1.png' }] });
    },
  );

  it('name files that are not fetched from a loopback address', async () => {
    const guard = createGuard({ allowPrivate: false, httpsOnly: false });
    const carrier = twilioCarrier({ baseUrl: world.twilio.url, guard });
    const path = '/2010-04-01/Accounts/AC00000000000000000000000000000001/Messages/SM9/Media/ME1';
    const { baseUrl: _, ...config } = { baseUrl: null, ...world.config };
    const opened = carrier.openMedia(carrier.config.parse(config), world.twilio.url + path, never);
    await expect(opened).rejects.toThrow('loopback');
    await carrier.close();
  });
});

describe('the connection test says whether replies reach the line', () => {
  const callbackUrl = 'https://linepace.example/callbacks/carriers/twilio/0123456789abcdef01234567';
  const elsewhere = 'https://elsewhere.example/sms';
  const [NUMBER, OTHER, SERVICE, APP] = ['+14155550177', '+14155550178', 'MG-replies', 'AP1'];
  const account = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken };

  interface Situation {
    number?: Partial<TwilioNumber>;
    other?: Partial<TwilioNumber>;
    service?: Partial<TwilioService>;
    application?: { smsUrl: string; smsMethod?: string };
    /** The settings of the line do not name the service. */
    unnamed?: true;
  }

  async function check({ number, other, service, application, unnamed }: Situation) {
    const { twilio } = world;
    twilio.numbers.set(NUMBER, { smsUrl: callbackUrl, sms: true, ...number });
    if (other) twilio.numbers.set(OTHER, { smsUrl: callbackUrl, sms: true, ...other });
    if (application) twilio.applications.set(APP, application);
    if (service)
      twilio.services.set(SERVICE, {
        numbers: other ? [NUMBER, OTHER] : [NUMBER],
        inboundRequestUrl: callbackUrl,
        useInboundWebhookOnNumber: false,
        ...service,
      });
    const config = { ...account, ...(service && !unnamed && { messagingServiceSid: SERVICE }) };
    const found: ConnectionCheck[] = [];
    for await (const one of world.carrier.checkConnection(config, {
      lineId: null,
      address: NUMBER,
      callbackUrl,
      reachCallbacks: async () => ({ result: 'pass', text: 'It answers.' }),
    }))
      found.push(one);
    twilio.services.delete(SERVICE);
    const resultOf = (name: string) => found.find((one) => one.name === name);
    return { sender: resultOf('sender'), callback: resultOf('callback') };
  }

  const DEFERRED = { inboundRequestUrl: null, useInboundWebhookOnNumber: true };

  it.each<[string, Situation]>([
    ['the number calls it', {}],
    [
      'the TwiML App of the number calls it',
      { number: { smsUrl: '', smsApplicationSid: APP }, application: { smsUrl: callbackUrl } },
    ],
    ['the messaging service calls it', { number: { smsUrl: '' }, service: {} }],
    ['the messaging service leaves it to the number', { service: DEFERRED }],
    ['the messaging service leaves it to all its numbers', { service: DEFERRED, other: {} }],
    [
      'a service that the settings do not name calls it',
      { number: { smsUrl: '' }, service: {}, unnamed: true },
    ],
  ])('they do: %s', async (_name, situation) => {
    const { sender, callback } = await check(situation);
    expect([sender?.result, callback?.result]).toEqual(['pass', 'pass']);
  });

  it.each<[string, Situation, string]>([
    ['the number calls another URL', { number: { smsUrl: elsewhere } }, 'another URL'],
    ['the number calls no URL', { number: { smsUrl: '' } }, 'no URL'],
    ['the number uses GET', { number: { smsMethod: 'GET' } }, 'HTTP GET'],
    [
      'a TwiML App decides',
      { number: { smsApplicationSid: APP }, application: { smsUrl: elsewhere } },
      'TwiML App',
    ],
    [
      'a TwiML App uses GET',
      { number: { smsApplicationSid: APP }, application: { smsUrl: callbackUrl, smsMethod: 'GET' } },
      'HTTP GET',
    ],
    ['the messaging service drops them', { service: { inboundRequestUrl: null } }, 'messaging service'],
    [
      'the messaging service calls another URL',
      { service: { inboundRequestUrl: elsewhere } },
      'messaging service',
    ],
    ['the messaging service uses GET', { service: { inboundMethod: 'GET' } }, 'HTTP GET'],
    [
      'a service that the settings do not name drops them',
      { service: { inboundRequestUrl: null }, unnamed: true },
      'messaging service',
    ],
    [
      'another number of the service calls another URL',
      { service: DEFERRED, other: { smsUrl: elsewhere } },
      OTHER,
    ],
  ])('they do not: %s', async (_name, situation, text) => {
    const { callback } = await check(situation);
    expect(callback).toMatchObject({ result: 'fail', text: expect.stringContaining(text) });
  });

  it('but not if one of many services of the account may contain the number', async () => {
    const others = Array.from({ length: 20 }, (_, index) => `MG-other-${index}`);
    for (const sid of others) world.twilio.services.set(sid, { ...DEFERRED, numbers: [] });
    const { callback } = await check({ service: { inboundRequestUrl: null }, unnamed: true });
    for (const sid of others) world.twilio.services.delete(sid);
    expect(callback).toMatchObject({ result: 'unknown', text: expect.stringContaining('too many') });
  });

  it('and whether its number is in the sender pool', async () => {
    const { sender } = await check({ service: { numbers: [OTHER] } });
    expect(sender).toMatchObject({ result: 'fail', setting: 'messagingServiceSid' });
  });
});

describe('the probe of a line', () => {
  const account = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken };
  const probe = (config: object, address: string | null = null) =>
    world.carrier.probe({ ...account, ...config }, newId(), address);

  it('passes for a number of the account', async () => {
    await expect(probe({}, '+14155550111')).resolves.toBeUndefined();
    await expect(probe({ from: '(415) 555-0111' })).resolves.toBeUndefined();
  });

  it('checks only the account of a line that is being connected', async () => {
    await expect(world.carrier.probe({ ...account, from: '+14155550175' }, newId())).resolves.toBeUndefined();
  });

  it('passes for a sender that is no number', async () => {
    await expect(probe({ from: 'Linepace' })).resolves.toBeUndefined();
    await expect(probe({ from: '72345' })).resolves.toBeUndefined();
  });

  it('fails with the reason if the line cannot send', async () => {
    world.twilio.numbers.set('+14155550176', { smsUrl: '', sms: false });
    world.twilio.services.set('MG-empty', {
      numbers: [],
      inboundRequestUrl: null,
      useInboundWebhookOnNumber: true,
    });
    await expect(probe({}, '+14155550175')).rejects.toThrow('the account has no number +14155550175');
    await expect(probe({}, '+14155550176')).rejects.toThrow('cannot send SMS');
    await expect(probe({ messagingServiceSid: 'MG-empty' })).rejects.toThrow('has no sender');
    await expect(probe({ messagingServiceSid: 'MG-none' })).rejects.toThrow('there is no messaging service');
    await expect(probe({ authToken: 'wrong' })).rejects.toThrow('Authenticate');
  });
});
