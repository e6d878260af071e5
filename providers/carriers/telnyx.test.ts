import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SendOutcome } from '#domain/messages/send-outcome.ts';
import { connectionResults, outbound } from '#test/conformance/carrier-worlds.ts';
import { type TelnyxWorld, telnyxWorld } from '#test/conformance/http-carrier-worlds.ts';

let world: TelnyxWorld;
beforeAll(async () => {
  world = await telnyxWorld();
});
afterAll(() => world.stop());

let recipients = 0;
const recipient = (): string => `+1415556${String((recipients += 1)).padStart(4, '0')}`;
const send = (to: string, fields: Parameters<typeof outbound>[2] = {}): Promise<SendOutcome> =>
  world.carrier.send(world.config, outbound(world, to, fields), new AbortController().signal);

/** What is about the recipient or the text ends the message; what is about the account or the number, the line waits for. */
const CODES: [code: string, status: number, outcome: SendOutcome['kind'] | 'line' | 'credentials'][] = [
  ['10009', 401, 'credentials'],
  ['10010', 403, 'line'],
  ['10011', 429, 'line'],
  ['10016', 400, 'refused'],
  ['20100', 402, 'line'],
  ['40001', 400, 'unavailable'],
  ['40006', 400, 'transient'],
  ['40010', 400, 'line'],
  ['40015', 400, 'refused'],
  ['40305', 400, 'line'],
  ['40310', 400, 'refused'],
  ['40318', 429, 'line'],
  ['40322', 422, 'refused'],
  ['49999', 400, 'refused'],
  ['49999', 403, 'credentials'],
];

test.each(CODES)('sorts the error %s with status %i: %s', async (code, status, kind) => {
  const to = recipient();
  world.telnyx.fault(to, { kind: 'error', status, code, title: 'What is wrong' });
  const outcome = await send(to);
  const isOfLine = kind === 'line' || kind === 'credentials';
  expect(outcome.kind).toBe(isOfLine ? 'transient' : kind);
  expect('ofLine' in outcome).toBe(isOfLine);
  expect(outcome).toMatchObject({ reason: expect.stringContaining('What is wrong') });
});

test('the error of a block is an opt-out if its words say so, and an error at the sender is about the line', async () => {
  const [stopped, unreachable, sender] = [recipient(), recipient(), recipient()];
  const block = { kind: 'error', status: 400, code: '40300' } as const;
  world.telnyx.fault(stopped, { ...block, title: 'Blocked due to STOP message' });
  world.telnyx.fault(unreachable, { ...block, title: 'Destination number unreachable' });
  const invalid = { kind: 'error', status: 422, code: '10016', title: 'Not E.164' } as const;
  world.telnyx.fault(sender, { ...invalid, pointer: '/from' });
  expect(await send(stopped)).toMatchObject({ kind: 'refused', optedOut: true });
  expect(await send(unreachable)).toMatchObject({ kind: 'unavailable' });
  expect(await send(sender)).toMatchObject({ kind: 'transient', ofLine: true });
});

test('a 5xx may have been sent, and is found by its attempt among others', async () => {
  const to = recipient();
  const [other, attempt] = [outbound(world, to), outbound(world, to)];
  await world.carrier.send(world.config, other, new AbortController().signal);
  world.telnyx.fault(to, { kind: 'gateway_error' });
  world.telnyx.maxPageSize = 1;
  const outcome = await world.carrier.send(world.config, attempt, new AbortController().signal);
  expect(outcome.kind).toBe('unknown');
  const { attemptId } = attempt;
  const now = new Date();
  const fields = { lineId: attempt.lineId, channel: 'sms', from: null, to, text: null } as const;
  const found = await world.carrier.reconcile(world.config, {
    ...fields,
    attemptId,
    startedAt: now,
    startedBy: now,
    attachmentCount: 0,
    takenIds: [],
  });
  const [first, second] = world.telnyx.sent.filter((message) => message.to === to);
  expect(found).toMatchObject({ kind: 'accepted', carrierMessageId: second?.id });
  expect(first?.id).not.toBe(second?.id);
  world.telnyx.maxPageSize = 50;
});

test('files are sent by their URLs', async () => {
  const to = recipient();
  const url = 'https://files.example/a.png';
  const file = { name: 'a.png', url, contentType: 'image/png', voiceNote: false };
  expect(await send(to, { text: '', attachments: [file] })).toMatchObject({ kind: 'accepted' });
  expect(world.telnyx.sent.at(-1)).toMatchObject({ text: '', mediaUrls: [url], from: '+14155550111' });
});

/** What a webhook tells. */
async function told(type: string, payload: object) {
  const rawBody = JSON.stringify({
    data: { event_type: type, occurred_at: new Date().toISOString(), payload },
  });
  const request = { url: 'https://linepace.example/', headers: world.telnyx.sign(rawBody), rawBody };
  return world.carrier.parseCallback(world.config, request, 'tenant');
}

test('failures that are reported later mean the same as at once', async () => {
  const finalized = (code: string, title: string) =>
    told('message.finalized', { id: 'M1', to: [{ status: 'delivery_failed' }], errors: [{ code, title }] });
  const failed = { kind: 'receipt', status: 'failed', carrierMessageId: 'M1' };
  expect(await finalized('40001', 'Not routable')).toMatchObject([
    { ...failed, unavailable: true, reason: '40001: Not routable' },
  ]);
  expect(await finalized('40010', 'Not registered')).toMatchObject([{ ...failed, ofLine: true }]);
  expect(await finalized('40300', 'Blocked due to STOP message')).toMatchObject([
    { ...failed, optedOut: true },
  ]);
  const [spam] = await finalized('40002', 'Blocked as spam');
  expect(spam).not.toHaveProperty('ofLine');
  expect(spam).not.toHaveProperty('unavailable');
  for (const status of ['queued', 'sending', 'sent', 'delivery_unconfirmed'])
    expect(await told('message.sent', { id: 'M1', to: [{ status }], errors: [] })).toEqual([]);
});

test('a message of a contact has its files, its own keyword for STOP, and whether it is from a group', async () => {
  const message = {
    id: 'M2',
    from: { phone_number: '+14155550123' },
    to: [{ phone_number: '+14155550111' }],
  };
  const file = { url: 'https://media.example/1', content_type: 'image/jpeg', size: 3 };
  expect(
    await told('message.received', { ...message, text: 'Please end this', media: [file], cc: [] }),
  ).toMatchObject([
    {
      kind: 'reply',
      from: '+14155550123',
      text: 'Please end this',
      attachments: [{ name: 'attachment-1.jpg', contentType: 'image/jpeg' }],
    },
  ]);
  const [stopped] = await told('message.received', {
    ...message,
    text: 'Adios',
    autoresponse_type: 'STOP',
  });
  expect(stopped).toMatchObject({ text: 'STOP' });
  const [third] = ['+14155550177'];
  const [ofGroup] = await told('message.received', {
    ...message,
    text: 'Hi all',
    cc: [{ phone_number: third }],
  });
  const participants = ['+14155550123', '+14155550111', third];
  expect(ofGroup).toMatchObject({ group: { id: participants.toSorted().join(' '), participants } });
});

const REPLY = {
  id: 'M4',
  from: { phone_number: '+14155550123' },
  to: [{ phone_number: '+14155550111' }],
  text: 'STOP',
};
const FILE = { url: 'https://media.example/1', content_type: 'image/jpeg' };

test.each<[string, object]>([
  ['no recipient', { to: undefined }],
  ['a recipient without a number', { to: [{ phone_number: '', status: 'webhook_delivered' }] }],
  ['a recipient as a text', { to: '+14155550111' }],
  ['a file without an address', { media: [{ url: null }, FILE] }],
  ['entries of lists that are nothing', { media: [null, FILE], cc: [null], to: [null] }],
  ['unexpected fields', { subject: {}, autoresponse_type: 7 }],
])('loses nothing that a contact wrote because of %s', async (_name, fields) => {
  const message = { media: [FILE], ...REPLY, ...fields };
  expect(await told('message.received', message)).toMatchObject([
    { kind: 'reply', from: '+14155550123', text: 'STOP', attachments: [{ url: FILE.url }] },
  ]);
});

test.each([
  [
    { subject: 'STOP', text: '' },
    { subject: 'STOP', text: 'STOP' },
  ],
  [
    { subject: ' Quote ', text: 'For 20 chairs' },
    { subject: 'Quote', text: 'Quote\nFor 20 chairs' },
  ],
  [{ subject: 'NoSubject', text: 'Hi' }, { text: 'Hi' }],
  [{ subject: '(no subject)', text: 'Hi' }, { text: 'Hi' }],
])('the subject of an MMS is a part of what was written: %j', async (fields, expected) => {
  const [reply] = await told('message.received', { ...REPLY, ...fields });
  expect(reply).toMatchObject(expected);
  expect(reply && 'subject' in reply).toBe('subject' in expected);
});

test.each([
  ['originator_cancel', 'failed'],
  ['timeout', 'failed'],
  ['user_busy', 'failed'],
  ['normal_clearing', 'billed'],
] as const)('a call that ends with %s is %s', async (hangup_cause, status) => {
  const [from, to] = ['+14155550123', '+14155550111'];
  const leg = { call_control_id: 'v3:1', call_leg_id: 'L1', call_session_id: 'S1', from, to };
  expect(await told('call.initiated', { ...leg, direction: 'incoming', state: 'parked' })).toMatchObject([
    { kind: 'call', callId: 'L1', eventId: 'L1:ringing', status: 'ringing', from, to },
  ]);
  expect(await told('call.hangup', { ...leg, state: 'hangup', hangup_cause })).toMatchObject([
    { callId: 'L1', eventId: 'L1:failed', status, hangupCause: hangup_cause },
  ]);
  expect(await told('call.bridged', leg)).toEqual([]);
});

test('a line with a sender of its own takes no messages to another number of its profile', async () => {
  const message = { id: 'M3', from: { phone_number: '+14155550123' }, text: 'Hi' };
  const rawBody = JSON.stringify({
    data: { event_type: 'message.received', payload: { ...message, to: [{ phone_number: '+14155550112' }] } },
  });
  const request = { url: 'https://linepace.example/', headers: world.telnyx.sign(rawBody), rawBody };
  const config = { ...world.config, from: '+14155550111' };
  expect(await world.carrier.parseCallback(config, request, 'tenant')).toEqual([]);
});

test('the checks say what is missing at Telnyx, and the probe fails for a number that cannot send', async () => {
  const callbackUrl = 'https://linepace.example/callbacks/carriers/telnyx/1';
  const check = () => connectionResults(world, callbackUrl);
  const probe = () => world.carrier.probe(world.config, 'L1', '+14155550111');
  const { numbers, profiles } = world.telnyx;
  expect(await check()).toMatchObject({ sender: 'pass', callback: 'fail' });
  profiles.set('profile-1', callbackUrl);
  expect(await check()).toMatchObject({ sender: 'pass', callback: 'pass' });
  numbers.set('+14155550112', 'profile-1');
  expect(await check()).toMatchObject({ sender: 'pass', callback: 'fail' });
  numbers.delete('+14155550112');
  await probe();
  world.telnyx.disabledProfiles.add('profile-1');
  expect(await check()).toMatchObject({ sender: 'fail' });
  await expect(probe()).rejects.toThrow('disabled');
  world.telnyx.disabledProfiles.clear();
  numbers.set('+14155550111', null);
  expect(await check()).toMatchObject({ sender: 'fail' });
  await expect(probe()).rejects.toThrow('no messaging profile');
  numbers.delete('+14155550111');
  await expect(probe()).rejects.toThrow('no number');
  numbers.set('+14155550111', 'profile-1');
});
