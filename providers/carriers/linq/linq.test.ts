import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import type { MessageAction } from '#domain/messages/message-action.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import { connectionResults, LINE_ID, outbound } from '#test/conformance/carrier-worlds.ts';
import { type LinqWorld, linqWorld } from '#test/conformance/http-carrier-worlds.ts';
import { startFront } from '#test/support/front.ts';
import { linqCarrier } from './linq.ts';

let world: LinqWorld;
beforeAll(async () => {
  world = await linqWorld();
});
afterAll(() => world.stop());

const never = new AbortController().signal;
let recipients = 0;
const recipient = (): string => `+1415556${String((recipients += 1)).padStart(4, '0')}`;
const send = (to: string, fields: Parameters<typeof outbound>[2] = {}): Promise<SendOutcome> =>
  world.carrier.send(world.config, outbound(world, to, fields), never);
const sentTo = (number: string) => world.linq.sent.filter(({ to }) => to === number);

/** What is about the recipient or the text ends the message; what is about the account or the number, the line waits for. */
const ERRORS: [code: number, status: number, outcome: SendOutcome['kind'] | 'line'][] = [
  [1002, 400, 'refused'],
  [1007, 429, 'line'],
  [2001, 404, 'transient'],
  [2004, 401, 'line'],
  [2006, 403, 'line'],
  [4002, 400, 'line'],
  [4005, 400, 'unavailable'],
  [5007, 400, 'refused'],
  [9999, 400, 'refused'],
  [3001, 500, 'unknown'],
];

test.each(ERRORS)('sorts the error %i with status %i: %s', async (code, status, kind) => {
  const to = recipient();
  world.linq.fault(to, { kind: 'error', status, code, message: 'Why not' });
  const outcome = await send(to);
  expect(outcome.kind).toBe(kind === 'line' ? 'transient' : kind);
  expect('ofLine' in outcome).toBe(kind === 'line');
  expect(outcome).toMatchObject({ reason: expect.stringContaining(`${code}: Why not`) });
  expect('retryAfterMs' in outcome && outcome.retryAfterMs).toBe(status === 429 && 7000);
});

test('a response that is lost once is asked for again with the key, and the message taken once', async () => {
  const to = recipient();
  world.linq.fault(to, { kind: 'response_lost', times: 1 });
  const outcome = await send(to);
  expect(sentTo(to)).toHaveLength(1);
  expect(outcome).toEqual({
    kind: 'accepted',
    carrierMessageId: sentTo(to)[0]?.id,
    transport: 'imessage',
  });
});

test('nothing is sent to who has opted out at Linq, which would send it', async () => {
  const to = recipient();
  await send(to);
  world.linq.optedOut.add(to);
  expect(await send(to)).toMatchObject({ kind: 'refused', optedOut: true });
  world.linq.optedOut.delete(to);
  expect(await send(to)).toMatchObject({ kind: 'accepted' });
  expect(sentTo(to)).toHaveLength(2);
});

test('the second message to a contact is of the same chat, with its files, effect and what it answers', async () => {
  const to = recipient();
  await send(to);
  const url = 'https://files.example/a.png';
  const attachments = [{ name: 'a.png', url, contentType: 'image/png', voiceNote: false }];
  expect(await send(to, { attachments, replyTo: 'M1', effect: 'invisible_ink' })).toMatchObject({
    kind: 'accepted',
  });
  const [first, second] = sentTo(to);
  expect(second).toMatchObject({
    chatId: first?.chatId,
    text: 'Hello Ada',
    media: [url],
    replyTo: 'M1',
    effect: { type: 'bubble', name: 'invisible' },
    preferredService: 'iMessage',
  });
});

const actOn = (
  { to, id }: { to: string; id: string | null },
  action: MessageAction,
  { act } = world.carrier,
) =>
  act?.(
    world.config,
    { id: newId(), lineId: LINE_ID, channel: 'imessage', to, carrierMessageId: id, action },
    never,
  );

test('reacts, types, reads and edits, and says what Linq cannot', async () => {
  const to = recipient();
  let id = 'M1';
  const act = (action: MessageAction) => actOn({ to, id }, action);
  expect(await act({ kind: 'read' })).toMatchObject({ kind: 'refused' });
  await send(to);
  const [message] = sentTo(to);
  id = message?.id ?? '';
  const fire = { kind: 'reaction', reaction: 'emoji', emoji: '🔥', removed: false } as const;
  for (const action of [
    fire,
    { ...fire, removed: true },
    { kind: 'typing', on: true },
    { kind: 'typing', on: false },
    { kind: 'read' },
    { kind: 'edit', text: 'Hi' },
  ] as const)
    expect(await act(action)).toEqual({ kind: 'accepted' });
  const chat = `/v3/chats/${message?.chatId}`;
  expect(world.linq.actions).toMatchObject([
    { path: `/v3/messages/${id}/reactions`, body: { operation: 'add', type: 'custom', custom_emoji: '🔥' } },
    { path: `/v3/messages/${id}/reactions`, body: { operation: 'remove', type: 'custom' } },
    { method: 'POST', path: `${chat}/typing` },
    { method: 'DELETE', path: `${chat}/typing` },
    { method: 'POST', path: `${chat}/read` },
    { method: 'PATCH', path: `/v3/messages/${id}`, body: { text: 'Hi' } },
  ]);
  expect(await act({ kind: 'unsend' })).toMatchObject({ kind: 'refused' });
});

const shareCard = (to: string, carrier = world.carrier, card: object = {}) =>
  actOn({ to, id: null }, { kind: 'contact_card', firstName: 'Dana', lastName: 'Line', ...card }, carrier);

test('what somebody else answers for is not done, and a card not shared yet', async () => {
  const to = recipient();
  await send(to);
  const id = sentTo(to)[0]?.id ?? '';
  const front = await startFront(world.linq.url);
  const carrier = linqCarrier({ baseUrl: front.url, timeoutMs: 1000 });
  const page = '<title>Sign in</title>';
  for (const refusal of [
    { status: 200, body: {} },
    { status: 200, body: page },
    { status: 502, body: page },
  ]) {
    front.refusal = refusal;
    const before = front.posts;
    expect(await shareCard(to, carrier)).toMatchObject({ kind: 'transient' });
    expect(front.posts).toBe(before + 1);
  }
  front.refusal = { status: 200, body: page };
  for (const action of [
    { kind: 'reaction', reaction: 'love', removed: false },
    { kind: 'typing', on: true },
    { kind: 'read' },
  ] as const)
    expect(await actOn({ to, id }, action, carrier)).toMatchObject({ kind: 'unknown' });
  await front.close();
});

test('the number gets the card of the line before it is shared, and then its changes', async () => {
  const to = recipient();
  await send(to);
  const share = (card: object) => shareCard(to, world.carrier, card);
  const before = world.linq.actions.length;
  expect(await share({})).toEqual({ kind: 'accepted' });
  expect(await share({ photoUrl: 'https://line.example/dana.png' })).toEqual({ kind: 'accepted' });
  expect(await share({ photoUrl: 'https://line.example/dana.png' })).toEqual({ kind: 'accepted' });
  const path = '/v3/contact_card';
  const shared = { method: 'POST', path: `/v3/chats/${sentTo(to)[0]?.chatId}/share_contact_card` };
  expect(world.linq.actions.slice(before)).toMatchObject([
    { method: 'POST', path, body: { first_name: 'Dana', last_name: 'Line', phone_number: '+14155550111' } },
    shared,
    { method: 'PATCH', path, body: { image_url: 'https://line.example/dana.png' } },
    shared,
    shared,
  ]);
});

/** What a webhook tells. */
const told = (type: string, data: object) =>
  world.carrier.parseCallback(
    world.config,
    {
      url: 'https://linepace.example/?secret=a-secret-of-the-line',
      headers: {},
      rawBody: JSON.stringify({ event_id: 'E1', event_type: type, data }),
    },
    'tenant',
  );

test('failures that are reported later have their reason, and mean what they would have meant at once', async () => {
  const failed = { kind: 'receipt', status: 'failed', carrierMessageId: 'M2' };
  const failure = async (code: number) =>
    told('message.failed', { message_id: 'M2', code, reason: 'Why not' });
  expect(await failure(4001)).toMatchObject([{ ...failed, reason: '4001: Why not' }]);
  expect(await failure(4005)).toMatchObject([{ ...failed, unavailable: true }]);
  expect(await failure(4002)).toMatchObject([{ ...failed, ofLine: true }]);
  expect(await told('message.sent', { id: 'M2' })).toEqual([]);
});

test('a receipt says how the message has travelled, which may differ from what Linq responded', async () => {
  const outbound = { id: 'M4', direction: 'outbound', idempotency_key: 'K' };
  for (const [service, transport] of [
    ['iMessage', 'imessage'],
    ['RCS', 'rcs'],
    ['SMS', 'sms'],
  ] as const) {
    expect(await told('message.delivered', { ...outbound, service })).toMatchObject([
      { kind: 'receipt', status: 'delivered', transport },
    ]);
    expect(await told('message.read', { ...outbound, service })).toMatchObject([{ kind: 'read', transport }]);
  }
});

test('a message of a contact has its files and what it answers, and is of the line’s own number', async () => {
  const message = {
    id: 'M3',
    chat: { id: 'C1', is_group: false, owner_handle: { handle: '+14155550111' } },
    direction: 'inbound',
    sender_handle: { handle: '+14155550123' },
    parts: [
      { type: 'text', value: 'Hi' },
      { type: 'media', url: 'https://storage.example/x', filename: 'photo.heic', mime_type: 'image/heic' },
    ],
  };
  const reply = { kind: 'reply', from: '+14155550123', text: 'Hi' };
  expect(await told('message.received', { ...message, reply_to: { message_id: 'M1' } })).toMatchObject([
    { ...reply, replyTo: 'M1', attachments: [{ name: 'photo.heic', contentType: 'image/heic' }] },
  ]);
  const other = { ...message.chat, owner_handle: { handle: '+14155550112' } };
  expect(await told('message.received', { ...message, chat: other })).toEqual([]);
  const app = { type: 'imessage_app', url: 'data:,', layout: {}, app: { bundle_id: 'game' } };
  expect(await told('message.received', { ...message, parts: [app] })).toEqual([]);
  expect(
    await told('message.received', { ...message, parts: [{ ...app, fallback_text: 'Your turn' }] }),
  ).toMatchObject([{ kind: 'reply', text: 'Your turn', attachments: [] }]);
  const group = { ...message.chat, id: 'C2', is_group: true };
  expect(await told('message.received', { ...message, chat: group })).toMatchObject([
    { ...reply, group: { id: 'C2', participants: [] } },
  ]);
  expect(await told('message.sent', { ...message, direction: 'outbound', chat: group })).toMatchObject([
    { kind: 'own_message', to: 'C2', group: { id: 'C2', participants: [] } },
  ]);
  const edit = { ...message, part: { index: 0, text: 'Hello' } };
  expect(await told('message.edited', edit)).toMatchObject([{ kind: 'edited', text: 'Hello' }]);
  const reaction = { message_id: 'M1', is_from_me: false, from_handle: { handle: '+14155550123' } };
  const bare = { ...reaction, from_handle: undefined, from: '+14155550123', reaction_type: 'like' };
  expect(await told('reaction.added', bare)).toMatchObject([{ from: '+14155550123', reaction: 'like' }]);
  expect(await told('reaction.added', { ...reaction, reaction_type: 'love' })).toMatchObject([
    { kind: 'reaction', reaction: 'love', removed: false },
  ]);
  expect(
    await told('reaction.removed', { ...reaction, reaction_type: 'custom', custom_emoji: '🔥' }),
  ).toMatchObject([{ kind: 'reaction', reaction: 'emoji', emoji: '🔥', removed: true }]);
  const [toFirst, toSecond] = await Promise.all(
    [0, 1].map((part_index) => told('reaction.added', { ...reaction, reaction_type: 'love', part_index })),
  );
  expect([toFirst?.[0], toSecond?.[0]].map((event) => event && 'part' in event && event.part)).toEqual([
    false,
    1,
  ]);
});

test('the contact of a chat types', async () => {
  const to = recipient();
  await send(to);
  const chatId = sentTo(to)[0]?.chatId;
  for (const [type, isOn] of [
    ['started', true],
    ['stopped', false],
  ] as const)
    expect(await told(`chat.typing_indicator.${type}`, { chat_id: chatId })).toMatchObject([
      { kind: 'typing', from: to, isOn },
    ]);
  expect(await told('chat.typing_indicator.started', { chat_id: 'unknown' })).toEqual([]);
});

test('an edit of one part of a message keeps the others', async () => {
  const media = { type: 'media', url: 'https://storage.example/x', filename: 'photo.heic' };
  const edit = (text: string) => ({
    id: 'M9',
    chat: { id: 'C1', is_group: false },
    direction: 'inbound',
    sender_handle: { handle: '+14155550123' },
    part: { index: 2, text },
  });
  expect(await told('message.edited', edit('Stop'))).toMatchObject([{ kind: 'edited', text: 'Stop' }]);
  const parts = (last: string) => [{ type: 'text', value: 'Before' }, media, { type: 'text', value: last }];
  // Linq may show the message as it was, or as it is.
  for (const last of ['After', 'Afterwards']) {
    world.linq.written.set('M9', parts(last));
    expect(await told('message.edited', edit('Afterwards'))).toMatchObject([
      { kind: 'edited', eventId: 'E1', carrierMessageId: 'M9', text: 'Before\nAfterwards' },
    ]);
  }
});

const WRITTEN = {
  id: 'M5',
  chat: { id: 'C1', is_group: false, owner_handle: { handle: '+14155550111' } },
  direction: 'inbound',
  sender_handle: { handle: '+14155550123' },
  parts: [{ type: 'text', value: 'STOP' }],
};

test.each<[string, object]>([
  ['no chat', { chat: null }],
  ['a chat in another form', { chat: 'C1' }],
  ['no direction', { direction: undefined }],
  ['parts that are nothing', { parts: [null, 'x', { type: 'text', value: 'STOP' }] }],
  ['unexpected fields', { reply_to: 'M1', effect: 3, idempotency_key: {} }],
])('loses nothing that a contact wrote because of %s', async (_name, fields) => {
  expect(await told('message.received', { ...WRITTEN, ...fields })).toMatchObject([
    { kind: 'reply', from: '+14155550123', text: 'STOP' },
  ]);
});

const callbackCheck = async (callbackUrl: string) =>
  (await connectionResults(world, callbackUrl))['callback'];

test('the callback URL is registered once, for the messages of the number', async () => {
  const url = 'https://linepace.example/callbacks/carriers/linq/1';
  const before = world.linq.subscriptions.length;
  await world.carrier.configureInbound?.(world.config, 'L1', url);
  await world.carrier.configureInbound?.(world.config, 'L1', url);
  expect(world.linq.subscriptions.slice(before)).toMatchObject([
    { url: `${url}?secret=a-secret-of-the-line&version=2026-02-03`, numbers: ['+14155550111'] },
  ]);

  const { subscriptions } = world.linq;
  const [own] = subscriptions.slice(before);
  if (!own) throw new Error('it is not registered');
  expect(await callbackCheck(url)).toBe('pass');
  for (const flaw of [
    { isActive: false },
    { events: ['message.delivered', 'message.read', 'message.failed'] },
    { numbers: ['+14155550112'] },
  ]) {
    Object.assign(own, flaw);
    expect(await callbackCheck(url)).toBe('fail');
    await world.carrier.configureInbound?.(world.config, 'L1', url);
    expect(await callbackCheck(url)).toBe('pass');
  }
  own.numbers = [];
  expect(await callbackCheck(url)).toBe('pass');
  const moved = url.replace('linepace.example', 'moved.example');
  await world.carrier.configureInbound?.(world.config, 'L1', moved);
  expect(await callbackCheck(moved)).toBe('pass');
  expect(subscriptions).toHaveLength(before + 1);

  world.linq.numbers.clear();
  await expect(world.carrier.probe(world.config, 'L1')).rejects.toThrow('no number');
  world.linq.numbers.add('+14155550111');
});
