import { setTimeout as pause } from 'node:timers/promises';
import { Agent, FormData, request, Request as HttpRequest } from 'undici';
import { z } from 'zod';
import { firstOf, listOf } from '#domain/bounded-schema.ts';
import { sanitizeEvents } from '#domain/carrier-event.ts';
import { exchange, type Exchange } from '../egress-exchange.ts';
import type { Guard } from '../egress-guard.ts';
import { readBlueBubblesEvent } from './bluebubbles-callback.ts';
import {
  BlueBubblesMessage,
  chatGuid,
  envelope,
  ErrorResponse,
  isChatWith,
  NOT_REGISTERED,
  TIMED_OUT,
} from './bluebubbles-protocol.ts';
import {
  BLUEBUBBLES_GUIDE,
  macChecks,
  passwordCheck,
  webhookCheck,
  Webhooks,
} from './bluebubbles-connection.ts';
import { checkSecret } from './callback-secret.ts';
import { serverCheck } from './connection-checks.ts';
import { HTTP_PORTS } from './carrier.ts';
import type {
  AttemptReference,
  Availability,
  Carrier,
  FetchMedia,
  OutboundMessage,
  ReconcileOutcome,
  SendOutcome,
} from './carrier.ts';
import {
  failureOfLine,
  failureReason,
  isOk,
  MAX_OBJECT_BYTES,
  MAX_PAGE_BYTES,
  mediaOf,
  readJson,
  readOk,
} from './http-response.ts';

export interface BlueBubblesCarrierOptions {
  /** Checks connections to servers whose addresses tenants set. */
  guard?: Guard;
  fetchMedia?: FetchMedia;
  timeoutMs?: number;
  /** The pause between two availability checks of a recipient. */
  recheckMs?: number;
  clock?: () => Date;
}

/** 1234 is the server's own default (https://docs.bluebubbles.app/server). */
const PORTS = [...HTTP_PORTS, 1234];

/** The BlueBubbles server on the line's Mac. */
export const BlueBubblesConfig = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .meta({ description: 'The Server URL that the BlueBubbles server shows.' }),
  password: z.string().min(1).meta({ secret: true, description: 'The server password.' }),
  /** Part of the callback URL, because the server does not sign its callbacks. */
  callbackSecret: z.string().min(16).meta({ secret: true }),
  method: z
    .enum(['apple-script', 'private-api'])
    .default('apple-script')
    .meta({ description: 'The Private API requires its helper on the Mac; AppleScript requires nothing.' }),
});
export type BlueBubblesConfig = z.infer<typeof BlueBubblesConfig>;

/** The server waits for Messages for up to 120 s before it responds. */
const TIMEOUT_MS = 130_000;
/** How long after its start an attempt without a response may still be sent; the server can take 20 minutes for files. */
const SETTLE_MS = 180_000;
const SETTLE_FILES_MS = 21 * 60_000;
/** Longer than that, so that an outage of the server in between does not leave the outcome unknown. */
const RECONCILE_FOR_MS = 30 * 60_000;
const QUERY_TIMEOUT_MS = 10_000;
const CLOCK_SKEW_MS = 60_000;
const PAGE = 100;
const MAX_PAGES = 100;
/** A single negative result is wrong too often. */
const NEGATIVE_CHECKS = 3;
/** How long a positive result is cached. */
const REACHABLE_MS = 24 * 3_600_000;
const MAX_CACHED = 100_000;

/** iMessage and SMS through a Mac that runs the BlueBubbles server (REST API v1). */
export function blueBubblesCarrier(options: BlueBubblesCarrierOptions = {}): Carrier<BlueBubblesConfig> {
  const { guard, fetchMedia, timeoutMs = TIMEOUT_MS, recheckMs = 400, clock = () => new Date() } = options;
  // No connection reuse: a message written to a connection that the server is closing would have an unknown outcome.
  const agent = new Agent({
    connections: 32,
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(guard && { connect: guard.connect }),
  });
  /** When an address was last found available, by server and address. */
  const reachable = new Map<string, number>();

  async function call(
    config: BlueBubblesConfig,
    path: string,
    { body, signal, maxBytes = MAX_OBJECT_BYTES }: { body?: unknown; signal: AbortSignal; maxBytes?: number },
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
      maxBytes,
    );
  }

  const query = (config: BlueBubblesConfig, path: string, body?: unknown): Promise<Exchange> =>
    call(config, path, { body, signal: AbortSignal.timeout(QUERY_TIMEOUT_MS) });

  /** A positive result counts at once and is cached, a negative one only if it is repeated. */
  async function checkReach(
    config: BlueBubblesConfig,
    address: string,
  ): Promise<Availability & { answered: boolean }> {
    const key = `${config.url} ${address}`;
    if ((reachable.get(key) ?? 0) > clock().getTime() - REACHABLE_MS)
      return { status: 'available', answered: true };
    for (let checks = 0; checks < NEGATIVE_CHECKS; checks += 1) {
      if (checks > 0) await pause(recheckMs);
      const response = await query(
        config,
        `/handle/availability/imessage?address=${encodeURIComponent(address)}`,
      );
      const found = readOk(response, envelope(z.object({ available: z.boolean() })));
      if (!found) return { status: 'error', reason: reasonOf(response), answered: response.error === null };
      if (!found.data.available) continue;
      if (reachable.size >= MAX_CACHED) reachable.clear();
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
    const response = await call(config, '/message/text', {
      body: { chatGuid: chat, tempGuid, message: text, method },
      signal,
    });
    if (!isUnknownChat(response)) return sendOutcome(response, BlueBubblesMessage);
    const service = message.channel === 'sms' ? 'SMS' : 'iMessage';
    const opening = { addresses: [message.to.address], message: text, method, service, tempGuid };
    const opened = await call(config, '/chat/new', { body: opening, signal });
    return sendOutcome(opened, OpenedChat);
  }

  /** Files are sent one by one, until the first failure. */
  async function sendFiles(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (const [index, file] of message.attachments.entries()) {
      const outcome = await sendFile(config, message, { ...file, index }, signal);
      outcomes.push(outcome);
      if (outcome.kind !== 'accepted') break;
    }
    return outcomes;
  }

  async function sendFile(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    file: OutboundMessage['attachments'][number] & { index: number },
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    let media: { content: Buffer; contentType: string | null };
    try {
      if (!fetchMedia) throw new Error('attachments cannot be fetched here');
      media = await fetchMedia(file.url, signal);
    } catch (error) {
      const reason = `an attachment could not be fetched: ${error instanceof Error ? error.message : 'unknown error'}`;
      return { kind: 'transient', reason };
    }
    const type = file.contentType ?? media.contentType ?? 'application/octet-stream';
    const form = new FormData();
    form.set('chatGuid', chatGuid(message.channel, message.to.address));
    form.set('tempGuid', `${message.attemptId}-${file.index}`);
    form.set('name', file.name);
    form.set('method', config.method);
    if (file.voiceNote) form.set('isAudioMessage', 'true');
    form.set('attachment', new File([new Uint8Array(media.content)], file.name, { type }));
    return sendOutcome(await call(config, '/message/attachment', { body: form, signal }), BlueBubblesMessage);
  }

  /**
   * For an address without iMessage, the server responds 200 and never sends the message.
   * @returns why the message must not be sent; null: it may be.
   */
  async function checkRecipient(
    config: BlueBubblesConfig,
    { channel, to }: OutboundMessage,
  ): Promise<SendOutcome | null> {
    if (channel !== 'imessage') return null;
    const { status, answered, reason = 'no response' } = await checkReach(config, to.address);
    if (status === 'unavailable') return { kind: 'unavailable', reason: 'not on iMessage' };
    // An error response may only mean that the server cannot check, because it has no Private API.
    return answered ? null : { kind: 'transient', reason };
  }

  async function sendParts(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    if (message.text === '') return sendFiles(config, message, signal);
    const text = await sendText(config, message, signal);
    return text.kind === 'accepted' ? [text, ...(await sendFiles(config, message, signal))] : [text];
  }

  return {
    name: 'bluebubbles',
    channels: ['imessage', 'sms'],
    config: BlueBubblesConfig,
    callbackSecret: 'callbackSecret',
    servers: ({ url }) => ({ url: { url, ports: PORTS } }),
    timeoutMs,
    reconcileForMs: RECONCILE_FOR_MS,

    async checkAvailability(config, address) {
      const { answered: _, ...found } = await checkReach(config, address);
      return found;
    },

    async configureInbound(config, _lineId, callbackUrl) {
      const url = secretUrl(config, callbackUrl);
      const known = await query(config, '/webhook');
      const webhooks = readOk(known, Webhooks);
      if (!webhooks) throw new Error(reasonOf(known));
      if (webhooks.data.some((webhook) => webhook.url === url)) return;
      const events = ['new-message', 'updated-message', 'message-send-error'];
      const response = await query(config, '/webhook', { url, events });
      if (!isOk(response)) throw new Error(reasonOf(response));
    },

    async send(config, message, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const failure = signal.aborted ? null : await checkRecipient(config, message);
      return failure ?? outcomeOfParts(await sendParts(config, message, limit));
    },

    /** The server discards our reference after its response, so the message is found by its content. */
    async reconcile(config, attempt) {
      const after = attempt.startedAt.getTime() - CLOCK_SKEW_MS;
      const before = attempt.startedBy.getTime() + SETTLE_FILES_MS + CLOCK_SKEW_MS;
      const messages: BlueBubblesMessage[] = [];
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const paging = { limit: PAGE, offset: page * PAGE, sort: 'DESC' };
        const filter = { after, before, ...paging, with: ['chat', 'handle'] };
        const response = await call(config, '/message/query', {
          body: filter,
          signal: AbortSignal.timeout(QUERY_TIMEOUT_MS),
          maxBytes: MAX_PAGE_BYTES,
        });
        const list = readOk(response, MessagePage);
        if (!list) return { kind: 'unreachable', reason: reasonOf(response) };
        messages.push(...list.data);
        if (list.data.length < PAGE) return findAttempt(messages, attempt, clock());
      }
      // The message may be on a later page.
      return { kind: 'unknown' };
    },

    async probe(config) {
      const response = await query(config, '/ping');
      if (!isOk(response)) throw new Error(reasonOf(response));
    },

    guide: BLUEBUBBLES_GUIDE,

    async *checkConnection(config, { callbackUrl, reachCallbacks }) {
      const ping = await query(config, '/ping');
      yield serverCheck(new URL(config.url).host, ping, 'url');
      if (ping.error !== null) return;
      const password = passwordCheck(ping, reasonOf(ping));
      yield password;
      if (password.result !== 'pass') return;
      yield* macChecks(await query(config, '/server/info'), config.method);
      if (callbackUrl !== null)
        yield webhookCheck(await query(config, '/webhook'), secretUrl(config, callbackUrl));
      yield { name: 'callback_address', ...(await reachCallbacks()) };
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
      return mediaOf(await request(url, { dispatcher: agent, signal }));
    },

    close: () => agent.destroy(),
  };
}

/** For the server, the text and each file are separate messages; our message has one outcome. */
function outcomeOfParts(parts: readonly SendOutcome[]): SendOutcome {
  const [first] = parts;
  if (!first) return { kind: 'refused', reason: 'there is nothing to send' };
  const failed = parts.find(({ kind }) => kind !== 'accepted');
  if (!failed || failed === first) return first;
  // A retry would send the first parts twice.
  const reason = 'reason' in failed ? failed.reason : 'unknown error';
  return { kind: 'refused', reason: `only a part was sent: ${reason}` };
}

const MessagePage = envelope(listOf(BlueBubblesMessage, PAGE));

/** The response to creating a chat contains its first message. */
const OpenedChat = z
  .object({ messages: firstOf(BlueBubblesMessage, 1) })
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

function secretUrl({ callbackSecret }: BlueBubblesConfig, callbackUrl: string): string {
  const url = new URL(callbackUrl);
  url.searchParams.set('secret', callbackSecret);
  return url.href;
}

async function encode(
  body: unknown,
): Promise<{ contentType: string | null; content: string | Buffer | null }> {
  if (body === undefined) return { contentType: null, content: null };
  if (!(body instanceof FormData)) return { contentType: 'application/json', content: JSON.stringify(body) };
  const form = new HttpRequest('http://form', { method: 'POST', body });
  return { contentType: form.headers.get('content-type'), content: Buffer.from(await form.arrayBuffer()) };
}

function sendOutcome(response: Exchange, schema: z.ZodType<BlueBubblesMessage>): SendOutcome {
  const reason = reasonOf(response);
  if (!response.connected) return { kind: 'transient', reason };
  if (response.error !== null || response.status === null) return { kind: 'unknown', reason };
  const { status } = response;
  if (status >= 200 && status < 300) {
    const message = readOk(response, envelope(schema))?.data;
    if (!message) return { kind: 'unknown', reason: 'the response is malformed' };
    return message.error ? failedWith(message.error) : { kind: 'accepted', carrierMessageId: message.guid };
  }
  const failed = readJson(response, ErrorResponse);
  if (failed?.data?.error) return failedWith(failed.data.error);
  // A message with this reference is already being sent.
  if (/already queued/i.test(failed?.error?.message ?? failed?.message ?? ''))
    return { kind: 'unknown', reason };
  return failureOfLine(response, isOwnError(failed), reason) ?? { kind: 'refused', reason };
}

/** Others also respond with a `message`, for example an API gateway. */
const isOwnError = (body: z.infer<typeof ErrorResponse> | null): boolean =>
  typeof body?.error?.type === 'string';

/** Only "not registered" is reliable; other errors are also reported for messages that were sent. */
const failedWith = (code: number): SendOutcome =>
  code === NOT_REGISTERED
    ? { kind: 'unavailable', reason: 'not on iMessage' }
    : { kind: 'unknown', reason: `iMessage error ${code}` };

function findAttempt(
  messages: BlueBubblesMessage[],
  { attemptId, channel, to, text, takenIds, attachmentCount, startedBy }: AttemptReference,
  now: Date,
): ReconcileOutcome {
  const ours = messages.filter((message) => message.isFromMe && !takenIds.includes(message.guid));
  const candidates = ours.filter((message) => isChatWith(message, to));
  const found =
    ours.findLast(({ tempGuid }) => tempGuid === attemptId) ??
    candidates.findLast((message) => text !== null && text !== '' && message.text?.trim() === text.trim());
  if (found) {
    const { guid, error, isDelivered, dateDelivered } = found;
    // SMS can be reported as failed although they were sent.
    if (!error || isDelivered || dateDelivered || channel === 'sms')
      return { kind: 'accepted', carrierMessageId: guid };
    return error === TIMED_OUT ? { kind: 'unknown' } : { kind: 'not_sent' };
  }
  // Without a text, a candidate cannot be told apart from this message.
  if (candidates.length > 0 && (text === null || text === '')) return { kind: 'unknown' };
  const settled = attachmentCount > 0 ? SETTLE_FILES_MS : SETTLE_MS;
  if (now.getTime() - startedBy.getTime() >= settled) return { kind: 'not_sent' };
  return { kind: 'unreachable', reason: 'it may still be on its way' };
}

const isUnknownChat = (response: Exchange): boolean =>
  response.error === null &&
  response.status !== null &&
  response.status >= 400 &&
  /chat.*(does not exist|not found)/i.test(readJson(response, ErrorResponse)?.error?.message ?? '');

function reasonOf(response: Exchange): string {
  const body = readJson(response, ErrorResponse);
  return failureReason(response, body?.error?.message ?? body?.message);
}
