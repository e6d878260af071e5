import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json, text as readText } from 'node:stream/consumers';
import { createTransport } from 'nodemailer';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import type { CallbackRequest, CarrierReport, OutboundMessage } from '#providers/carriers/carrier.ts';
import { simulatedCarrier } from '#providers/carriers/simulated.ts';
import { type RunningSimulator, startSimulator } from './server.ts';

const SECRET = 'a secret for the tests';
const LINE = 'line-1';

let dataDir: string;
let simulator: RunningSimulator;
let carrier: ReturnType<typeof simulatedCarrier>;
let callbackBaseUrl: string;
const events: CarrierReport[] = [];
/** Whether the product refuses callbacks. */
let isProductDown = false;

const receiver = createServer(async (request, response) => {
  if (isProductDown) {
    response.writeHead(503).end();
    return;
  }
  const headers = request.headers as CallbackRequest['headers'];
  const url = `${callbackBaseUrl}${request.url}`;
  const callback = { url, headers, rawBody: await readText(request) };
  events.push(...(await carrier.parseCallback({}, callback, 'tenant')));
  response.end();
});

async function start(): Promise<void> {
  simulator = await startSimulator({ port: 0, smtpPort: 0, dataDir, callbackBaseUrl, secret: SECRET });
  carrier = simulatedCarrier({ url: simulator.url, secret: SECRET });
}

async function stop(): Promise<void> {
  await carrier.close();
  await simulator.stop();
}

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'simulator-'));
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  callbackBaseUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  await start();
});
afterAll(async () => {
  await stop();
  receiver.closeAllConnections();
  receiver.close();
  await rm(dataDir, { recursive: true });
});

let count = 0;
function send(to: string, fields: Partial<OutboundMessage> = {}) {
  const number = (count += 1);
  const lineId = fields.lineId ?? LINE;
  const message: OutboundMessage = {
    attemptId: `attempt-${number}`,
    messageId: `message-${number}`,
    lineId,
    channel: 'imessage',
    from: { address: '+14155550111', name: 'Dana' },
    to: { address: to, name: null },
    text: 'Hello',
    attachments: [],
    callbackUrl: `${callbackBaseUrl}/callbacks/carriers/simulated/${lineId}`,
    ...fields,
  };
  return carrier.send({}, message, new AbortController().signal);
}

async function accepted(to: string, fields: Partial<OutboundMessage> = {}): Promise<string> {
  const outcome = await send(to, fields);
  if (outcome.kind !== 'accepted') throw new Error(`not accepted: ${JSON.stringify(outcome)}`);
  return outcome.carrierMessageId;
}

async function get(path: string): Promise<{ count: number; messages: Record<string, unknown>[] }> {
  const answer = await fetch(simulator.url + path);
  return (await answer.json()) as never;
}

const post = (at: string, body: unknown) =>
  fetch(simulator.url + at, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** The events that mention an id. */
const about = (id: string) => events.filter((event) => JSON.stringify(event).includes(id));
const kindsAbout = (id: string) => about(id).map(({ kind }) => kind);

describe.concurrent('the recipient', () => {
  it('…0001 has no iMessage, but SMS', async () => {
    expect((await send('+14155550001')).kind).toBe('unavailable');
    expect((await send('+14155550001', { channel: 'sms' })).kind).toBe('accepted');
    expect((await send('unavailable@example.com', { channel: 'email' })).kind).toBe('unavailable');
  });

  it('…0002 is refused', async () => {
    expect((await send('+14155550002')).kind).toBe('refused');
    expect((await send('fail+7@example.com', { channel: 'email' })).kind).toBe('refused');
  });

  it('…0003 fails twice, then accepts, for each message', async () => {
    for (const messageId of ['first', 'second']) {
      expect(await send('+14155550003', { messageId })).toEqual({
        kind: 'transient',
        reason: expect.any(String),
      });
      expect(await send('+14155550003', { messageId })).toMatchObject({
        kind: 'transient',
        retryAfterMs: 1000,
      });
      expect((await send('+14155550003', { messageId })).kind).toBe('accepted');
    }
    expect((await get('/simulated/carrier/sent?to=%2B14155550003')).count).toBe(2);
  });

  it('…0009 is accepted after 5 s', async () => {
    const started = performance.now();
    await accepted('+14155550009');
    expect(performance.now() - started).toBeGreaterThan(4900);
  }, 10_000);

  it.each([
    ['+14155550005', ['receipt', 'typing', 'reply'], { text: 'Sounds good, tell me more', autoReply: false }],
    ['reply+1@example.com', ['receipt', 'reply'], { text: 'Sounds good, tell me more' }],
    ['+14155550006', ['receipt', 'reaction'], { reaction: 'love', removed: false }],
    ['+14155550007', ['receipt', 'reply'], { text: 'STOP' }],
    ['+14155550010', ['receipt', 'read'], {}],
    ['+14155550011', Array.from({ length: 6 }, () => 'receipt'), { status: 'delivered' }],
    ['+14155550012', ['receipt', 'reply', 'reply', 'receipt'], { status: 'delivered' }],
    ['+14155550100', ['receipt'], { status: 'delivered' }],
  ])('%s causes the events %j', async (to, kinds, last) => {
    const id = await accepted(to);
    await expect.poll(() => kindsAbout(id), { timeout: 5000 }).toEqual(kinds);
    expect(about(id).at(-1)).toMatchObject(last);
  });

  it('…0008 replies with 12 files, which arrive one by one and are private', async () => {
    const id = await accepted('+14155550008');
    const files = () =>
      about(id).flatMap((event) =>
        event.kind === 'reply' || event.kind === 'reply_attachments' ? event.attachments : [],
      );
    await expect.poll(() => files().length, { timeout: 15_000 }).toBe(12);
    expect(new Set(files().map(({ name }) => name)).size).toBe(12);
    expect(kindsAbout(id).slice(0, 3)).toEqual(['receipt', 'reply', 'reply_attachments']);

    const url = files()[11]?.url ?? '';
    expect((await fetch(url)).status).toBe(403);
    const media = await carrier.openMedia({}, url, new AbortController().signal);
    expect(media.contentType).toBe('image/png');
    expect((await readBytes(media.body)).subarray(1, 4).toString()).toBe('PNG');
    await expect(
      carrier.openMedia({}, 'http://169.254.169.254/', new AbortController().signal),
    ).rejects.toThrow('addresses');
  }, 20_000);
});

async function readBytes(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe('a test', () => {
  it("can send a contact's reply to a message, with a file", async () => {
    const carrierMessageId = await accepted('+14155550120', { messageId: 'ours' });
    const base64 = Buffer.from('a note').toString('base64');
    const attachments = [{ name: 'note.txt', contentType: 'text/plain', base64 }];
    const answer = await post('/simulated/carrier/inbound', {
      lineId: LINE,
      from: '+14155550120',
      text: 'Hi',
      attachments,
      autoReply: true,
      replyTo: 'ours',
    });
    expect(answer.status).toBe(202);
    const { id } = (await json(answer.body as never)) as { id: string };
    await expect.poll(() => about(id)).toHaveLength(1);
    const [reply] = about(id);
    expect(reply).toMatchObject({ kind: 'reply', text: 'Hi', autoReply: true, replyTo: carrierMessageId });
    if (reply?.kind !== 'reply') throw new Error('not a reply');
    const media = await carrier.openMedia({}, reply.attachments[0]?.url ?? '', new AbortController().signal);
    expect((await readBytes(media.body)).toString()).toBe('a note');
  });

  it.each([
    [true, ['requested', 'ringing', 'answered', 'billed']],
    [false, ['requested', 'ringing', 'failed']],
  ])('can simulate a call (answered: %s)', async (answered, statuses) => {
    const call = {
      lineId: LINE,
      from: '+14155550121',
      to: '+14155550111',
      seconds: 90,
      answered,
      recording: true,
    };
    const { callId } = (await (await post('/simulated/carrier/call', call)).json()) as { callId: string };
    const steps = () => about(callId).filter((event) => event.kind === 'call');
    await expect.poll(() => steps().map(({ status }) => status)).toEqual(statuses);
    const [first, last] = [steps()[0], steps().at(-1)];
    expect(last).toMatchObject({ durationSec: answered ? 90 : 0 });
    expect(last?.recordingUrl !== undefined).toBe(answered);
    expect((last?.at.getTime() ?? 0) - (first?.at.getTime() ?? 0)).toBe((answered ? 95 : 5) * 1000);
  });

  it('can take a line down and up again', async () => {
    await post('/simulated/carrier/lines/line-9', { down: true });
    expect((await send('+14155550122', { lineId: 'line-9' })).kind).toBe('transient');
    await expect(carrier.probe({}, 'line-9')).rejects.toThrow('device');
    await expect(carrier.probe({}, LINE)).resolves.toBeUndefined();
    await post('/simulated/carrier/lines/line-9', { down: false });
    expect((await send('+14155550122', { lineId: 'line-9' })).kind).toBe('accepted');
  });

  it('learns which fields of its input are invalid', async () => {
    const answer = await post('/simulated/carrier/inbound', { lineId: LINE, from: 7 });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: 'VALIDATION_ERROR', issues: [{ path: 'from' }] });
  });
});

test('messages sent to a number are listed, even if its + is decoded as a space', async () => {
  const attachments = [{ name: 'a.mp3', url: 'http://files/a', contentType: 'audio/mpeg', voiceNote: true }];
  const id = await accepted('+14155550130', { attachments });
  const expected = {
    to: '+14155550130',
    count: 1,
    messages: [
      {
        id,
        lineId: LINE,
        channel: 'imessage',
        text: 'Hello',
        attachments: [{ name: 'a.mp3', contentType: 'audio/mpeg', voiceNote: true }],
        acceptedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ],
  };
  expect(await get('/simulated/carrier/sent?to=%2B14155550130')).toEqual(expected);
  expect(await get('/simulated/carrier/sent?to=+14155550130')).toEqual(expected);
});

test('received emails are listed by recipient', async () => {
  const transport = createTransport(simulator.smtpUrl);
  await transport.sendMail({
    from: 'Linepace <no-reply@linepace.example>',
    to: ['Ops@example.com', 'other@example.com'],
    subject: 'A line is down ü',
    text: 'Look at it',
    html: '<p>Look</p>',
  });
  const mail = {
    subject: 'A line is down ü',
    text: 'Look at it',
    html: '<p>Look</p>',
    headers: expect.objectContaining({ to: 'Ops@example.com, other@example.com' }),
    receivedAt: expect.any(String),
  };
  expect(await get('/simulated/mail?to=ops@example.com')).toMatchObject({ count: 1, messages: [mail] });
  expect(await get('/simulated/mail?to=nobody@example.com')).toEqual({
    to: 'nobody@example.com',
    count: 0,
    messages: [],
  });
});

test('a restart keeps all state, despite a truncated line, and sends the outstanding callbacks', async () => {
  const before = await get('/simulated/carrier/sent');
  const mailsBefore = await get('/simulated/mail');
  isProductDown = true;
  const id = await accepted('+14155550140', { attemptId: 'kept' });
  await stop();
  isProductDown = false;
  const journal = path.join(dataDir, 'simulator', 'carrier.jsonl');
  await appendFile(journal, '{"kind":"sent","se');
  await start();
  expect((await get('/simulated/carrier/sent')).count).toBe(before.count + 1);
  expect((await get('/simulated/mail')).count).toBe(mailsBefore.count);
  expect(await accepted('+14155550140', { attemptId: 'kept' })).toBe(id);
  await expect.poll(() => kindsAbout(id)).toEqual(['receipt']);
  // Other callbacks may have been sent in between, so the order of the entries is arbitrary.
  const entries = async () =>
    (await readFile(journal, 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
  await expect.poll(entries).toContainEqual({ kind: 'told', id });
});
