import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blueBubblesCarrier } from '#providers/carriers/bluebubbles/bluebubbles.ts';
import type { CallbackRequest, Carrier } from '#providers/carriers/carrier.ts';
import { linqCarrier } from '#providers/carriers/linq/linq.ts';
import { sendblueCarrier } from '#providers/carriers/sendblue.ts';
import { simulatedCarrier } from '#providers/carriers/simulated.ts';
import { telnyxCarrier } from '#providers/carriers/telnyx.ts';
import { twilioCarrier } from '#providers/carriers/twilio/twilio.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { type LinqStandIn, startLinq } from '#simulator/linq.ts';
import { type SendblueStandIn, startSendblue } from '#simulator/sendblue.ts';
import { startTelnyx, type TelnyxStandIn } from '#simulator/telnyx.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { type CarrierWorld, LINE_ID, startReceiver } from './carrier-worlds.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

/** The carriers with an HTTP API, with a line whose requests go to `url`. */
export const HTTP_CARRIERS: readonly {
  name: string;
  connect(url: string): Pick<CarrierWorld, 'carrier' | 'config' | 'channel'>;
}[] = [
  {
    name: 'simulated',
    connect: (url) => ({
      carrier: simulatedCarrier({ url, secret: 'secret' }),
      config: {},
      channel: 'imessage',
    }),
  },
  {
    name: 'bluebubbles',
    connect: (url) => ({
      carrier: blueBubblesCarrier(),
      config: {
        url,
        password: 'the password',
        callbackSecret: 'a-secret-of-the-line',
        method: 'apple-script',
      },
      channel: 'imessage',
    }),
  },
  {
    name: 'twilio',
    connect: (url) => ({
      carrier: twilioCarrier({ baseUrl: url }),
      config: { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, from: '+14155550111' },
      channel: 'sms',
    }),
  },
  {
    name: 'linq',
    connect: (url) => ({
      carrier: linqCarrier({ baseUrl: url }),
      config: { apiKey: 'token', fromNumber: '+14155550111', callbackSecret: 'a-secret-of-the-line' },
      channel: 'imessage',
    }),
  },
  {
    name: 'sendblue',
    connect: (url) => ({
      carrier: sendblueCarrier({ baseUrl: url }),
      config: {
        apiKeyId: 'id',
        apiSecretKey: 'key',
        fromNumber: '+14155550111',
        callbackSecret: 'a-secret-of-the-line',
      },
      channel: 'imessage',
    }),
  },
  {
    name: 'telnyx',
    connect: (url) => ({
      carrier: telnyxCarrier({ baseUrl: url }),
      config: { apiKey: 'KEY1', publicKey: Buffer.alloc(32).toString('base64') },
      channel: 'sms',
    }),
  },
];

/** A tunnel or proxy that answers in the place of a carrier. */
export async function startSomebodyElse() {
  let answer: (response: ServerResponse) => void = (response) => response.writeHead(404).end();
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    request.resume();
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    /** @param encoding the `Content-Encoding` of the body. */
    answer(status: number, type: string, body: string | Buffer, encoding = 'identity') {
      const headers = {
        'content-type': type,
        'content-encoding': encoding,
        // Whoever asks again there is told that all is well.
        ...(status >= 300 && status < 400 && { location: '/sign-in' }),
      };
      answer = (response) => response.writeHead(status, headers).end(status === 204 ? undefined : body);
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export type { BlueBubblesFault } from '#simulator/bluebubbles.ts';

/** A recipient for each behavior of a server. */
const to = {
  taken: '+14155550100',
  refused: '+14155550102',
  later: '+14155550103',
  responseLost: '+14155550104',
  responseLate: '+14155550105',
  unreachable: '+14155550106',
};

export interface TwilioWorld extends CarrierWorld {
  twilio: TwilioStandIn;
}

export async function twilioWorld(): Promise<TwilioWorld> {
  const { origin, received, stop } = await startReceiver();
  const twilio = await startTwilio(TWILIO_ACCOUNT);
  twilio.fault(to.refused, { kind: 'error', status: 400, code: 21268 });
  twilio.fault(to.later, { kind: 'error', status: 429, code: 20429 });
  twilio.fault(to.responseLost, { kind: 'response_lost' });
  twilio.fault(to.responseLate, { kind: 'response_late' });
  twilio.fault(to.unreachable, { kind: 'error', status: 400, code: 21614 });
  const carrier = twilioCarrier({ baseUrl: twilio.url, timeoutMs: 1000 });
  const url = `${origin}/callbacks/carriers/twilio/${LINE_ID}`;
  return {
    twilio,
    carrier,
    config: { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, from: '+14155550111' },
    wrongConfig: { accountSid: TWILIO_ACCOUNT.sid, authToken: 'wrong' },
    secretConfig: { given: { accountSid: TWILIO_ACCOUNT.sid, authToken: 'hunter2' }, secrets: ['hunter2'] },
    channel: 'sms',
    to,
    taken: async (recipient) => twilio.sent.filter((message) => message.to === recipient).length,
    callbacks: {
      url,
      failingOnceUrl: null,
      received,
      examples() {
        const fields = { MessageSid: 'SM1', MessageStatus: 'delivered', AccountSid: TWILIO_ACCOUNT.sid };
        const { headers, body } = twilio.sign(url, fields);
        const good: CallbackRequest = { url, headers, rawBody: body };
        const signature = headers['x-twilio-signature'] ?? '';
        return {
          good,
          forged: [
            { ...good, headers: {} },
            { ...good, headers: { 'x-twilio-signature': `${signature.slice(0, -4)}AAA=` } },
            { ...good, rawBody: body.replace('SM1', 'SM2') },
            { ...good, url: url.replace(LINE_ID, 'f'.repeat(24)) },
          ],
        };
      },
    },
    ...ending(twilio, carrier, stop),
  };
}

export interface TelnyxWorld extends CarrierWorld {
  telnyx: TelnyxStandIn;
}

export async function telnyxWorld(): Promise<TelnyxWorld> {
  const { origin, received, stop } = await startReceiver();
  const telnyx = await startTelnyx('KEY1');
  telnyx.fault(to.refused, { kind: 'error', status: 422, code: '40322', title: 'Blocked due to content' });
  telnyx.fault(to.later, { kind: 'error', status: 429, code: '10011', title: 'Too many requests' });
  telnyx.fault(to.responseLost, { kind: 'response_lost' });
  telnyx.fault(to.responseLate, { kind: 'response_late' });
  telnyx.fault(to.unreachable, { kind: 'error', status: 400, code: '40001', title: 'Not routable' });
  const carrier = telnyxCarrier({ baseUrl: telnyx.url, timeoutMs: 1000 });
  const url = `${origin}/callbacks/carriers/telnyx/${LINE_ID}`;
  const config = { apiKey: 'KEY1', publicKey: telnyx.publicKey };
  return {
    telnyx,
    carrier,
    config,
    wrongConfig: { ...config, apiKey: 'wrong' },
    secretConfig: { given: { ...config, apiKey: 'hunter2' }, secrets: ['hunter2'] },
    channel: 'sms',
    to,
    taken: async (recipient) => telnyx.sent.filter((message) => message.to === recipient).length,
    callbacks: {
      url,
      failingOnceUrl: null,
      received,
      examples() {
        const payload = { id: 'M1', to: [{ status: 'delivered' }], errors: [] };
        const rawBody = JSON.stringify({
          data: { event_type: 'message.finalized', occurred_at: new Date().toISOString(), payload },
        });
        const good: CallbackRequest = { url, headers: telnyx.sign(rawBody), rawBody };
        const signature = good.headers['telnyx-signature-ed25519'] ?? '';
        const old = telnyx.sign(rawBody, new Date(Date.now() - 6 * 60_000));
        return {
          good,
          forged: [
            { ...good, headers: {} },
            { ...good, headers: { ...good.headers, 'telnyx-signature-ed25519': `A${signature.slice(1)}` } },
            { ...good, headers: { ...good.headers, 'telnyx-timestamp': old['telnyx-timestamp'] } },
            { ...good, headers: old },
            { ...good, rawBody: rawBody.replace('M1', 'M2') },
          ],
        };
      },
    },
    ...ending(telnyx, carrier, stop),
  };
}

export interface LinqWorld extends CarrierWorld {
  linq: LinqStandIn;
}

export async function linqWorld(): Promise<LinqWorld> {
  const { origin, received, stop } = await startReceiver();
  const linq = await startLinq('the-token');
  linq.fault(to.refused, { kind: 'error', status: 400, code: 1004, message: 'Invalid message content' });
  linq.fault(to.later, { kind: 'error', status: 429, code: 1007, message: 'Rate limit exceeded' });
  linq.fault(to.responseLost, { kind: 'response_lost' });
  linq.fault(to.responseLate, { kind: 'response_late' });
  linq.withoutIMessage(to.unreachable);
  const carrier = linqCarrier({ baseUrl: linq.url, timeoutMs: 1000 });
  const config = {
    apiKey: 'the-token',
    fromNumber: '+14155550111',
    callbackSecret: 'a-secret-of-the-line',
  };
  const callbackUrl = `${origin}/callbacks/carriers/linq/${LINE_ID}`;
  await carrier.configureInbound?.(config, LINE_ID, callbackUrl);
  const url = `${callbackUrl}?secret=a-secret-of-the-line&version=2026-02-03`;
  return {
    linq,
    carrier,
    config,
    groupConfig: config,
    wrongConfig: { ...config, apiKey: 'wrong' },
    secretConfig: {
      given: { ...config, apiKey: 'hunter2' },
      secrets: ['hunter2', 'a-secret-of-the-line'],
    },
    channel: 'imessage',
    to,
    taken: async (recipient) => linq.sent.filter((message) => message.to === recipient).length,
    callbacks: {
      url,
      failingOnceUrl: null,
      received,
      examples() {
        const data = { id: 'M1', chat: {}, direction: 'outbound' };
        const rawBody = JSON.stringify({ event_id: 'E1', event_type: 'message.delivered', data });
        const good: CallbackRequest = { url, headers: {}, rawBody };
        return {
          good,
          forged: [callbackUrl, `${callbackUrl}?secret=`, `${callbackUrl}?secret=a-secret-of-the-lime`].map(
            (forgedUrl) => ({ ...good, url: forgedUrl }),
          ),
        };
      },
    },
    ...ending(linq, carrier, stop),
  };
}

export interface SendblueWorld extends CarrierWorld {
  sendblue: SendblueStandIn;
}

export async function sendblueWorld(): Promise<SendblueWorld> {
  const { origin, received, stop } = await startReceiver();
  const sendblue = await startSendblue({ id: 'id', secret: 'the-key' });
  sendblue.fault(to.refused, { kind: 'error', status: 400, code: 4002, message: 'Blacklisted number' });
  sendblue.fault(to.later, { kind: 'error', status: 429, code: 4001, message: 'Rate limit exceeded' });
  sendblue.fault(to.responseLost, { kind: 'response_lost' });
  sendblue.fault(to.responseLate, { kind: 'response_late' });
  sendblue.withoutIMessage(to.unreachable);
  const carrier = sendblueCarrier({ baseUrl: sendblue.url, timeoutMs: 1000 });
  const config = {
    apiKeyId: 'id',
    apiSecretKey: 'the-key',
    fromNumber: '+14155550111',
    callbackSecret: 'a-secret-of-the-line',
  };
  const callbackUrl = `${origin}/callbacks/carriers/sendblue/${LINE_ID}`;
  await carrier.configureInbound?.(config, LINE_ID, callbackUrl);
  const url = `${callbackUrl}?secret=a-secret-of-the-line`;
  return {
    sendblue,
    carrier,
    config,
    wrongConfig: { ...config, apiSecretKey: 'wrong' },
    secretConfig: {
      given: { ...config, apiKeyId: 'hunter1', apiSecretKey: 'hunter2' },
      secrets: ['hunter1', 'hunter2', 'a-secret-of-the-line'],
    },
    channel: 'imessage',
    to,
    taken: async (recipient) => sendblue.sent.filter(({ number }) => number === recipient).length,
    callbacks: {
      url,
      failingOnceUrl: null,
      received,
      examples() {
        const rawBody = JSON.stringify({ message_handle: 'H1', is_outbound: true, status: 'DELIVERED' });
        const good: CallbackRequest = { url, headers: {}, rawBody };
        return {
          good,
          forged: [callbackUrl, `${callbackUrl}?secret=`, `${url}x`].map((forgedUrl) => ({
            ...good,
            url: forgedUrl,
          })),
        };
      },
    },
    ...ending(sendblue, carrier, stop),
  };
}

export interface BlueBubblesWorld extends CarrierWorld {
  server: BlueBubblesStandIn;
}

export async function blueBubblesWorld(timeoutMs = 1000): Promise<BlueBubblesWorld> {
  const { origin, received, stop } = await startReceiver();
  const server = await startBlueBubbles('the password');
  server.fault(to.refused, { kind: 'refused', status: 400 });
  server.fault(to.later, { kind: 'refused', status: 429 });
  server.fault(to.responseLost, { kind: 'response_lost' });
  server.fault(to.responseLate, { kind: 'response_late' });
  server.withoutIMessage(to.unreachable);
  const carrier = blueBubblesCarrier({
    timeoutMs,
    recheckMs: 5,
    async fetchMedia(url) {
      if (url.endsWith('/absent')) throw new Error('it is absent');
      return { content: Buffer.from(`content of ${url}`), contentType: 'text/plain' };
    },
  });
  const config = {
    url: server.url,
    password: 'the password',
    callbackSecret: 'a-secret-of-the-line',
    method: 'apple-script',
  };
  const callbackUrl = `${origin}/callbacks/carriers/bluebubbles/${LINE_ID}`;
  await carrier.configureInbound?.(carrier.config.parse(config), LINE_ID, callbackUrl);
  const url = `${callbackUrl}?secret=a-secret-of-the-line`;
  return {
    server,
    carrier,
    config,
    groupConfig: { ...config, method: 'private-api' },
    wrongConfig: { ...config, password: 'wrong' },
    secretConfig: {
      given: { url: 'http://mac.example', password: 'hunter2', callbackSecret: 'correct-horse-battery' },
      secrets: ['hunter2', 'correct-horse-battery'],
    },
    channel: 'imessage',
    to,
    taken: async (recipient) => server.messages.filter((message) => message.to === recipient).length,
    callbacks: {
      url,
      failingOnceUrl: null,
      received,
      examples() {
        const data = { guid: 'G1', isFromMe: true, dateDelivered: Date.now() };
        const good: CallbackRequest = {
          url,
          headers: {},
          rawBody: JSON.stringify({ type: 'updated-message', data }),
        };
        return {
          good,
          forged: [
            callbackUrl,
            `${callbackUrl}?secret=`,
            `${callbackUrl}?secret=a-secret-of-the-lime`,
            `${url}x`,
          ].map((forgedUrl) => ({ ...good, url: forgedUrl })),
        };
      },
    },
    ...ending(server, carrier, stop),
  };
}

/** The end of a world. @param stopReceiver of the server that gets the callbacks. */
function ending(server: { stop(): Promise<void> }, carrier: Carrier, stopReceiver: () => Promise<void>) {
  let running = true;
  const stopServer = async (): Promise<void> => {
    if (running) await server.stop();
    running = false;
  };
  return {
    stopServer,
    async stop(): Promise<void> {
      await stopServer();
      await carrier.close();
      await stopReceiver();
    },
  };
}
