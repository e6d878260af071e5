import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as readText } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import type { MessageAction } from '#domain/messages/message-action.ts';
import { connectionResults, outbound } from '#test/conformance/carrier-worlds.ts';
import {
  type BlueBubblesFault,
  type BlueBubblesWorld,
  blueBubblesWorld,
} from '#test/conformance/http-carrier-worlds.ts';
import { startFront } from '#test/support/front.ts';
import { blueBubblesCarrier } from './bluebubbles.ts';
import type { AttemptReference, CallbackRequest, OutboundMessage } from '../carrier.ts';

let world: BlueBubblesWorld;
beforeEach(async () => {
  // Long enough for a hundred messages at once: only the fault itself may lose a response.
  world = await blueBubblesWorld(20_000);
});
afterEach(() => world.stop());

const never = new AbortController().signal;
let recipients = 0;
const recipient = (): string => `+1415557${String((recipients += 1)).padStart(4, '0')}`;
const at = (to: string) => world.server.messages.filter((message) => message.to === to);

/** Retries as the product's sender does: resends what was certainly not sent, gives up what stays unknown. */
async function sendWithRetries(
  to: string,
  fields: Partial<OutboundMessage> = {},
  beforeAsking = () => {},
): Promise<string> {
  const takenIds: string[] = [];
  for (let attempts = 0; attempts < 8; attempts += 1) {
    const message = outbound(world, to, fields);
    const { attemptId, lineId, channel, text } = message;
    const startedAt = new Date();
    const outcome = await world.carrier.send(world.config, message, never);
    if (outcome.kind === 'transient') continue;
    if (outcome.kind !== 'unknown') return outcome.kind;
    beforeAsking();
    const about = { attemptId, lineId, channel, from: null, to, text, attachmentCount: 0, takenIds };
    const ask = (time: Date) =>
      world.carrier.reconcile(world.config, { ...about, startedAt: time, startedBy: time });
    let found = await ask(startedAt);
    if (found.kind === 'unreachable') {
      found = await ask(new Date(startedAt.getTime() - 10 * 60_000));
    }
    if (found.kind !== 'not_sent') return found.kind;
    takenIds.push(...at(to).map(({ guid }) => guid));
  }
  return 'given up';
}

/** `npm run bench -- faults` sends more. */
const MESSAGES = Array.from({ length: Number(process.env['FAULT_MESSAGES'] ?? 20) });
type Setting = (to: string) => void;
const fault =
  (make: () => BlueBubblesFault): Setting =>
  (to) =>
    world.server.fault(to, make());

/** Each fault, with the final outcome of a message and how often it was sent. */
const FAULTS: [
  name: string,
  setting: Setting,
  fields: Partial<OutboundMessage>,
  ends: string,
  left: number,
][] = [
  ['no fault', () => {}, {}, 'accepted', 1],
  [
    'a 500 after the message was sent',
    fault(() => ({ kind: 'error_though_sent', code: null })),
    {},
    'accepted',
    1,
  ],
  [
    'an error after an SMS was sent',
    fault(() => ({ kind: 'error_though_sent', code: 4 })),
    { channel: 'sms' },
    'accepted',
    1,
  ],
  ['a 200 for a message that never leaves', (to) => world.server.withoutIMessage(to), {}, 'unavailable', 0],
  [
    'a recipient who is not registered',
    fault(() => ({ kind: 'not_delivered', code: 22 })),
    {},
    'unavailable',
    0,
  ],
  ['a message that is not delivered', fault(() => ({ kind: 'not_delivered', code: 1 })), {}, 'given up', 0],
  ['a timeout inside Messages', fault(() => ({ kind: 'not_delivered', code: 4 })), {}, 'unknown', 0],
  ['a 500 before the message was sent', fault(() => ({ kind: 'error_unsent', times: 1 })), {}, 'accepted', 1],
  ['a lost response', fault(() => ({ kind: 'response_lost' })), {}, 'accepted', 1],
  ['availability that flaps', (to) => world.server.flapping(to, 2), {}, 'accepted', 1],
  ['a conversation that does not exist yet', (to) => world.server.stranger(to), {}, 'accepted', 1],
];

test.each(FAULTS)(
  'with %s no message is lost and none is sent twice',
  async (_name, setting, fields, ends, left) => {
    const results = await Promise.all(
      MESSAGES.map(async () => {
        const to = recipient();
        setting(to);
        const end = await sendWithRetries(to, fields);
        return { end, left: at(to).filter((message) => message.left).length };
      }),
    );
    expect(results).toEqual(MESSAGES.map(() => ({ end: ends, left })));
  },
  300_000,
);

test('a message whose response was lost is found even if the server names the conversation differently', async () => {
  world.server.chatService = 'any';
  const to = recipient();
  world.server.fault(to, { kind: 'response_lost' });
  expect(await sendWithRetries(to)).toBe('accepted');
  expect(at(to)).toHaveLength(1);
});

describe('after a lost response, a message is not sent twice', () => {
  it.each([
    ['with other line ends', 'line one\r\nline two\r', 0],
    ['by a Mac whose clock is two minutes behind', 'Hello', -120_000],
    ['by a Mac whose clock is an hour ahead', 'Hello', 3_600_000],
  ])('%s', async (_name, text, clockAheadMs) => {
    world.server.clockAheadMs = clockAheadMs;
    const to = recipient();
    world.server.fault(to, { kind: 'response_lost' });
    expect(await sendWithRetries(to, { text })).toBe('accepted');
    expect(at(to)).toHaveLength(1);
  });

  it.each([
    ['three hours behind, and does not know it', -3 * 3_600_000, false],
    ['in another zone, and was set before it was asked', 11 * 3_600_000, true],
  ])('by a Mac whose clock was %s', async (_name, clockAheadMs, isSet) => {
    Object.assign(world.server, { clockAheadMs, knowsTime: isSet });
    const to = recipient();
    world.server.fault(to, { kind: 'response_lost' });
    const result = sendWithRetries(to, { text: 'Hello' }, () => {
      if (isSet) world.server.clockAheadMs = 0;
    });
    expect(await result).toBe('unknown');
    expect(at(to)).toHaveLength(1);
  });

  const late = new Date(Date.now() - 10 * 60_000);
  const reconcile = (to: string, text: string | null, fields: Partial<AttemptReference> = {}) =>
    world.carrier.reconcile(world.config, {
      attemptId: newId(),
      lineId: newId(),
      channel: 'imessage',
      from: null,
      to,
      text,
      attachmentCount: 0,
      takenIds: [],
      startedAt: late,
      startedBy: late,
      ...fields,
    });
  const listed = (to: string, fields: object) =>
    world.server.write(to, { isFromMe: true, dateCreated: late.getTime() + 1000, ...fields });

  it('if Messages has stored another text', async () => {
    const to = recipient();
    await listed(to, { text: 'Something that nobody has sent' });
    expect(await reconcile(to, 'Hello')).toEqual({ kind: 'unknown' });
    expect(await reconcile(recipient(), 'Hello')).toEqual({ kind: 'not_sent' });
  });

  it('if the list names the recipient without the country code, or not at all', async () => {
    const to = recipient();
    const chats = [{ guid: `iMessage;-;${to.slice(2)}` }];
    const { guid } = await listed(to, { text: 'Hello!', handle: null, chats });
    expect(await reconcile(to, 'Hello')).toEqual({ kind: 'accepted', carrierMessageId: guid });
    const another = recipient();
    await listed(another, { text: 'Hi', handle: null, chats: [] });
    expect(await reconcile(another, 'Hello')).toEqual({ kind: 'unknown' });
  });

  it('unless it is of somebody whose number only ends alike', async () => {
    const to = recipient();
    await listed(to.replace('+1415', '+1315'), { text: 'Hello' });
    expect(await reconcile(to, 'Hello')).toEqual({ kind: 'not_sent' });
  });

  it('with all its files', async () => {
    const [lost, refused, unsent] = [recipient(), recipient(), recipient()];
    world.server.fault(lost, { kind: 'file_response_lost' });
    world.server.fault(refused, { kind: 'file_refused' });
    world.server.fault(unsent, { kind: 'response_lost' });
    const file = { name: 'a.txt', url: 'https://files.example/a', contentType: null, voiceNote: false };
    const send = (to: string) =>
      world.carrier.send(world.config, outbound(world, to, { text: 'Hello', attachments: [file] }), never);
    const guidOf = (to: string) => at(to)[0]?.guid;
    expect(await send(refused)).toEqual({
      kind: 'refused',
      reason: 'only a part was sent: The file was refused',
      sentPart: guidOf(refused),
    });
    const since = { startedAt: new Date(), startedBy: new Date() };
    expect(await send(lost)).toMatchObject({ kind: 'unknown' });
    expect(await reconcile(lost, 'Hello', { ...since, attachmentCount: 1 })).toEqual({
      kind: 'accepted',
      carrierMessageId: guidOf(lost),
    });
    expect(await send(unsent)).toMatchObject({ kind: 'unknown' });
    expect(await reconcile(unsent, 'Hello', { ...since, attachmentCount: 1 })).toMatchObject({
      kind: 'unreachable',
    });
    const before = new Date(Date.now() - 23 * 60_000);
    const settled = { startedAt: before, startedBy: before, attachmentCount: 1 };
    expect(await reconcile(unsent, 'Hello', settled)).toEqual({ kind: 'unknown' });
  });

  it('but files, reactions and messages to groups are not it', async () => {
    const to = recipient();
    const attachments = [{ guid: 'A1', transferName: 'photo.png' }];
    await listed(to, { text: '\uFFFC', attachments });
    await listed(to, { text: 'Loved “Hi”', associatedMessageGuid: 'p:0/M1', associatedMessageType: 'love' });
    await listed(to, { text: 'Hello all', chats: [{ guid: 'iMessage;+;chat7' }] });
    expect(await reconcile(to, 'Hello')).toEqual({ kind: 'not_sent' });
  });
});

describe('without the Private API that its settings require', () => {
  it.each([
    ['its helper', { private_api: true }, 'iMessage Private API Helper is not connected!'],
    ['itself', { private_api: false }, 'iMessage Private API is not enabled!'],
  ])('the line is unhealthy, and its messages keep their place: %s', async (_name, info, reason) => {
    Object.assign(world.server.info, info);
    const config = { ...(world.config as object), method: 'private-api' };
    await expect(world.carrier.probe(config, newId())).rejects.toThrow(/Private API/);
    const file = { name: 'a.txt', url: 'https://files.example/a', contentType: null, voiceNote: false };
    for (const message of [{}, { text: '', attachments: [file] }]) {
      const sent = await world.carrier.send(config, outbound(world, recipient(), message), never);
      expect(sent).toEqual({ kind: 'transient', reason, ofLine: true });
    }
    await world.carrier.probe(world.config, newId());
  });

  it.each<[string, object, RegExp]>([
    ['other fields are unreadable', { private_api: true, detected_imessage: [] }, /helper/],
    ['only the helper is named', { private_api: undefined }, /helper/],
    ['nothing is named', { private_api: undefined, helper_connected: undefined }, /^$/],
    ['they are no truth values', { private_api: 'on', helper_connected: 1 }, /^$/],
  ])('the line is unhealthy only if the server says so: %s', async (_name, info, failure) => {
    Object.assign(world.server.info, info);
    const reason = await world.carrier
      .probe({ ...(world.config as object), method: 'private-api' }, newId())
      .then(() => '', String);
    expect(reason).toMatch(failure);
  });

  it('the line is healthy again once it is connected', async () => {
    Object.assign(world.server.info, { private_api: true, helper_connected: true });
    await world.carrier.probe({ ...(world.config as object), method: 'private-api' }, newId());
  });
});

const actOn = (to: string, action: MessageAction, config: unknown = world.config) => {
  const about = { id: newId(), lineId: newId(), channel: 'imessage', to, carrierMessageId: 'M1' } as const;
  return world.carrier.act?.(config, { ...about, action }, never);
};

test('what a proxy answers for is not done, and says nothing of the account', async () => {
  const front = await startFront(world.server.url);
  const config = { ...(world.config as object), url: front.url };
  const act = (action: MessageAction) => actOn(recipient(), action, config);
  const card = { kind: 'contact_card', firstName: 'Dana', lastName: 'Line' } as const;
  const page = '<title>Sign in</title>';
  for (const status of [200, 502]) {
    front.outage = { status, html: page };
    expect(await act(card)).toMatchObject({ kind: 'transient' });
  }
  front.outage = { status: 200, html: page };
  for (const action of [
    { kind: 'reaction', reaction: 'love', removed: false },
    { kind: 'typing', on: true },
    { kind: 'read' },
    { kind: 'edit', text: 'Hi' },
    { kind: 'unsend' },
  ] as const)
    expect(await act(action)).toMatchObject({ kind: 'unknown' });
  await front.close();
});

test('the card of the account in Messages is shared if it has the name of the line', async () => {
  Object.assign(world.server.info, { private_api: true, helper_connected: true });
  const to = recipient();
  const share = (lastName: string) => actOn(to, { kind: 'contact_card', firstName: 'Dana', lastName });
  const shared = () => world.server.done.filter(({ route }) => route === 'share contact');
  expect(await share('Other')).toEqual({
    kind: 'refused',
    reason: 'the account in Messages has another name',
  });
  expect(shared()).toEqual([]);
  expect(await share('Line')).toEqual({ kind: 'accepted' });
  expect(shared()).toMatchObject([{ guid: `iMessage;-;${to}` }]);
});

test('without the Private API nobody knows who is on iMessage, and messages are sent all the same', async () => {
  world.server.knowsReach = false;
  const to = recipient();
  expect(await world.carrier.checkAvailability(world.config, to)).toEqual({
    status: 'error',
    reason: 'iMessage Private API is not enabled!',
  });
  expect(await sendWithRetries(to)).toBe('accepted');
  expect(at(to)).toHaveLength(1);
});

test('a line on whose Mac nobody is signed in to Messages is unhealthy', async () => {
  world.server.info.detected_imessage = '';
  await expect(world.carrier.probe(world.config, newId())).rejects.toThrow('Nobody is signed in');
});

test('a first message that is only a file is sent with the Private API', async () => {
  Object.assign(world.server.info, { private_api: true, helper_connected: true });
  const to = recipient();
  world.server.stranger(to);
  const file = { name: 'a.txt', url: 'https://files.example/a', contentType: null, voiceNote: false };
  const config = { ...(world.config as object), method: 'private-api' };
  const message = outbound(world, to, { text: '', attachments: [file] });
  expect(await world.carrier.send(config, message, never)).toMatchObject({ kind: 'accepted' });
  expect(at(to).map(({ file: sent }) => sent?.name)).toEqual(['a.txt']);
});

test('a message leaves as a whole or not at all: its files are fetched first', async () => {
  const to = recipient();
  const file = (name: string) => ({
    name,
    url: `https://files.example/${name}`,
    contentType: null,
    voiceNote: false,
  });
  const message = outbound(world, to, { attachments: [file('a.txt'), file('absent')] });
  expect(await world.carrier.send(world.config, message, never)).toEqual({
    kind: 'transient',
    reason: 'an attachment could not be fetched: it is absent',
  });
  expect(at(to)).toEqual([]);
});

test.each([
  ['the only part', 'apple-script', '', 0],
  ['after its text', 'apple-script', 'Hello Ada', 1],
  ['with its text', 'private-api', 'Hello Ada', 0],
])('a file too large for a proxy fails no unsent message: %s', async (_what, method, text, sent) => {
  Object.assign(world.server.info, { private_api: true, helper_connected: true });
  const to = recipient();
  const proxy = createServer(async (incoming, answer) => {
    if (Number(incoming.headers['content-length'] ?? 0) > 100_000) {
      // It does not read the rest.
      answer.writeHead(413, { 'content-type': 'text/html', connection: 'close' });
      return answer.end('<html><h1>413 Request Entity Too Large</h1></html>');
    }
    const headers = { 'content-type': incoming.headers['content-type'] ?? '' };
    const body = incoming.method === 'GET' ? null : Buffer.concat(await incoming.toArray());
    const passed = await fetch(`${world.server.url}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers,
      body,
    });
    answer.writeHead(passed.status, { 'content-type': 'application/json' }).end(await passed.text());
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void proxy.close());
  await once(proxy, 'listening');
  const { port } = proxy.address() as AddressInfo;
  const config = { ...(world.config as object), url: `http://127.0.0.1:${port}`, method };
  const carrier = blueBubblesCarrier({
    fetchMedia: async () => ({ content: Buffer.alloc(20_000_000), contentType: 'video/mp4' }),
  });
  onTestFinished(() => carrier.close());
  const file = { name: 'a.mp4', url: 'https://files.example/a', contentType: null, voiceNote: false };
  const message = outbound(world, to, { text, attachments: [file] });
  const outcome = await carrier.send(carrier.config.parse(config), message, never);
  expect(outcome).toMatchObject({
    kind: sent > 0 ? 'refused' : 'transient',
    reason: expect.stringMatching(/too large .*\(413\)$/),
  });
  expect('sentPart' in outcome).toBe(sent > 0);
  expect(at(to)).toHaveLength(sent);
  const next = outbound(world, to, { text: 'Without a file' });
  expect(await carrier.send(carrier.config.parse(config), next, never)).toMatchObject({ kind: 'accepted' });
});

test('files are sent after the text, and a voice note is marked as one', async () => {
  const to = recipient();
  const file = {
    name: 'note.m4a',
    url: 'https://files.example/note',
    contentType: 'audio/mp4',
    voiceNote: true,
  };
  await world.carrier.send(world.config, outbound(world, to, { attachments: [file] }), never);
  expect(at(to).map(({ text, file: sent }) => [text, sent])).toEqual([
    ['Hello Ada', null],
    ['', { name: 'note.m4a', content: 'content of https://files.example/note', isAudioMessage: true }],
  ]);
});

test('a file with an effect opens a conversation without it, because only the Private API knows effects', async () => {
  Object.assign(world.server.info, { private_api: true, helper_connected: true });
  const config = { ...world.config, method: 'private-api' as const };
  const to = recipient();
  world.server.stranger(to);
  const file = { name: 'a.png', url: 'https://files.example/a', contentType: 'image/png', voiceNote: false };
  const message = outbound(world, to, { text: '', attachments: [file], effect: 'slam' });
  expect(await world.carrier.send(config, message, never)).toMatchObject({ kind: 'accepted' });
  expect(at(to)).toMatchObject([{ file: { name: 'a.png' }, effectId: null }]);
});

describe('the webhook of a server', () => {
  const read = (type: string, data: object) =>
    world.carrier.parseCallback(
      world.config,
      {
        url: world.callbacks?.url ?? '',
        headers: {},
        rawBody: JSON.stringify({ type, data }),
      },
      'tenant',
    );
  const chats = [{ guid: 'iMessage;-;+14155550123' }];
  const inbound = {
    guid: 'R1',
    text: 'Hi',
    isFromMe: false,
    itemType: 0,
    dateCreated: 1_750_000_000_000,
    handle: { address: '+14155550123' },
    chats,
  };

  it('is registered once, with the secret in its URL', async () => {
    const { carrier, config, callbacks } = world;
    const [address = ''] = callbacks?.url.split('?') ?? [];
    await carrier.configureInbound?.(config, newId(), address);
    expect(world.server.webhooks.map(({ url }) => url)).toEqual([callbacks?.url]);
  });

  it('is replaced if it does not report all that the line needs', async () => {
    const { carrier, config, callbacks } = world;
    const [callbackUrl = ''] = callbacks?.url.split('?') ?? [];
    const check = async () => (await connectionResults(world, callbackUrl))['callback'];
    const [webhook] = world.server.webhooks;
    if (!webhook) throw new Error('it is not registered');
    const needed = [...webhook.events];
    expect(await check()).toBe('pass');
    webhook.events = ['*'];
    expect(await check()).toBe('pass');
    webhook.events = ['updated-message', 'message-send-error'];
    expect(await check()).toBe('fail');
    await carrier.configureInbound?.(config, newId(), callbackUrl);
    expect(world.server.webhooks).toMatchObject([{ url: callbacks?.url, events: needed }]);
    expect(await check()).toBe('pass');
  });

  it('gives a repeated event the same id', async () => {
    world.server.repeats = 2;
    const to = recipient();
    await world.carrier.send(world.config, outbound(world, to), never);
    const guid = at(to)[0]?.guid ?? '';
    const about = () => (world.callbacks?.received ?? []).filter(({ rawBody }) => rawBody.includes(guid));
    await expect.poll(() => about().length).toBe(6);
    const read = (request: CallbackRequest) => world.carrier.parseCallback(world.config, request, 'tenant');
    const events = (await Promise.all(about().map(read))).flat();
    expect(events.map(({ kind, eventId }) => [kind, eventId])).toEqual([
      ['own_message', `${guid}:own`],
      ['own_message', `${guid}:own`],
      ['receipt', `${guid}:delivered`],
      ['receipt', `${guid}:delivered`],
    ]);
  });

  it('reports a reply with its files', async () => {
    const attachments = [{ guid: 'A1', mimeType: 'image/png', transferName: 'photo.png' }];
    const [event] = await read('new-message', {
      ...inbound,
      text: '\uFFFCLook',
      attachments,
      threadOriginatorGuid: 'M1',
    });
    const url = `${world.server.url}/api/v1/attachment/A1/download`;
    expect(event).toEqual({
      kind: 'reply',
      eventId: 'R1',
      carrierMessageId: 'R1',
      at: new Date(1_750_000_000_000),
      from: '+14155550123',
      text: 'Look',
      attachments: [{ name: 'photo.png', contentType: 'image/png', url }],
      replyTo: 'M1',
      autoReply: false,
    });
    const media = await world.carrier.openMedia(world.config, url, never);
    expect(media.contentType).toBe('image/png');
    expect(await readText(media.body)).toBe('the file A1');
    await expect(world.carrier.openMedia(world.config, 'http://169.254.169.254/', never)).rejects.toThrow(
      'addresses',
    );
  });

  it('reports a reply with a file whose id is not valid Unicode', async () => {
    const [event] = await read('new-message', { ...inbound, attachments: [{ guid: 'A\ud800' }] });
    expect(event).toMatchObject({
      attachments: [{ url: `${world.server.url}/api/v1/attachment/A%EF%BF%BD/download` }],
    });
  });

  it.each([
    ['love', 'love', false],
    ['-laugh', 'laugh', true],
    [2001, 'like', false],
    ['3005', 'question', true],
    ['sticker', 'sticker', false],
    ['2007', 'sticker', false],
  ])('reports the reaction %s', async (associatedMessageType, reaction, removed) => {
    const data = { ...inbound, associatedMessageGuid: 'p:0/M1', associatedMessageType };
    expect(await read('new-message', data)).toMatchObject([
      { kind: 'reaction', carrierMessageId: 'M1', reaction, removed, from: '+14155550123' },
    ]);
  });

  it.each([
    ['2006', { text: 'Reacted 🔥 to “Hello 👍”' }, '🔥', false],
    ['3006', { text: 'Removed 👨‍👩‍👧 from “Hello”' }, '👨‍👩‍👧', true],
    ['emoji', { text: null, associatedMessageEmoji: '👀' }, '👀', false],
    [2006, { text: 'Reagierte mit ❤️‍🔥 auf „Hallo 👍“' }, '❤️‍🔥', false],
  ])('reports a reaction with any emoji: %s %j', async (associatedMessageType, fields, emoji, removed) => {
    const data = { ...inbound, associatedMessageGuid: 'p:0/M1', associatedMessageType, ...fields };
    expect(await read('new-message', data)).toMatchObject([
      { kind: 'reaction', carrierMessageId: 'M1', reaction: 'emoji', emoji, removed },
    ]);
  });

  it.each([
    ['p:0/M1', undefined],
    ['p:2/M1', 2],
    ['bp:M1', undefined],
    ['M1', undefined],
    ['p:4294967296/M1', undefined],
  ])('reports to which part of a message a reaction is: %s', async (associatedMessageGuid, part) => {
    const data = { ...inbound, associatedMessageGuid, associatedMessageType: 'love' };
    const [event] = await read('new-message', data);
    expect(event).toMatchObject({ kind: 'reaction', carrierMessageId: 'M1' });
    expect(event && 'part' in event ? event.part : undefined).toBe(part);
  });

  it('reports receipts, reads and errors of sent messages', async () => {
    const ours = {
      guid: 'M1',
      isFromMe: true,
      dateDelivered: 1_750_000_000_000,
      dateRead: 1_750_000_005_000,
    };
    expect(await read('updated-message', ours)).toMatchObject([
      { kind: 'receipt', status: 'delivered', carrierMessageId: 'M1' },
      { kind: 'read', carrierMessageId: 'M1', at: new Date(1_750_000_005_000) },
    ]);
    const failed = { guid: 'M1', isFromMe: true, error: 22 };
    expect(await read('message-send-error', { ...failed, error: 3 })).toMatchObject([
      { kind: 'receipt', status: 'failed', reason: 'iMessage error 3' },
    ]);
    expect(await read('message-send-error', { ...failed, error: 4 })).toEqual([]);
  });

  it('reports later what the server also responds: that the recipient is not on iMessage', async () => {
    const failed = { guid: 'M1', isFromMe: true, error: 22 };
    expect(await read('message-send-error', failed)).toMatchObject([
      { kind: 'receipt', status: 'failed', unavailable: true, reason: 'not on iMessage' },
    ]);
  });

  it('reports a delivery without a time', async () => {
    const ours = { guid: 'M1', isFromMe: true, isDelivered: true, dateDelivered: null };
    expect(await read('updated-message', ours)).toMatchObject([
      { kind: 'receipt', status: 'delivered', eventId: 'M1:delivered', carrierMessageId: 'M1' },
    ]);
  });

  it('reports a message without a sender as written by the contact of its conversation', async () => {
    expect(await read('new-message', { ...inbound, handle: null })).toMatchObject([
      { kind: 'reply', from: '+14155550123', text: 'Hi' },
    ]);
    const group = { ...inbound, handle: null, chats: [{ guid: 'iMessage;+;chat42' }] };
    expect(await read('new-message', group)).toEqual([]);
  });

  it('reports a reply again when it changes, under the same id', async () => {
    const [first, again] = [await read('new-message', inbound), await read('updated-message', inbound)];
    expect(first).toMatchObject([{ kind: 'reply', eventId: 'R1' }]);
    expect(again).toEqual(first);
  });

  it.each<[string, object]>([
    ['a null for a number', { itemType: null, error: null, partCount: null }],
    ['numbers as texts', { itemType: '0', error: '0', dateCreated: '1750000000000' }],
    ['times in another form', { dateCreated: '2025-06-15', dateEdited: 'no', dateRead: {} }],
    ['a direction as a number', { isFromMe: 0 }],
    ['no direction', { isFromMe: null }],
    ['a list in place of a handle', { handle: [{ address: '+1' }] }],
    ['a handle without an address', { handle: { address: null } }],
    ['an object in place of lists', { attachments: { guid: 'A1' }, handle: { address: '+14155550123' } }],
    ['entries of lists that are nothing', { attachments: [null, {}], chats: [null, ...chats] }],
    ['a handle as other programs write it', { handle: { address: 'tel:+14155550123' } }],
    ['unexpected fields', { subject: 3, threadOriginatorGuid: [], balloonBundleId: 5, isAutoReply: 'no' }],
    ['a reaction of no kind', { associatedMessageGuid: 'p:0/M1', associatedMessageType: {} }],
    ['no reaction, as a text', { associatedMessageGuid: 'p:0/M1', associatedMessageType: '0' }],
  ])('loses nothing that a contact wrote because of %s', async (_name, fields) => {
    expect(await read('new-message', { ...inbound, text: 'STOP', ...fields })).toMatchObject([
      { kind: 'reply', from: '+14155550123', text: 'STOP', autoReply: false },
    ]);
  });

  it('reports edits, and the end of a message', async () => {
    const dateEdited = 1_750_000_060_000;
    expect(await read('updated-message', { ...inbound, text: 'Hi!', dateEdited })).toMatchObject([
      { kind: 'reply', eventId: 'R1', text: 'Hi!' },
      { kind: 'edited', eventId: `R1:edited:${dateEdited}`, carrierMessageId: 'R1', text: 'Hi!' },
    ]);
    const gone = { kind: 'unsent', eventId: 'R1:unsent', carrierMessageId: 'R1', at: new Date(dateEdited) };
    for (const fields of [{ partCount: 0 }, { text: '' }, { text: null, dateRetracted: 1 }])
      expect(await read('updated-message', { ...inbound, dateEdited, ...fields })).toEqual([gone]);
    expect(await read('updated-message', { ...inbound, partCount: 1, dateEdited: null })).toMatchObject([
      { kind: 'reply' },
    ]);
  });

  it('reports what was sent from the phone or the Mac, unless it is old or has our reference', async () => {
    const own = { ...inbound, isFromMe: true, dateCreated: Date.now(), handle: null };
    const event = { kind: 'own_message', eventId: 'R1:own', to: '+14155550123', text: 'Hi', fileNames: [] };
    expect(await read('new-message', own)).toMatchObject([event]);
    const group = { id: 'iMessage;+;chat9', participants: ['+14155550123', '+14155550177'] };
    const participants = group.participants.map((address) => ({ address }));
    expect(await read('new-message', { ...own, chats: [{ guid: group.id, participants }] })).toMatchObject([
      { ...event, to: group.id, group },
    ]);
    const delivered = { ...own, dateDelivered: Date.now() };
    expect((await read('updated-message', delivered)).map(({ kind }) => kind)).toEqual(['receipt']);
    for (const fields of [{ tempGuid: newId() }, { dateCreated: Date.now() - 86_400_000 }, { error: 22 }])
      expect((await read('new-message', { ...own, ...fields })).map(({ kind }) => kind)).not.toContain(
        'own_message',
      );
  });

  it('reports the subject as a part of the text', async () => {
    expect(await read('new-message', { ...inbound, subject: 'STOP', text: null })).toMatchObject([
      { text: 'STOP' },
    ]);
    expect(await read('new-message', { ...inbound, subject: ' Hello ', text: 'Hi' })).toMatchObject([
      { text: 'Hello\nHi' },
    ]);
  });

  it('reports what is written to a group as such', async () => {
    const guid = 'iMessage;+;chat42';
    const participants = [{ address: '+14155550123' }, { address: 'ada@example.com' }];
    const chats = [{ guid, displayName: 'Family', participants }];
    const from = '+14155550123';
    expect(await read('new-message', { ...inbound, text: 'STOP', chats })).toMatchObject([
      {
        kind: 'reply',
        from,
        text: 'STOP',
        group: { id: guid, name: 'Family', participants: [from, 'ada@example.com'] },
      },
    ]);
    const unnamed = { ...inbound, chats: [{ guid, displayName: '' }] };
    expect(await read('new-message', unnamed)).toMatchObject([{ group: { id: guid, participants: [] } }]);
  });

  it('reports no files that a phone has added', async () => {
    const attachments = [
      { guid: 'A1', transferName: 'photo.png' },
      { guid: 'A2', transferName: '0F2B.pluginPayloadAttachment' },
      { guid: 'A3', transferName: 'hidden.dat', hideAttachment: true },
    ];
    expect(await read('new-message', { ...inbound, attachments })).toMatchObject([
      { attachments: [{ name: 'photo.png' }] },
    ]);
    const balloonBundleId = 'com.apple.messages.URLBalloonProvider';
    const preview = { ...inbound, text: 'https://a.example', balloonBundleId, attachments };
    expect(await read('new-message', preview)).toMatchObject([
      { text: 'https://a.example', attachments: [] },
    ]);
  });

  it.each([true, false])('asks whether a message was written automatically: %s', async (isAutoReply) => {
    const { guid } = await world.server.write(recipient(), { text: 'I am driving', isAutoReply });
    const { received } = world.callbacks ?? { received: [] };
    const call = received.find(({ rawBody }) => rawBody.includes(guid));
    expect(JSON.parse(call?.rawBody ?? '').data).not.toHaveProperty('isAutoReply');
    const { data } = JSON.parse(call?.rawBody ?? '');
    expect(await read('new-message', data)).toMatchObject([{ kind: 'reply', autoReply: isAutoReply }]);
  });

  it.each([true, false])('reports that a contact types: %s', async (display) => {
    const contacts = { iMessage: '+14155550123', any: 'ada@example.test' };
    for (const [service, from] of Object.entries(contacts))
      expect(await read('typing-indicator', { display, guid: `${service};-;${from}` })).toMatchObject([
        { kind: 'typing', from, isOn: display },
      ]);
  });

  it.each([
    ['a member who joined', 'new-message', { ...inbound, itemType: 1 }],
    [
      'an unknown reaction',
      'new-message',
      { ...inbound, associatedMessageGuid: 'p:0/M1', associatedMessageType: 'wave' },
    ],
    ['somebody who types in a group', 'typing-indicator', { display: true, guid: 'iMessage;+;chat1' }],
    ['typing without a contact', 'typing-indicator', { display: true }],
  ])('reports no event for %s', async (_name, type, data) => {
    expect(await read(type, data)).toEqual([]);
  });
});

test('reads what is new also where more messages of the last days come before it than a batch has', async () => {
  const day = 86_400_000;
  const now = Date.now();
  for (let index = 0; index < 2300; index += 1)
    await world.server.write(recipient(), { text: `Old ${index}`, dateCreated: now - 2 * day + index });
  await world.server.write(recipient(), { text: 'New', dateCreated: now });
  const read = async (position: string) => {
    const batch = await world.carrier.readInbox?.(world.config, position, 'tenant');
    if (!batch) throw new Error('the line has no inbox');
    return batch;
  };
  let position = `${now - 10 * day}-${now - day}`;
  const texts = new Set<string>();
  let batches = 0;
  for (let more = true; more && batches < 10; batches += 1) {
    const unstored = await read(position);
    const batch = await read(position);
    // What was not stored is read again.
    expect(batch.read).toEqual(unstored.read);
    for (const { events } of batch.read)
      for (const event of events) if (event.kind === 'reply') texts.add(event.text);
    position = batch.read.at(-1)?.position ?? position;
    batch.stored?.();
    ({ more } = batch);
  }
  expect([texts.size, texts.has('New'), batches]).toEqual([2301, true, 3]);
  // The next one begins anew, half an hour before the last message.
  expect((await read(position)).read).toHaveLength(1);
});
