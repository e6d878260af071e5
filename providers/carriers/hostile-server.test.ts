import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { BlueBubblesConfig } from './bluebubbles/api.ts';
import { blueBubblesCarrier } from './bluebubbles/bluebubbles.ts';
import type { Carrier, ConnectionSubject, OutboundMessage } from './carrier.ts';
import { linqCarrier } from './linq/linq.ts';
import { sendblueCarrier } from './sendblue.ts';
import { telnyxCarrier } from './telnyx.ts';
import { twilioCarrier } from './twilio/twilio.ts';

/** Answers that cost seconds or gigabytes if they are read without bounds. */
const SIZE = 8 * 1024 * 1024;
const many = (element: string, size = SIZE): string =>
  `[${`${element},`.repeat(size / (element.length + 1))}${element}]`;
/** The lists that adapters read, by the names of all of them. */
const inLists = (list: string): string =>
  `{"status":200,"data":${list},"messages":${list},"incoming_phone_numbers":${list},"chats":${list},"error":{"message":"x"}}`;
const ANSWERS: Record<string, string> = {
  zeros: inLists(many('0', SIZE / 4)),
  'empty lists': inLists(many('[]', SIZE / 4)),
  'empty objects': inLists(many('{}', SIZE / 4)),
  'lists nested as deep as the answer is long': '['.repeat(SIZE / 2) + ']'.repeat(SIZE / 2),
  'many fields': `{${Array.from({ length: SIZE / 16 }, (_, index) => `"k${index}":0`).join(',')}}`,
  // The words that are searched in explanations, again and again.
  'a long explanation': JSON.stringify({
    error: { message: 'chat '.repeat(SIZE / 5) },
    message: 'chat '.repeat(10),
  }),
  'an explanation within the limit': JSON.stringify({ error: { message: 'chat '.repeat(12_000) } }),
  'a message of many files': `{"data":{"guid":"m","text":0,"attachments":${many('{}', 60_000)},"chats":${many('0', 1000)}}}`,
};

let answer = '';
let status = 200;
let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    request.resume();
    response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const to = { address: '+14155550123' };
const from = { address: '+14155550111' };
const bodyOf = (channel: 'imessage' | 'sms'): OutboundMessage =>
  ({
    attemptId: newId(),
    messageId: newId(),
    lineId: newId(),
    channel,
    to,
    from,
    text: 'Hello',
    attachments: [],
    callbackUrl: 'http://127.0.0.1:9/',
  }) as unknown as OutboundMessage;
const subject: ConnectionSubject = {
  address: from.address,
  lineId: newId(),
  callbackUrl: 'http://127.0.0.1:9/',
  reachCallbacks: async () => ({ result: 'pass', text: '' }),
};

/** All calls of an adapter to the server of its settings. */
function callsOf(carrier: Carrier, config: unknown, channel: 'imessage' | 'sms') {
  const at = new Date(Date.now() - 60 * 60_000);
  const attempt = {
    attemptId: newId(),
    lineId: newId(),
    channel,
    from: from.address,
    to: to.address,
    text: 'Hello',
    takenIds: [],
    attachmentCount: 0,
    startedAt: at,
    startedBy: at,
  };
  const calls: Record<string, () => Promise<unknown>> = {
    send: () => carrier.send(config, bodyOf(channel), new AbortController().signal),
    reconcile: () => carrier.reconcile(config, attempt),
    checkAvailability: () => carrier.checkAvailability(config, to.address),
    probe: () => carrier.probe(config, newId()),
    checkConnection: async () => {
      const checks = [];
      for await (const check of carrier.checkConnection(config, subject)) checks.push(check);
      return checks;
    },
    configureInbound: async () => carrier.configureInbound?.(config, newId(), 'http://127.0.0.1:9/'),
  };
  return calls;
}

describe('A server of a tenant', () => {
  const bluebubbles = blueBubblesCarrier({ recheckMs: 1 });
  const twilio = twilioCarrier();
  const telnyx = telnyxCarrier();
  const sendblue = sendblueCarrier();
  const linq = linqCarrier();
  afterAll(async () => {
    await Promise.all([
      bluebubbles.close?.(),
      twilio.close?.(),
      telnyx.close(),
      sendblue.close(),
      linq.close(),
    ]);
  });

  it.each(Object.keys(ANSWERS))('takes neither time nor memory with %s', async (shape) => {
    answer = ANSWERS[shape] ?? '';
    const twilioConfig = { accountSid: 'AC1', authToken: 'x', baseUrl: url };
    const telnyxConfig = { apiKey: 'x', publicKey: Buffer.alloc(32).toString('base64'), baseUrl: url };
    const sendblueConfig = {
      apiKeyId: 'x',
      apiSecretKey: 'x',
      fromNumber: from.address,
      callbackSecret: 'x'.repeat(16),
      baseUrl: url,
    };
    const linqConfig = {
      apiKey: 'x',
      fromNumber: from.address,
      callbackSecret: 'x'.repeat(16),
      baseUrl: url,
    };
    const calls = [
      ...Object.entries(
        callsOf(
          bluebubbles,
          BlueBubblesConfig.parse({ url, password: 'x', callbackSecret: 'x'.repeat(16) }),
          'imessage',
        ),
      ),
      ...Object.entries(callsOf(twilio, twilioConfig, 'sms')),
      ...Object.entries(callsOf(telnyx, telnyxConfig, 'sms')),
      ...Object.entries(callsOf(linq, linqConfig, 'imessage')),
      ...Object.entries(callsOf(sendblue, sendblueConfig, 'imessage')),
    ];
    for (status of [200, 500, 404])
      for (const [name, call] of calls) {
        const result = await call().catch((error: unknown) => String(error));
        const text = JSON.stringify(result ?? null);
        expect(text, name).not.toMatch(/accepted/);
        expect(text.length, name).toBeLessThan(4000);
      }
  });
});
