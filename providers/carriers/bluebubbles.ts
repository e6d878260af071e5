import { setTimeout as pause } from 'node:timers/promises';
import { Agent, FormData, request, Request as HttpRequest } from 'undici';
import { z } from 'zod';
import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import type { Effect } from '#domain/messages/effect.ts';
import type { ActionOutcome } from '#domain/messages/message-action.ts';
import { firstOf, listOf } from '#domain/base/bounded-schema.ts';
import { sanitizeEvents } from '#domain/lines/carrier-event.ts';
import { mapInTurns } from '#domain/base/turns.ts';
import { searchListing } from '#domain/sending/carrier-listing.ts';
import { toStorable, truncate } from '#domain/base/text.ts';
import { exchange, type Exchange, isTooLarge } from '../egress-exchange.ts';
import type { Guard } from '../egress-guard.ts';
import { timeLimit } from '../time-limit.ts';
import {
  EVENTS,
  eventsOf,
  isReaction,
  isUnsent,
  readBlueBubblesEvent,
  readNewServer,
} from './bluebubbles-callback.ts';
import {
  BlueBubblesMessage,
  chatGuid,
  envelope,
  ErrorResponse,
  groupOf,
  isGroupMessage,
  isChatWith,
  isGroupGuid,
  isInGroup,
  isPrivateApiMissing,
  isTapback,
  NOT_REGISTERED,
  textOf,
  TIMED_OUT,
  transportOf,
} from './bluebubbles-protocol.ts';
import {
  BLUEBUBBLES_GUIDE,
  isPong,
  macChecks,
  passwordCheck,
  reportsTo,
  ServerInfo,
  webhookCheck,
  Webhooks,
} from './bluebubbles-connection.ts';
import { checkSecret, isOfLine, withSecret } from './callback-secret.ts';
import { serverCheck } from './connection-checks.ts';
import { HTTP_PORTS } from './carrier.ts';
import type {
  AttemptReference,
  Availability,
  Carrier,
  FetchMedia,
  InboxItem,
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
  rangeFrom,
  readJson,
  readOk,
} from './http-response.ts';
import { caCertificatesOf } from './ca-certificates.ts';
import { createTrustingAgents } from './trusting-agents.ts';
import { fetchAll, type FetchedFile } from './outbound-media.ts';

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
  caCertificates: caCertificatesOf('server'),
});
export type BlueBubblesConfig = z.infer<typeof BlueBubblesConfig>;

/** The server waits for Messages for up to 120 s before it responds. */
const TIMEOUT_MS = 130_000;
/** How long after its start an attempt without a response may still be sent; the server can take 20 minutes for files. */
const SETTLE_MS = 180_000;
const SETTLE_FILES_MS = 21 * 60_000;
const QUERY_TIMEOUT_MS = 10_000;
/** A callback waits for this question. */
const COMPLETE_TIMEOUT_MS = 3000;
/** How far clocks differ beyond what the server knows of its own, and where it knows nothing. */
const CLOCK_SKEW_MS = 5 * 60_000;
const UNKNOWN_SKEW_MS = 3_600_000;
/** How wrong a clock may have been that was set afterwards, for example in another zone. */
const WRONG_CLOCK_MS = 15 * 3_600_000;
const PAGE = 100;
const MAX_PAGES = 100;
/** Pages of a batch. */
const INBOX_PAGES = 10;
const OVERLAP_MS = 30 * 60_000;
const DEEP_MS = 3 * 86_400_000;
const DEEP_EVERY_MS = 3_600_000;
/** A single negative result is wrong too often. */
const NEGATIVE_CHECKS = 3;
/** How long a positive result is cached. */
const REACHABLE_MS = 24 * 3_600_000;
const MAX_CACHED = 100_000;

/** iMessage and SMS through a Mac that runs the BlueBubbles server (REST API v1). */
export function blueBubblesCarrier(options: BlueBubblesCarrierOptions = {}): Carrier<BlueBubblesConfig> {
  const { guard, fetchMedia, timeoutMs = TIMEOUT_MS, recheckMs = 400, clock = () => new Date() } = options;
  // No connection reuse: a message written to a connection that the server is closing would have an unknown outcome.
  const openAgent = (ca?: string[]): Agent =>
    new Agent({
      connections: 32,
      pipelining: 0,
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: guard ? (ca ? guard.connectTrusting(ca) : guard.connect) : { ...(ca && { ca }) },
    });
  const agent = openAgent();
  const trusting = createTrustingAgents(openAgent);
  const agentOf = ({ caCertificates: pem }: BlueBubblesConfig): Agent =>
    pem === undefined ? agent : trusting.of(pem);
  /** When an address was last found available, by server and address. */
  const reachable = new Map<string, number>();
  /** When a line's messages of the last days were last read, by server and line. */
  const readDeeply = new Map<string, number>();

  async function call(
    config: BlueBubblesConfig,
    path: string,
    {
      body,
      signal,
      method = body === undefined ? 'GET' : 'POST',
      maxBytes = MAX_OBJECT_BYTES,
    }: { body?: unknown; signal: AbortSignal; method?: 'GET' | 'POST' | 'DELETE'; maxBytes?: number },
  ): Promise<Exchange> {
    const url = addressOf(config, path);
    const { contentType, content } = await encode(body);
    return exchange(
      agentOf(config),
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: contentType === null ? {} : { 'content-type': contentType },
        ...(content !== null && { body: content }),
      },
      signal,
      maxBytes,
    );
  }

  /** A webhook that is gone already is no failure, and one that stays costs only traffic. */
  async function remove(config: BlueBubblesConfig, path: string): Promise<void> {
    await call(config, path, { method: 'DELETE', signal: AbortSignal.timeout(QUERY_TIMEOUT_MS) });
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
      remember(reachable, key, clock().getTime());
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
    const chat = chatOf(message);
    if (chat === null) return openGroup(config, message, signal);
    const { method } = config;
    const response = await call(config, '/message/text', {
      body: { chatGuid: chat, tempGuid, message: text, method, ...richFields(config, message) },
      signal,
    });
    if (message.group || !isUnknownChat(response)) return sendOutcome(response, BlueBubblesMessage);
    const service = message.channel === 'sms' ? 'SMS' : 'iMessage';
    const { effectId } = richFields(config, message);
    const opening = {
      addresses: [message.to.address],
      message: text,
      method,
      service,
      tempGuid,
      ...(effectId !== undefined && { effectId }),
    };
    const opened = await call(config, '/chat/new', { body: opening, signal });
    return sendOutcome(opened, OpenedChat);
  }

  /** Creates a group with its first message. */
  async function openGroup(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const { attemptId: tempGuid, text, group } = message;
    const { effectId } = richFields(config, message);
    const opening = {
      addresses: group?.participants ?? [],
      message: text,
      method: config.method,
      service: 'iMessage',
      tempGuid,
      ...(effectId !== undefined && { effectId }),
    };
    const response = await call(config, '/chat/new', { body: opening, signal });
    const outcome = sendOutcome(response, OpenedChat);
    const guid = readOk(response, envelope(OpenedGroup))?.data.guid;
    return outcome.kind === 'accepted' && guid !== undefined ? { ...outcome, groupId: guid } : outcome;
  }

  /**
   * Sends a text and its files as one message, of which nothing can be missing: for the Private API, in conversations that exist.
   * @returns null if they have to be sent one by one.
   */
  async function sendWhole(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome | null> {
    const { channel, text, attemptId: tempGuid } = message;
    const isWhole = config.method === 'private-api' && channel === 'imessage';
    const chat = chatOf(message);
    if (!isWhole || chat === null || files.length === 0 || files.some(({ voiceNote }) => voiceNote))
      return null;
    const parts: object[] = [{ partIndex: 0, text }];
    for (const [index, file] of files.entries()) {
      const form = new FormData();
      form.set('attachment', fileOf(file));
      const uploaded = await call(config, '/attachment/upload', { body: form, signal });
      const path = readOk(uploaded, envelope(z.object({ path: z.string() })))?.data.path;
      // Nothing has been sent. Without such a file, the text would leave alone.
      if (isTooLarge(uploaded)) return sendOutcome(uploaded, BlueBubblesMessage);
      // An older server, perhaps.
      if (path === undefined) return null;
      parts.push({ partIndex: index + 1, attachment: path, name: file.name });
    }
    const response = await call(config, '/message/multipart', {
      body: { chatGuid: chat, tempGuid, parts, ...richFields(config, message) },
      signal,
    });
    return isUnknownChat(response) ? null : sendOutcome(response, BlueBubblesMessage);
  }

  /** Files are sent one by one, until the first failure. */
  async function sendFiles(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    const outcomes: SendOutcome[] = [];
    for (const [index, file] of files.entries()) {
      const outcome = await sendFile(config, message, { ...file, index }, signal);
      outcomes.push(outcome);
      if (outcome.kind !== 'accepted') break;
    }
    return outcomes;
  }

  async function sendFile(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    file: FetchedFile & { index: number },
    signal: AbortSignal,
  ): Promise<SendOutcome> {
    const chat = chatOf(message);
    if (chat === null) return { kind: 'refused', reason: 'a group begins with a text' };
    const form = new FormData();
    form.set('chatGuid', chat);
    form.set('tempGuid', `${message.attemptId}-${file.index}`);
    form.set('name', file.name);
    form.set('method', config.method);
    if (file.voiceNote) form.set('isAudioMessage', 'true');
    // Of several parts, the text has them.
    if (message.text === '' && file.index === 0)
      for (const [name, value] of Object.entries(richFields(config, message))) form.set(name, value);
    form.set('attachment', fileOf(file));
    const send = (): Promise<Exchange> => call(config, '/message/attachment', { body: form, signal });
    const response = await send();
    if (!isUnknownChat(response) || config.method === 'apple-script')
      return sendOutcome(response, BlueBubblesMessage);
    // The Private API opens conversations only with a text, AppleScript also with a file.
    form.set('method', 'apple-script');
    // With them, the server would take the Private API again.
    for (const name of Object.keys(richFields(config, message))) form.delete(name);
    return sendOutcome(await send(), BlueBubblesMessage);
  }

  /**
   * For an address without iMessage, the server responds 200 and never sends the message.
   * @returns why the message must not be sent; null: it may be.
   */
  async function checkRecipient(
    config: BlueBubblesConfig,
    { channel, to, group }: OutboundMessage,
  ): Promise<SendOutcome | null> {
    if (channel !== 'imessage') return null;
    const isOpen = group !== undefined && group.id !== null;
    for (const address of isOpen ? [] : (group?.participants ?? [to.address])) {
      const { status, answered, reason = 'no response' } = await checkReach(config, address);
      if (status === 'unavailable')
        return {
          kind: 'unavailable',
          reason: group ? 'a participant is not on iMessage' : 'not on iMessage',
        };
      // An error response may only mean that the server cannot check, because it has no Private API.
      if (!answered) return { kind: 'transient', reason };
    }
    return null;
  }

  async function sendParts(
    config: BlueBubblesConfig,
    message: OutboundMessage,
    files: readonly FetchedFile[],
    signal: AbortSignal,
  ): Promise<SendOutcome[]> {
    if (message.text === '') return sendFiles(config, message, files, signal);
    const whole = await sendWhole(config, message, files, signal);
    if (whole) return [whole];
    const text = await sendText(config, message, signal);
    if (text.kind !== 'accepted') return [text];
    const { group } = message;
    const opened = group ? { ...message, group: { ...group, id: text.groupId ?? group.id } } : message;
    return [text, ...(await sendFiles(config, opened, files, signal))];
  }

  /** The time of the newest message; if there is none, shortly before now. */
  async function newestMessage(config: BlueBubblesConfig): Promise<number> {
    const response = await query(config, '/message/query', { limit: 1, sort: 'DESC' });
    const list = readOk(response, MessageList);
    if (!list) throw new Error(reasonOf(response));
    const newest = BlueBubblesMessage.safeParse(list.data[0]).data?.dateCreated;
    const now = clock().getTime();
    return newest ? Math.min(newest + 1, now) : now - CLOCK_SKEW_MS;
  }

  /** How far the times in the server's list may be from ours, in milliseconds. */
  async function clockSkew(config: BlueBubblesConfig): Promise<number> {
    const info = readOk(await query(config, '/server/info'), ServerInfo);
    const seconds = info?.data.macos_time_sync;
    return typeof seconds === 'number' ? CLOCK_SKEW_MS + Math.abs(seconds) * 1000 : UNKNOWN_SKEW_MS;
  }

  /** Reads up to `maxPages` pages of the list of messages. */
  async function readMessages(
    config: BlueBubblesConfig,
    filter: { after: number; before?: number; sort: 'ASC' | 'DESC' },
    maxPages: number,
  ): Promise<MessagesRead | { failure: string }> {
    const messages: BlueBubblesMessage[] = [];
    const unreadable: Unreadable[] = [];
    let offset = 0;
    for (let page = 0; page < maxPages; page += 1) {
      const response = await call(config, '/message/query', {
        body: { ...filter, limit: PAGE, offset, with: ['chat', 'chat.participants', 'attachment'] },
        signal: AbortSignal.timeout(QUERY_TIMEOUT_MS),
        maxBytes: MAX_PAGE_BYTES,
      });
      const list = readOk(response, MessageList);
      if (!list) return { failure: reasonOf(response) };
      for (const raw of list.data) {
        const { data, error } = BlueBubblesMessage.safeParse(raw);
        if (data) messages.push(data);
        else unreadable.push({ raw, reason: z.prettifyError(error) });
      }
      offset += list.data.length;
      const total = list.metadata?.total;
      const isLast = typeof total === 'number' ? offset >= total : list.data.length < PAGE;
      if (isLast || list.data.length === 0)
        return { messages, unreadable, isComplete: isLast || typeof total !== 'number' };
    }
    return { messages, unreadable, isComplete: false };
  }

  /** A webhook call does not say whether an inbound message was written by a person, nor who is in a group. */
  async function completed(
    config: BlueBubblesConfig,
    message: BlueBubblesMessage,
  ): Promise<BlueBubblesMessage> {
    const isUnnamed = groupOf(message)?.participants.length === 0;
    const isJudged = message.isFromMe || typeof message.isAutoReply === 'boolean';
    if (isTapback(message) || (isJudged && !isUnnamed)) return message;
    const fields = isUnnamed ? '?with=chats,chats.participants' : '';
    const asked = await call(config, `/message/${encodeURIComponent(message.guid.toWellFormed())}${fields}`, {
      signal: AbortSignal.timeout(COMPLETE_TIMEOUT_MS),
    });
    const found = readOk(asked, envelope(BlueBubblesMessage.pick({ isAutoReply: true, chats: true })))?.data;
    const { chats } = message;
    return {
      ...message,
      isAutoReply: found?.isAutoReply ?? message.isAutoReply,
      chats: isUnnamed && found && isGroupMessage({ ...message, ...found }) ? found.chats : chats,
    };
  }

  return {
    name: 'bluebubbles',
    channels: ['imessage', 'sms'],
    capabilities(channel, { method }) {
      if (channel !== 'imessage') return ['attachments'];
      // AppleScript can only send.
      return method === 'private-api' ? IMESSAGE_CAPABILITIES : ['voice_notes', 'attachments'];
    },
    config: BlueBubblesConfig,
    callbackSecret: 'callbackSecret',
    servers: ({ url }) => ({ url: { url, ports: PORTS } }),
    timeoutMs,

    async checkAvailability(config, address) {
      const { answered: _, ...found } = await checkReach(config, address);
      return found;
    },

    async configureInbound(config, _lineId, callbackUrl) {
      const url = withSecret(callbackUrl, config.callbackSecret);
      const known = await query(config, '/webhook');
      const webhooks = readOk(known, Webhooks);
      if (!webhooks) throw new Error(reasonOf(known));
      const own = webhooks.data.filter((webhook) => isOfLine(webhook.url, callbackUrl));
      const former = own.filter((webhook) => !reportsTo(webhook, url));
      // The server would keep the events of one with the same URL, and would post every event to each of the others.
      for (const { id } of former) if (id !== undefined) await remove(config, `/webhook/${id}`);
      if (former.length < own.length) return;
      const response = await query(config, '/webhook', { url, events: EVENTS });
      if (!isOk(response)) throw new Error(reasonOf(response));
    },

    movedTo(config, { rawBody }) {
      const url = readNewServer(rawBody);
      if (url === null || url === config.url.replace(/\/$/, '')) return null;
      // The password is not sent in clear because of a callback.
      if (config.url.startsWith('https:') && !url.startsWith('https:')) return null;
      return BlueBubblesConfig.safeParse({ ...config, url }).data ?? null;
    },

    async send(config, message, signal) {
      const limit = timeLimit(timeoutMs, signal);
      const failure = signal.aborted ? null : await checkRecipient(config, message);
      if (failure) return failure;
      const files = await fetchAll(message.attachments, fetchMedia, limit);
      if ('kind' in files) return files;
      return outcomeOfParts(await sendParts(config, message, files.contents, limit));
    },

    async act(config, { channel, to, group, carrierMessageId, action }, signal) {
      const limit = timeLimit(timeoutMs, signal);
      const guid = carrierMessageId ?? '';
      const path = `/message/${encodeURIComponent(guid)}`;
      const guidOfChat = group?.id ?? chatGuid(channel, to);
      const chat = `/chat/${encodeURIComponent(guidOfChat)}`;
      if (action.kind === 'typing') {
        const method = action.on ? 'POST' : 'DELETE';
        return actionOutcome(await call(config, `${chat}/typing`, { method, signal: limit }));
      }
      if (action.kind === 'read')
        return actionOutcome(await call(config, `${chat}/read`, { method: 'POST', signal: limit }));
      if (action.kind === 'reaction') {
        const reaction = `${action.removed ? '-' : ''}${action.reaction}`;
        const body = {
          chatGuid: guidOfChat,
          selectedMessageGuid: guid,
          reaction,
          partIndex: 0,
        };
        return actionOutcome(await call(config, '/message/react', { body, signal: limit }));
      }
      if (action.kind === 'unsend')
        return actionOutcome(await call(config, `${path}/unsend`, { body: { partIndex: 0 }, signal: limit }));
      const body = {
        editedMessage: action.text,
        // What phones show that know no edits.
        backwardsCompatibilityMessage: `Edited to “${action.text}”`,
        partIndex: 0,
      };
      return actionOutcome(await call(config, `${path}/edit`, { body, signal: limit }));
    },

    /** The message shows what was done to it, and the list our reactions. */
    async findAction(config, { carrierMessageId, action, startedAt }, signal) {
      const guid = carrierMessageId ?? '';
      if (action.kind === 'edit' || action.kind === 'unsend') {
        const asked = await call(config, `/message/${encodeURIComponent(guid)}`, { signal });
        const message = readOk(asked, envelope(BlueBubblesMessage))?.data;
        if (!message) return 'unknown';
        if (action.kind === 'unsend') return isUnsent(message) ? 'done' : 'unknown';
        return message.dateEdited && textOf(message) === textOf({ text: action.text }) ? 'done' : 'unknown';
      }
      if (action.kind !== 'reaction') return 'unknown';
      const after = startedAt.getTime() - (await clockSkew(config));
      const read = await readMessages(config, { after, sort: 'DESC' }, 1);
      if ('failure' in read) return 'unknown';
      return read.messages.some((message) => message.isFromMe && isReaction(message, guid, action))
        ? 'done'
        : 'unknown';
    },

    /** The server discards our reference after its response, so the message is found by its content. */
    async reconcile(config, attempt) {
      const skew = await clockSkew(config);
      const after = attempt.startedAt.getTime() - skew;
      const before = attempt.startedBy.getTime() + SETTLE_FILES_MS + skew;
      const wide = { after: after - WRONG_CLOCK_MS, before: before + WRONG_CLOCK_MS };
      const read = await readMessages(config, { ...wide, sort: 'DESC' }, MAX_PAGES);
      if ('failure' in read) return { kind: 'unreachable', reason: read.failure };
      const search = (messages: BlueBubblesMessage[]): Promise<ReconcileOutcome> =>
        findAttempt({ ...read, messages }, attempt, clock());
      const isInTime = ({ dateCreated }: BlueBubblesMessage): boolean =>
        !dateCreated || (dateCreated >= after && dateCreated <= before);
      const outcome = await search(read.messages.filter(isInTime));
      if (outcome.kind !== 'not_sent') return outcome;
      // The Mac may have sent it by another clock than it has now.
      const atOtherTimes = await search(read.messages.filter((message) => !isInTime(message)));
      const mayBeIt = atOtherTimes.kind === 'accepted' || (!attempt.text && atOtherTimes.kind === 'unknown');
      return mayBeIt ? { kind: 'unknown' } : outcome;
    },

    async probe(config) {
      const response = await query(config, '/ping');
      if (!isPong(response)) throw new Error(reasonOf(response));
      // What the server does not say is no failure: it may be busy, or older than the field.
      const checks = [...macChecks(await query(config, '/server/info'), config.method)];
      const failure = checks.find(({ result }) => result === 'fail');
      if (failure) throw new Error(failure.text);
    },

    /**
     * The server reports each event once and ignores whether anybody received it, so its list is read as well. Messages of the last
     * half hour, and now and then of the last days, are read again: they may have been delivered, read or edited since, and one that
     * reaches the Mac late has an early date.
     */
    async readInbox(config, from) {
      const position = from === null ? null : readPosition(from);
      if (!position) {
        const newest = await newestMessage(config);
        return {
          read: [{ events: [], position: writePosition({ since: newest, seen: newest }) }],
          more: false,
        };
      }
      const { since, seen } = position;
      const key = `${config.url} ${config.callbackSecret}`;
      const isDeep = (readDeeply.get(key) ?? 0) < clock().getTime() - DEEP_EVERY_MS;
      const after = Math.max(since, seen - (isDeep ? DEEP_MS : OVERLAP_MS));
      const read = await readMessages(config, { after, sort: 'ASC' }, INBOX_PAGES);
      if ('failure' in read) throw new Error(read.failure);
      if (isDeep && read.isComplete) remember(readDeeply, key, clock().getTime());
      return { read: itemsOf(read, config.url, position, clock()), more: !read.isComplete };
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
        yield webhookCheck(await query(config, '/webhook'), withSecret(callbackUrl, config.callbackSecret));
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },

    checkCallback: ({ callbackSecret }, head) => checkSecret(callbackSecret, head),

    async parseCallback(config, callback) {
      checkSecret(config.callbackSecret, callback);
      const reported = readBlueBubblesEvent(callback.rawBody, clock());
      if (!reported) return [];
      const message = await completed(config, reported.message);
      const now = clock();
      const { mayBeByHand } = reported;
      return sanitizeEvents(eventsOf(message, { baseUrl: config.url, mayBeByHand, now }), now);
    },

    /** The server may have moved since it announced the file. */
    async openMedia(config, address, signal, from = 0) {
      const [path] = /\/attachment\/[^/]+\/download$/.exec(new URL(address).pathname) ?? [];
      if (path === undefined) throw new Error("not one of this carrier's addresses");
      return mediaOf(
        await request(addressOf(config, path), {
          dispatcher: agentOf(config),
          signal,
          headers: rangeFrom(from),
        }),
        from,
      );
    },

    async close() {
      await Promise.all([agent.destroy(), trusting.destroy()]);
    },
  };
}

const fileOf = ({ content, name, contentType }: FetchedFile): File =>
  new File([new Uint8Array(content)], name, { type: contentType ?? 'application/octet-stream' });

/** Apple's ids of its effects. */
const EFFECT_IDS: Record<Effect, string> = {
  slam: 'com.apple.MobileSMS.expressivesend.impact',
  loud: 'com.apple.MobileSMS.expressivesend.loud',
  gentle: 'com.apple.MobileSMS.expressivesend.gentle',
  invisible_ink: 'com.apple.MobileSMS.expressivesend.invisibleink',
  echo: 'com.apple.messages.effect.CKEchoEffect',
  spotlight: 'com.apple.messages.effect.CKSpotlightEffect',
  balloons: 'com.apple.messages.effect.CKHappyBirthdayEffect',
  confetti: 'com.apple.messages.effect.CKConfettiEffect',
  love: 'com.apple.messages.effect.CKHeartEffect',
  lasers: 'com.apple.messages.effect.CKLasersEffect',
  fireworks: 'com.apple.messages.effect.CKFireworksEffect',
  shooting_star: 'com.apple.messages.effect.CKShootingStarEffect',
  celebration: 'com.apple.messages.effect.CKSparklesEffect',
};

/** Fields that the server passes to the Private API, whatever the method: without it, they would fail the message. */
const richFields = (
  { method }: BlueBubblesConfig,
  { channel, replyTo, effect }: OutboundMessage,
): { selectedMessageGuid?: string; effectId?: string } =>
  method !== 'private-api' || channel !== 'imessage'
    ? {}
    : {
        ...(replyTo !== undefined && { selectedMessageGuid: replyTo }),
        ...(effect !== undefined && { effectId: EFFECT_IDS[effect] }),
      };

/** For the server, the text and each file are separate messages; our message has one outcome. */
function outcomeOfParts(parts: readonly SendOutcome[]): SendOutcome {
  const [first] = parts;
  if (!first) return { kind: 'refused', reason: 'there is nothing to send' };
  const failed = parts.find(({ kind }) => kind !== 'accepted');
  if (!failed || failed === first || first.kind !== 'accepted') return first;
  const reason = 'reason' in failed ? failed.reason : 'unknown error';
  // The list shows whether it was sent.
  if (failed.kind === 'unknown') return failed;
  // A retry would send the first parts twice.
  return {
    kind: 'refused',
    reason: `only a part was sent: ${reason}`,
    sentPart: first.carrierMessageId,
  };
}

/** The GUID of the conversation of a message; null: of a group that is to be created. */
const chatOf = ({ channel, to, group }: OutboundMessage): string | null =>
  group ? group.id : chatGuid(channel, to.address);

const OpenedGroup = z.object({ guid: z.string().refine(isGroupGuid) });

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
  const { origin, pathname } = new URL(url);
  const address = new URL(`${origin}${pathname.replace(/\/$/, '')}/api/v1${path}`);
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

function sendOutcome(response: Exchange, schema: z.ZodType<BlueBubblesMessage>): SendOutcome {
  const reason = reasonOf(response);
  if (!response.connected) return { kind: 'transient', reason };
  if (response.error !== null || response.status === null) return { kind: 'unknown', reason };
  const { status } = response;
  if (status >= 200 && status < 300) {
    const message = readOk(response, envelope(schema))?.data;
    if (!message) return { kind: 'unknown', reason: 'the response is malformed' };
    if (message.error) return failedWith(message.error);
    const transport = transportOf(message);
    return { kind: 'accepted', carrierMessageId: message.guid, ...(transport && { transport }) };
  }
  const failed = readJson(response, ErrorResponse);
  if (failed?.data?.error) return failedWith(failed.data.error);
  // A message with this reference is already being sent.
  if (/already queued/i.test(failed?.error?.message ?? failed?.message ?? ''))
    return { kind: 'unknown', reason };
  if (isOwnError(failed) && isPrivateApiMissing(reason)) return { kind: 'transient', reason, ofLine: true };
  return failureOfLine(response, isOwnError(failed), reason) ?? { kind: 'refused', reason };
}

function actionOutcome(response: Exchange): ActionOutcome {
  const reason = reasonOf(response);
  if (!response.connected) return { kind: 'transient', reason };
  if (isOk(response)) return { kind: 'accepted' };
  const isOwn = isOwnError(readJson(response, ErrorResponse));
  if (isOwn && isPrivateApiMissing(reason)) return { kind: 'transient', reason };
  const failed = response.error === null ? failureOfLine(response, isOwn, reason) : null;
  if (response.error !== null || failed?.kind === 'unknown') return { kind: 'unknown', reason };
  return { kind: failed?.kind === 'transient' ? 'transient' : 'refused', reason };
}

/** Others also respond with a `message`, for example an API gateway, or with an `error` that has a type. */
const isOwnError = (body: z.infer<typeof ErrorResponse> | null): boolean =>
  typeof body?.error?.type === 'string' && typeof body.status === 'number';

/** Only "not registered" is reliable; other errors are also reported for messages that were sent. */
const failedWith = (code: number): SendOutcome =>
  code === NOT_REGISTERED
    ? { kind: 'unavailable', reason: 'not on iMessage' }
    : { kind: 'unknown', reason: `iMessage error ${code}` };

function remember(times: Map<string, number>, key: string, at: number): void {
  if (times.size >= MAX_CACHED) times.clear();
  times.set(key, at);
}

/** Times of the Mac, in milliseconds: the first message that counts was created at `since`, the last one that was read at `seen`. */
interface Position {
  since: number;
  seen: number;
}

const writePosition = ({ since, seen }: Position): string => `${since}-${seen}`;

/** @returns null if it belongs to another carrier that the line was connected to. */
function readPosition(text: string): Position | null {
  const [, since, seen] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  return since === undefined ? null : { since: Number(since), seen: Number(seen) };
}

/** One item for each message. Most were stored before, and leave the position as it is. */
function itemsOf(
  { messages, unreadable }: MessagesRead,
  url: string,
  { since, seen }: Position,
  now: Date,
): InboxItem[] {
  let last = seen;
  const skip = (raw: unknown, reason: string): InboxItem => ({
    events: [],
    position: writePosition({ since, seen: last }),
    unreadable: { reference: referenceOf(raw), reason: truncate(reason, MAX_REASON) },
  });
  const read = messages.flatMap((message) => {
    // One without a date is listed because it is new.
    const at = message.dateCreated ?? now.getTime();
    if (at < since) return [];
    try {
      const events = sanitizeEvents(eventsOf(message, { baseUrl: url, mayBeByHand: true, now }), now);
      // A clock that is ahead must not hide what comes after it is set.
      last = Math.max(last, Math.min(at, now.getTime()));
      return [{ events, position: writePosition({ since, seen: last }) }];
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      return [skip(message, z.prettifyError(error))];
    }
  });
  return [...read, ...unreadable.map(({ raw, reason }) => skip(raw, reason))];
}

const MAX_REASON = 500;

const referenceOf = (raw: unknown): string =>
  z.object({ guid: z.string().max(100).transform(toStorable) }).safeParse(raw).data?.guid ?? 'unknown';

/** The messages of a list, and entries that are none. */
interface MessagesRead {
  messages: BlueBubblesMessage[];
  unreadable: Unreadable[];
  /** Whether the list has no more. */
  isComplete: boolean;
}
interface Unreadable {
  raw: unknown;
  reason: string;
}

/** The server returns no more, whatever the limit. */
const MAX_LISTED = 1000;
const MessageList = z.object({
  data: listOf(z.unknown(), MAX_LISTED),
  metadata: z.object({ total: z.number().nullish() }).nullish(),
});

async function findAttempt(
  { messages, unreadable, isComplete }: MessagesRead,
  { attemptId, channel, to, group, text, takenIds, attachmentCount, startedAt, startedBy }: AttemptReference,
  now: Date,
): Promise<ReconcileOutcome> {
  const sent = messages.filter(
    (message) => message.isFromMe && !isTapback(message) && message.itemType === 0,
  );
  const isSettled =
    now.getTime() - startedBy.getTime() >= (attachmentCount > 0 ? SETTLE_FILES_MS : SETTLE_MS);
  const inChat = await mapInTurns(sent, (message) =>
    (group ? isInGroup(message, group) : isChatWith(message, to))
      ? [{ id: message.guid, text: textOf(message), message }]
      : [],
  );
  const listed = inChat
    .flat()
    // A file alone is no text.
    .filter(({ text, message }) => attachmentCount > 0 || text !== '' || !message.attachments?.length);
  const byReference = sent.find(({ tempGuid }) => tempGuid === attemptId);
  const result = byReference
    ? { kind: 'found' as const, message: { message: byReference } }
    : await searchListing(
        { messages: listed, isComplete: isComplete && unreadable.length === 0 },
        {
          text,
          takenIds,
          isRecordLost: startedBy > startedAt,
          isSettled,
        },
      );
  if (result.kind !== 'found') return result;
  const own = result.message.message.attachments?.length ?? 0;
  if (own + filesAfter(result.message.message, listed) < attachmentCount)
    return isSettled
      ? { kind: 'unknown' }
      : { kind: 'unreachable', reason: 'its files may still be on their way' };
  const { message: found } = result.message;
  const { guid, error, isDelivered, dateDelivered } = found;
  const groupId = group ? groupOf(found)?.id : undefined;
  // SMS can be reported as failed although they were sent.
  if (!error || isDelivered || dateDelivered || channel === 'sms')
    return { kind: 'accepted', carrierMessageId: guid, ...(groupId !== undefined && { groupId }) };
  return error === TIMED_OUT ? { kind: 'unknown' } : { kind: 'not_sent' };
}

/**
 * How many messages with nothing but a file follow one in its conversation, before the next text: its own, because parts are sent one
 * after the other.
 * @param listed from the newest to the oldest.
 */
function filesAfter(
  { guid }: BlueBubblesMessage,
  listed: readonly { id: string; text: string; message: BlueBubblesMessage }[],
): number {
  const at = listed.findIndex(({ id }) => id === guid);
  const newer = listed.slice(0, Math.max(0, at)).toReversed();
  const next = newer.findIndex(({ text }) => text !== '');
  return (next < 0 ? newer : newer.slice(0, next)).filter(({ message }) => message.attachments?.length)
    .length;
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
