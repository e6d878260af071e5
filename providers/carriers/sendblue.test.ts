import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import type { MessageAction } from '#domain/messages/message-action.ts';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import { connectionResults, LINE_ID, outbound } from '#test/conformance/carrier-worlds.ts';
import { type SendblueWorld, sendblueWorld } from '#test/conformance/http-carrier-worlds.ts';

let world: SendblueWorld;
beforeAll(async () => {
  world = await sendblueWorld();
});
afterAll(() => world.stop());

const never = new AbortController().signal;
let recipients = 0;
const recipient = (): string => `+1415556${String((recipients += 1)).padStart(4, '0')}`;
const send = (to: string, fields: Parameters<typeof outbound>[2] = {}): Promise<SendOutcome> =>
  world.carrier.send(world.config, outbound(world, to, fields), never);

/** What is about the recipient or the text ends the message; what is about the account or the number, the line waits for. */
const ERRORS: [
  code: number | null,
  status: number,
  message: string,
  outcome: SendOutcome['kind'] | 'line',
][] = [
  [4000, 400, 'Validation error', 'refused'],
  [4001, 429, 'Rate limit exceeded', 'line'],
  [4002, 400, 'Blacklisted number', 'refused'],
  [5000, 500, 'Internal error', 'unknown'],
  [5000, 400, 'Internal error', 'unknown'],
  [5003, 400, 'Server rate exceeded', 'line'],
  [10001, 400, 'Message failed to send', 'refused'],
  [null, 400, 'The from_number is not registered', 'line'],
  [null, 401, 'Unauthorized', 'line'],
  [null, 400, 'The content is too long', 'refused'],
];

test.each(ERRORS)('sorts the error %s with status %i “%s”: %s', async (code, status, message, kind) => {
  const to = recipient();
  world.sendblue.fault(to, { kind: 'error', status, code, message });
  const outcome = await send(to);
  expect(outcome.kind).toBe(kind === 'line' ? 'transient' : kind);
  expect('ofLine' in outcome).toBe(kind === 'line');
  expect(outcome).toMatchObject({ reason: expect.stringContaining(message) });
});

test('a message answers another, has an effect, and several files are as many messages', async () => {
  const to = recipient();
  const file = (name: string) => ({
    name,
    url: `https://files.example/${name}`,
    contentType: 'image/png',
    voiceNote: false,
  });
  const attachments = [file('a.png'), file('b.png')];
  const outcome = await send(to, { attachments, replyTo: 'H1', effect: 'invisible_ink' });
  const sent = world.sendblue.sent.filter(({ number }) => number === to);
  expect(sent).toMatchObject([
    { mediaUrl: 'https://files.example/a.png', sendStyle: 'invisible', replyTo: 'H1', content: 'Hello Ada' },
    { mediaUrl: 'https://files.example/b.png', sendStyle: '', replyTo: null, content: '' },
  ]);
  expect(outcome).toEqual({
    kind: 'accepted',
    carrierMessageId: sent[0]?.handle,
    transport: 'imessage',
  });

  const partly = recipient();
  world.sendblue.fault(partly, { kind: 'file_refused' });
  const refused = await send(partly, { attachments });
  const [first] = world.sendblue.sent.filter(({ number }) => number === partly);
  expect(refused).toMatchObject({ kind: 'refused', sentPart: first?.handle });
});

const act = (action: MessageAction, carrierMessageId: string | null = 'H1') =>
  world.carrier.act?.(
    world.config,
    { id: newId(), lineId: LINE_ID, channel: 'imessage', to: '+14155550100', carrierMessageId, action },
    never,
  );

test('reacts, types and reads, and says what Sendblue cannot', async () => {
  const reaction = { kind: 'reaction', reaction: 'love', removed: false } as const;
  expect(await act(reaction)).toEqual({ kind: 'accepted' });
  expect(await act({ kind: 'typing', on: true }, null)).toEqual({ kind: 'accepted' });
  expect(await act({ kind: 'typing', on: false }, null)).toEqual({ kind: 'accepted' });
  expect(await act({ kind: 'read' })).toEqual({ kind: 'accepted' });
  expect(world.sendblue.actions).toEqual([
    { kind: 'reaction', handle: 'H1', reaction: 'love' },
    { kind: 'typing', number: '+14155550100', state: 'start' },
    { kind: 'typing', number: '+14155550100', state: 'stop' },
    { kind: 'read', number: '+14155550100' },
  ]);
  expect(await act({ ...reaction, removed: true })).toMatchObject({ kind: 'refused' });
  expect(await act({ kind: 'unsend' })).toMatchObject({ kind: 'refused' });
});

/** What a webhook tells. */
const told = (body: object) =>
  world.carrier.parseCallback(
    world.config,
    {
      url: 'https://linepace.example/?secret=a-secret-of-the-line',
      headers: {},
      rawBody: JSON.stringify({ message_handle: 'H2', ...body }),
    },
    'tenant',
  );

test('a receipt says that a message went as an SMS after all', async () => {
  const status = { is_outbound: true, status: 'DELIVERED', service: 'SMS', was_downgraded: true };
  expect(await told(status)).toMatchObject([{ kind: 'receipt', status: 'delivered', transport: 'sms' }]);
});

test('failures that are reported later have their reason, and other statuses say nothing', async () => {
  const status = { is_outbound: true, status: 'ERROR' };
  const failed = { kind: 'receipt', status: 'failed', carrierMessageId: 'H2' };
  expect(await told({ ...status, error_code: 10001, error_message: 'Message failed to send' })).toMatchObject(
    [{ ...failed, reason: '10001: Message failed to send' }],
  );
  expect(await told({ ...status, error_code: 4001 })).toMatchObject([{ ...failed, ofLine: true }]);
  expect(await told({ ...status, opted_out: true })).toMatchObject([{ ...failed, optedOut: true }]);
  const unregistered = 'The from_number is not registered';
  expect(await told({ ...status, error_message: unregistered })).toMatchObject([
    { ...failed, reason: unregistered, ofLine: true },
  ]);
  const [spam] = await told({ ...status, error_message: 'Rejected by the recipient' });
  expect(spam).not.toHaveProperty('ofLine');
  for (const other of ['QUEUED', 'SENT', 'PENDING', 'ACCEPTED'])
    expect(await told({ is_outbound: true, status: other })).toEqual([]);
});

test('a message that was read was delivered, each once', async () => {
  const own = { is_outbound: true, number: '+14155550123', from_number: '+14155550111' };
  const [delivered] = await told({ ...own, status: 'DELIVERED' });
  expect(await told({ ...own, status: 'READ' })).toMatchObject([
    { kind: 'receipt', status: 'delivered', eventId: delivered?.eventId },
    { kind: 'read', carrierMessageId: 'H2' },
  ]);
});

test('a contact types on the line’s own number', async () => {
  const typing = { number: '+14155550123', is_typing: true, from_number: '+14155550111' };
  const shown = { kind: 'typing', from: '+14155550123' };
  expect(await told(typing)).toMatchObject([{ ...shown, isOn: true }]);
  expect(await told({ ...typing, is_typing: false })).toMatchObject([{ ...shown, isOn: false }]);
  expect(await told({ ...typing, from_number: '+14155550112' })).toEqual([]);
});

test('a place that a contact shares is a message', async () => {
  const message = {
    is_outbound: false,
    status: 'RECEIVED',
    from_number: '+14155550123',
    sendblue_number: '+14155550111',
    message_type: 'location',
    content: '',
  };
  const location = { latitude: 37.78, longitude: -122.4, accuracy: 12 };
  expect(await told({ ...message, location })).toMatchObject([
    { kind: 'reply', text: 'https://maps.google.com/?q=37.78,-122.4' },
  ]);
  expect(await told({ ...message, location, content: 'Here' })).toMatchObject([{ text: 'Here' }]);
  expect(await told({ ...message, location: { latitude: 'north' } })).toEqual([]);
});

test('a message of a contact has its file and what it answers, and is of the line’s own number', async () => {
  const message = {
    is_outbound: false,
    status: 'RECEIVED',
    content: 'Hi',
    from_number: '+14155550123',
    sendblue_number: '+14155550111',
  };
  const file = 'https://storage.example/x/photo.heic';
  expect(await told({ ...message, media_url: file, reply_to: { message_handle: 'H1' } })).toMatchObject([
    {
      kind: 'reply',
      from: '+14155550123',
      text: 'Hi',
      replyTo: 'H1',
      attachments: [{ url: file, name: 'photo.heic' }],
    },
  ]);
  expect(await told({ ...message, sendblue_number: '+14155550112' })).toEqual([]);
  expect(await told({ ...message, from_number: null, number: '+14155550123' })).toMatchObject([
    { from: '+14155550123', text: 'Hi' },
  ]);
  const participants = ['+14155550123', '+14155550177'];
  expect(await told({ ...message, message_type: 'group', group_id: 'G1', participants })).toMatchObject([
    { group: { id: 'G1', participants } },
  ]);
  for (const direction of [undefined, null, 'false'])
    expect(await told({ ...message, is_outbound: direction })).toMatchObject([{ kind: 'reply', text: 'Hi' }]);
  expect(await told({ ...message, content: '' })).toEqual([]);
  const typed = { ...message, is_outbound: true, status: 'SENT', from_number: message.sendblue_number };
  expect(await told({ ...typed, group_id: 'G1', participants })).toMatchObject([
    { kind: 'own_message', to: 'G1', text: 'Hi', group: { id: 'G1', participants } },
  ]);
});

const callbackCheck = async (callbackUrl: string) =>
  (await connectionResults(world, callbackUrl))['callback'];

test('the callback URL is registered once, for the messages of the number', async () => {
  const url = 'https://linepace.example/callbacks/carriers/sendblue/1';
  const before = world.sendblue.receive.length;
  await world.carrier.configureInbound?.(world.config, 'L1', url);
  await world.carrier.configureInbound?.(world.config, 'L1', url);
  expect(world.sendblue.receive.slice(before)).toMatchObject([
    { url: `${url}?secret=a-secret-of-the-line`, numbers: ['+14155550111'] },
  ]);

  const own = () => world.sendblue.receive.slice(before);
  expect(await callbackCheck(url)).toBe('pass');
  Object.assign(own()[0] ?? {}, { numbers: ['+14155550112'] });
  expect(await callbackCheck(url)).toBe('fail');
  await world.carrier.configureInbound?.(world.config, 'L1', url);
  expect(own()).toMatchObject([{ numbers: ['+14155550111'] }]);
  expect(await callbackCheck(url)).toBe('pass');
  Object.assign(own()[0] ?? {}, { numbers: [] });
  expect(await callbackCheck(url)).toBe('pass');
  const moved = url.replace('linepace.example', 'moved.example');
  await world.carrier.configureInbound?.(world.config, 'L1', moved);
  expect(own()).toMatchObject([{ url: `${moved}?secret=a-secret-of-the-line` }]);

  world.sendblue.lines.set('+14155550111', 'OFFLINE');
  await expect(world.carrier.probe(world.config, 'L1')).rejects.toThrow('offline');
  world.sendblue.lines.set('+14155550111', 'ONLINE');
});
