import { setTimeout as pause } from 'node:timers/promises';
import { Agent, FormData, request, Request as HttpRequest } from 'undici';
import { z } from 'zod';
import { sanitizeEvents } from '#domain/carrier-event.ts';
import { refusedCredentials } from '#domain/send-outcome.ts';
import { exchange, type Exchange } from '../egress-exchange.ts';
import type { Guard } from '../egress-guard.ts';
import { readBlueBubblesEvent } from './bluebubbles-callback.ts';
import {
  BlueBubblesMessage,
  chatGuid,
  envelope,
  ErrorAnswer,
  isChatWith,
  NOT_REGISTERED,
  TIMED_OUT,
} from './bluebubbles-protocol.ts';
import { checkSecret } from './callback-secret.ts';
import type {
  AttemptReference,
  Availability,
  Carrier,
  FetchMedia,
  OutboundMessage,
  ReconcileOutcome,
  SendOutcome,
} from './carrier.ts';

export interface BlueBubblesCarrierOptions {
  /** How its servers are connected to, which tenants name. */
  guard?: Guard;
  fetchMedia?: FetchMedia;
  timeoutMs?: number;
  /** Between two questions about a recipient's reach. */
  askAgainMs?: number;
  clock?: () => Date;
}

/** A line's Mac, with the BlueBubbles server on it. */
export const BlueBubblesConfig = z.object({
  url: z.url({ protocol: /^https?$/ }),
  password: z.string().min(1).meta({ secret: true }),
  /** Stands in the callback's address, since the server signs nothing. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  method: z.enum(['apple-script', 'private-api']).default('apple-script'),
});
export type BlueBubblesConfig = z.infer<typeof BlueBubblesConfig>;

/** The server waits for Messages up to 120 s before it answers. */
const TIMEOUT_MS = 130_000;
/** Until then a message whose answer was lost may still leave; one with files can take the server 20 minutes. */
const SETTLE_MS = 180_000;
const SETTLE_FILES_MS = 21 * 60_000;
const QUESTION_TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
const CLOCK_SKEW_MS = 60_000;
const PAGE = 1000;
const MAX_PAGES = 10;
/** A single "not on iMessage" is wrong too often to count. */
const DENIALS_NEEDED = 3;
/** How long a "yes" stays good. */
const REACHABLE_MS = 24 * 3_600_000;
const MAX_REMEMBERED = 100_000;

/** iMessage and SMS by a Mac that runs the BlueBubbles server (REST API v1). */
export function blueBubblesCarrier(options: BlueBubblesCarrierOptions = {}): Carrier<BlueBubblesConfig> {
  const { guard, fetchMedia, timeoutMs = TIMEOUT_MS, askAgainMs = 400, clock = () => new Date() } = options;
  // A connection for each request: one that was kept may turn out to be closed, with the message in it.
  const agent = new Agent({
    connections: 32,
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(guard && { connect: guard.connect }),
  });
  /** When an address was last found within reach, by server and address. */
  const reachable = new Map<string, number>();

  async function call(
    config: BlueBubblesConfig,
    path: string,
    { body, signal }: { body?: unknown; signal: AbortSignal },
  ): Promise<Exchange> {
    const url = addressOf(config, path);
    const { contentType, content } = await encode(body);
    return exchange(
      agent,
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method: body === undefined ? 'GET' : 'POST',
        headers: contentType === null ? {} : { 'content-type': contentType },
        ...(content !== null && { body: content }),
      },
      signal,
      MAX_ANSWER_BYTES,
    );
  }

  const ask = (config: BlueBubblesConfig, path: string, body?: unknown): Promise<Exchange> =>
    call(config, path, { body, signal: AbortSignal.timeout(QUESTION_TIMEOUT_MS) });

  /** One "yes" is believed, and remembered; a "no" only when it is repeated. */
  async function askReach(
    config: BlueBubblesConfig,
    address: string,
  ): Promise<Availability & { answered: boolean }> {
    const key = `${config.url} ${address}`;
    if ((reachable.get(key) ?? 0) > clock().getTime() - REACHABLE_MS)
      return { status: 'available', answered: true };
    for (let denials = 0; denials < DENIALS_NEEDED; denials += 1) {
      if (denials > 0) await pause(askAgainMs);
      const answer = await ask(
        config,
        `/handle/availability/imessage?address=${encodeURIComponent(address)}`,
      );
      const found = readOk(answer, envelope(z.object({ available: z.boolean() })));
      if (!found) return { status: 'error', reason: whyNot(answer), answered: answer.error === null };
      if (!found.data.available) continue;
      if (reachable.size >= MAX_REMEMBERED) reachable.clear();
      reachable.set(key, clock().getTime());
      return { status: 'available', answered: true };
    }
    return { status: 'unavailable', answered: true };
  }

  async function sendText(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const { attemptId: tempGuid, text } = message;
    const chat = chatGuid(message.channel, message.to.address);
    const { method } = config;
    const answer = await call(config, '/message/text', {
      body: { chatGuid: chat, tempGuid, message: text, method },
      signal,
    });
    if (!isUnknownChat(answer)) return sendOutcome(answer, BlueBubblesMessage);
    const service = message.channel === 'sms' ? 'SMS' : 'iMessage';
    const opening = { addresses: [message.to.address], message: text, method, service, tempGuid };
    const opened = await call(config, '/chat/new', { body: opening, signal });
    return sendOutcome(opened, OpenedChat);
  }

  async function sendFiles(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (const [index, file] of message.attachments.entries()) {
      let content: { content: Buffer; contentType: string | null };
      try {
        if (!fetchMedia) throw new Error('attachments cannot be fetched here');
        content = await fetchMedia(file.url, signal);
      } catch (error) {
        const reason = `an attachment could not be fetched: ${error instanceof Error ? error.message : 'no reason'}`;
        return [...outcomes, { kind: 'transient', reason }];
      }
      const form = new FormData();
      form.set('chatGuid', chatGuid(message.channel, message.to.address));
      form.set('tempGuid', `${message.attemptId}-${index}`);
      form.set('name', file.name);
      form.set('method', config.method);
      if (file.voiceNote) form.set('isAudioMessage', 'true');
      const type = file.contentType ?? content.contentType ?? 'application/octet-stream';
      form.set('attachment', new File([new Uint8Array(content.content)], file.name, { type }));
      const outcome = sendOutcome(
        await call(config, '/message/attachment', { body: form, signal }),
        BlueBubblesMessage,
      );
      outcomes.push(outcome);
      if (outcome.kind !== 'accepted') break;
    }
    return outcomes;
  }

  return {
    name: 'bluebubbles',
    channels: ['imessage', 'sms'],
    config: BlueBubblesConfig,
    callbackSecret: 'callbackSecret',
    servers: ({ url }) => ({ url }),
    timeoutMs,

    async checkAvailability(config, address) {
      const { answered: _, ...found } = await askReach(config, address);
      return found;
    },

    async configureInbound(config, _lineId, callbackUrl) {
      const url = new URL(callbackUrl);
      url.searchParams.set('secret', config.callbackSecret);
      const known = await ask(config, '/webhook');
      const webhooks = readOk(known, envelope(z.array(z.object({ url: z.string() }))));
      if (!webhooks) throw new Error(whyNot(known));
      if (webhooks.data.some((webhook) => webhook.url === url.href)) return;
      const events = ['new-message', 'updated-message', 'message-send-error'];
      const answer = await ask(config, '/webhook', { url: url.href, events });
      if (!isOk(answer)) throw new Error(whyNot(answer));
    },

    async send(config, message, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      // The server answers 200 to what will never leave for an address without iMessage.
      if (message.channel === 'imessage' && !signal.aborted) {
        const { status, answered, reason = 'no answer' } = await askReach(config, message.to.address);
        if (status === 'unavailable') return { kind: 'unavailable', reason: 'not on iMessage' };
        // An error that was answered may only mean that the server cannot tell: it has no Private API.
        if (!answered) return { kind: 'transient', reason };
      }
      const parts = message.text === '' ? [] : [await sendText(config, message, limit)];
      if (parts.every(({ kind }) => kind === 'accepted'))
        parts.push(...(await sendFiles(config, message, limit)));
      const [first] = parts;
      if (!first) return { kind: 'refused', reason: 'there is nothing to send' };
      const broken = parts.find(({ kind }) => kind !== 'accepted');
      if (!broken || broken === first) return first;
      // Trying again would send the parts that left a second time.
      return {
        kind: 'refused',
        reason: `only a part was sent: ${'reason' in broken ? broken.reason : 'no reason'}`,
      };
    },

    /** The server forgets our reference once it has answered: the message is looked for by what it is. */
    async reconcile(config, attempt) {
      const after = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      const messages: BlueBubblesMessage[] = [];
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const query = { after, limit: PAGE, offset: page * PAGE, sort: 'DESC', with: ['chat', 'handle'] };
        const answer = await ask(config, '/message/query', query);
        const list = readOk(answer, envelope(z.array(BlueBubblesMessage)));
        if (!list) return { kind: 'unreachable', reason: whyNot(answer) };
        messages.push(...list.data);
        if (list.data.length < PAGE) return findAttempt(messages, attempt, clock());
      }
      // What is beyond the pages may be the one.
      return { kind: 'unknown' };
    },

    async probe(config) {
      const answer = await ask(config, '/ping');
      if (!isOk(answer)) throw new Error(whyNot(answer));
    },

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback({ callbackSecret, url }, callback) {
      checkSecret(callbackSecret, callback);
      const now = clock();
      return sanitizeEvents(readBlueBubblesEvent(callback.rawBody, url, now), now);
    },

    async openMedia(config, address, signal) {
      const url = new URL(address);
      if (url.origin !== new URL(config.url).origin) throw new Error("not one of this carrier's addresses");
      url.searchParams.set('password', config.password);
      const { statusCode, headers, body } = await request(url, { dispatcher: agent, signal });
      if (statusCode !== 200) {
        await body.dump();
        throw new Error(`the carrier answered ${statusCode}`);
      }
      const contentType = headers['content-type'];
      return { contentType: typeof contentType === 'string' ? contentType : null, body };
    },

    close: () => agent.destroy(),
  };
}

/** A chat that was made for its first message, in place of that message. */
const OpenedChat = z
  .object({ messages: z.array(BlueBubblesMessage).min(1) })
  .transform(({ messages }, context) => {
    const [message] = messages;
    if (message) return message;
    context.addIssue('no message');
    return z.NEVER;
  });

function addressOf({ url, password }: BlueBubblesConfig, path: string): URL {
  const address = new URL(`${url.replace(/\/$/, '')}/api/v1${path}`);
  address.searchParams.set('password', password);
  return address;
}

async function encode(
  body: unknown,
): Promise<{ contentType: string | null; content: string | Buffer | null }> {
  if (body === undefined) return { contentType: null, content: null };
  if (!(body instanceof FormData)) return { contentType: 'application/json', content: JSON.stringify(body) };
  const form = new HttpRequest('http://form', { method: 'POST', body });
  return { contentType: form.headers.get('content-type'), content: Buffer.from(await form.arrayBuffer()) };
}

function sendOutcome(answer: Exchange, schema: z.ZodType<BlueBubblesMessage>): SendOutcome {
  const reason = whyNot(answer);
  if (!answer.connected) return { kind: 'transient', reason };
  if (answer.error !== null || answer.status === null) return { kind: 'unknown', reason };
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const message = readOk(answer, envelope(schema))?.data;
    if (!message) return { kind: 'unknown', reason: 'an answer that could not be read' };
    return message.error ? failedWith(message.error) : { kind: 'accepted', carrierMessageId: message.guid };
  }
  const failed = readJson(answer, ErrorAnswer);
  if (failed?.data?.error) return failedWith(failed.data.error);
  // A message under this reference is on its way already.
  if (/already queued/i.test(failed?.error?.message ?? failed?.message ?? ''))
    return { kind: 'unknown', reason };
  // The password and the load are the operator's matter, not the message's.
  if (status === 401 || status === 403) return refusedCredentials(reason);
  if (status === 429) return { kind: 'transient', reason };
  if (status >= 400 && status < 500) return { kind: 'refused', reason };
  // The server also answers 500 to messages that left.
  return { kind: 'unknown', reason };
}

/** Only that the recipient is not registered is certain; other errors are told of messages that left as well. */
const failedWith = (code: number): SendOutcome =>
  code === NOT_REGISTERED
    ? { kind: 'unavailable', reason: 'not on iMessage' }
    : { kind: 'unknown', reason: `iMessage error ${code}` };

function findAttempt(
  messages: BlueBubblesMessage[],
  { attemptId, channel, to, text, takenIds, attachmentCount, startedAt }: AttemptReference,
  now: Date,
): ReconcileOutcome {
  const ours = messages.filter((message) => message.isFromMe && !takenIds.includes(message.guid));
  const candidates = ours.filter((message) => isChatWith(message, to));
  const found =
    ours.findLast(({ tempGuid }) => tempGuid === attemptId) ??
    candidates.findLast((message) => text !== null && text !== '' && message.text?.trim() === text.trim());
  if (found) {
    const { guid, error, isDelivered, dateDelivered } = found;
    // SMS are told to have failed although they left.
    if (!error || isDelivered || dateDelivered || channel === 'sms')
      return { kind: 'accepted', carrierMessageId: guid };
    return error === TIMED_OUT ? { kind: 'unknown' } : { kind: 'not_sent' };
  }
  // What cannot be told apart from this one must not be sent again.
  if (candidates.length > 0 && (text === null || text === '')) return { kind: 'unknown' };
  const settled = attachmentCount > 0 ? SETTLE_FILES_MS : SETTLE_MS;
  if (now.getTime() - startedAt.getTime() >= settled) return { kind: 'not_sent' };
  return { kind: 'unreachable', reason: 'it may still be on its way' };
}

const isUnknownChat = (answer: Exchange): boolean =>
  answer.error === null &&
  answer.status !== null &&
  answer.status >= 400 &&
  /chat.*(does not exist|not found)/i.test(readJson(answer, ErrorAnswer)?.error?.message ?? '');

const isOk = ({ status, error }: Exchange): boolean =>
  error === null && status !== null && status >= 200 && status < 300;

const readOk = <T>(answer: Exchange, schema: z.ZodType<T>): T | null =>
  isOk(answer) ? readJson(answer, schema) : null;

function readJson<T>({ error, body }: Exchange, schema: z.ZodType<T>): T | null {
  if (error !== null) return null;
  try {
    return schema.parse(JSON.parse(body));
  } catch {
    return null;
  }
}

function whyNot(answer: Exchange): string {
  const { error, status } = answer;
  if (error !== null) return error instanceof Error && error.message !== '' ? error.message : 'no answer';
  const told = readJson(answer, ErrorAnswer);
  return told?.error?.message ?? told?.message ?? `the carrier answered ${status}`;
}
