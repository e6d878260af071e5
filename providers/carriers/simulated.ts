import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import { sanitizeEvents } from '#domain/lines/carrier-event.ts';
import { exchange, type Exchange } from '../egress-exchange.ts';
import { Unreadable } from '../untrusted/processes.ts';
import { timeLimit } from '../time-limit.ts';
import {
  BadSignature,
  type Carrier,
  LineRefused,
  type OutboundMessage,
  type SendOutcome,
} from './carrier.ts';
import {
  Accepted,
  Allocated,
  type AllocateRequest,
  AvailabilityResponse,
  Callback,
  callbackKey,
  ErrorResponse,
  InboundSettings,
  type SendRequest,
  type ActionRequest,
} from './simulated-protocol.ts';
import { failed, passed, serverCheck } from './connection-checks.ts';
import {
  failureOfLine,
  foreignAnswer,
  failureReason,
  isOk,
  MAX_OBJECT_BYTES,
  mediaOf,
  readJson,
  readOk,
} from './http-response.ts';

export interface SimulatedCarrierOptions {
  /** The URL of the simulator, for example `http://127.0.0.1:4010`. */
  url: string;
  /** Authenticates requests; the key that signs callbacks is derived from it. */
  secret: string;
  /** Must be longer than the 5 s of the slowest simulated recipient. */
  timeoutMs?: number;
  clock?: () => Date;
}

/** A proxy in front of the carrier also responds 200, with a page of its own. */
const Healthy = z.object({ status: z.literal('ok') });
const SimulatedConfig = z.object({ from: z.string().optional(), messagingServiceSid: z.string().optional() });
type SimulatedConfig = z.infer<typeof SimulatedConfig>;

const QUERY_TIMEOUT_MS = 5_000;
/** How long after its start a request whose connection was lost may still reach the carrier. */
const SETTLE_MS = 2_000;

/** The adapter of the simulated carrier. Lines have no settings; a fallback account has a sender. */
export function simulatedCarrier(options: SimulatedCarrierOptions): Carrier<SimulatedConfig> {
  const { url, secret, timeoutMs = 8_000, clock = () => new Date() } = options;
  const { origin } = new URL(url);
  const agent = new Agent({ connections: 128, headersTimeout: 0, bodyTimeout: 0 });
  const callbacks = new Webhook(callbackKey(secret));
  const authorization = `Bearer ${secret}`;

  async function get(path: string): Promise<Exchange> {
    const request = { origin, path, method: 'GET', headers: { authorization } } as const;
    return exchange(agent, request, AbortSignal.timeout(QUERY_TIMEOUT_MS), MAX_OBJECT_BYTES);
  }

  async function write(method: 'POST' | 'PUT', path: string, body: unknown): Promise<Exchange> {
    const headers = { authorization, 'content-type': 'application/json' };
    const request = { origin, path, method, headers, body: JSON.stringify(body) } as const;
    return exchange(agent, request, AbortSignal.timeout(QUERY_TIMEOUT_MS), MAX_OBJECT_BYTES);
  }

  return {
    name: 'simulated',
    channels: ['imessage', 'sms', 'email'],
    capabilities: (channel) =>
      channel === 'imessage'
        ? IMESSAGE_CAPABILITIES
        : channel === 'email'
          ? ['replies', 'attachments']
          : ['attachments'],
    reactsWithEmoji: true,
    config: SimulatedConfig,
    timeoutMs,

    provisioning: {
      includesOwnLines: true,
      async allocate({ lineId, channel, firstName, lastName, email, areaCode, country }) {
        const wanted = { lineId, channel, firstName, lastName, email, areaCode, country };
        const response = await write('POST', '/carrier/lines', wanted satisfies AllocateRequest);
        const allocated = readOk(response, Allocated);
        if (allocated) return { address: allocated.address, config: {} };
        if (response.error === null && response.status === 422) throw new LineRefused(reasonOf(response));
        throw new Error(reasonOf(response));
      },
    },

    async configureInbound(_config, lineId, callbackUrl) {
      const settings = InboundSettings.parse({ callbackUrl });
      const response = await write('PUT', `/carrier/lines/${encodeURIComponent(lineId)}/inbound`, settings);
      if (response.error !== null || response.status !== 204) throw new Error(reasonOf(response));
    },

    async send(config, message, signal) {
      const request = {
        origin,
        path: '/carrier/messages',
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(toRequest(message, config)),
      } as const;
      const limit = timeLimit(timeoutMs, signal);
      return sendOutcome(await exchange(agent, request, limit, MAX_OBJECT_BYTES));
    },

    async act(_config, { id, lineId, carrierMessageId, to, group, action }, signal) {
      const request = {
        origin,
        path: '/carrier/actions',
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({
          clientReference: id,
          lineId,
          messageId: carrierMessageId,
          to: group?.participants[0] ?? to,
          action,
        } satisfies ActionRequest),
      } as const;
      const limit = timeLimit(timeoutMs, signal);
      const response = await exchange(agent, request, limit, MAX_OBJECT_BYTES);
      const reason = reasonOf(response);
      if (!response.connected) return { kind: 'transient', reason };
      if (isOk(response)) return { kind: 'accepted' };
      const code = readJson(response, ErrorResponse)?.error.code;
      if (code === 'line_down') return { kind: 'transient', reason };
      return { kind: code === undefined ? 'unknown' : 'refused', reason };
    },

    async findAction(_config, { id }) {
      const response = await get(`/carrier/actions?clientReference=${encodeURIComponent(id)}`);
      return isOk(response) ? 'done' : 'unknown';
    },

    async reconcile(_config, { attemptId, startedAt }) {
      const response = await get(`/carrier/messages?clientReference=${encodeURIComponent(attemptId)}`);
      if (response.status === 404 && response.error === null) {
        if (clock().getTime() - startedAt.getTime() >= SETTLE_MS) return { kind: 'not_sent' };
        return { kind: 'unreachable', reason: 'it may still be on its way' };
      }
      const accepted = readOk(response, Accepted);
      return accepted ? acceptedAs(accepted) : { kind: 'unreachable', reason: reasonOf(response) };
    },

    async checkAvailability(_config, address) {
      const response = await get(`/carrier/availability?address=${encodeURIComponent(address)}`);
      const found = readOk(response, AvailabilityResponse);
      if (!found) return { status: 'error', reason: reasonOf(response) };
      return { status: found.available ? 'available' : 'unavailable' };
    },

    async probe(_config, lineId) {
      const response = await get(`/carrier/health?lineId=${encodeURIComponent(lineId)}`);
      if (!readOk(response, Healthy)) throw new Error(reasonOf(response));
    },

    guide: {
      title: 'Simulated carrier',
      summary: 'A number or address for trying things out; nobody is reached.',
      before: ['Nothing is to be done: this carrier runs on this machine, and its messages reach nobody.'],
      after: ['A recipient whose number ends in 0005, or whose email address begins with reply, answers.'],
      answering: { phone: '+14155550005', email: 'reply@example.com' },
    },

    async *checkConnection(_config, { lineId }) {
      const response = await get(`/carrier/health?lineId=${encodeURIComponent(lineId ?? '')}`);
      yield serverCheck('The simulated carrier', response);
      if (response.error !== null) return;
      if (readOk(response, Healthy)) yield passed('line', 'The line works.');
      else yield failed('line', reasonOf(response));
    },

    async parseCallback(_config, { url: address, headers, rawBody }) {
      const present = Object.fromEntries(
        Object.entries(headers).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
      );
      let body: unknown;
      try {
        body = callbacks.verify(rawBody, present);
      } catch (error) {
        if (error instanceof WebhookVerificationError) throw new BadSignature(error.message);
        if (error instanceof SyntaxError) throw new Unreadable('it is not valid JSON');
        throw error;
      }
      const { lineId, events } = Callback.parse(body);
      // One key signs for all lines, so a callback for one line must not be accepted for another.
      if (new URL(address).pathname.split('/').at(-1) !== lineId)
        throw new BadSignature('it is for another line');
      const absolute = (address: string): string => {
        if (!URL.canParse(address, url)) throw new Unreadable('the URL of a file is not valid');
        return new URL(address, url).href;
      };
      const absolutes = events.map((event) => {
        if (event.kind === 'call' && event.recordingUrl !== undefined) {
          return { ...event, recordingUrl: absolute(event.recordingUrl) };
        }
        if (event.kind !== 'reply' && event.kind !== 'reply_attachments') return event;
        return {
          ...event,
          attachments: event.attachments.map((file) => ({ ...file, url: absolute(file.url) })),
        };
      });
      return sanitizeEvents(absolutes, clock());
    },

    async openMedia(_config, address, signal) {
      if (new URL(address).origin !== origin) throw new Error("not one of this carrier's addresses");
      return mediaOf(await request(address, { dispatcher: agent, headers: { authorization }, signal }));
    },

    close: () => agent.destroy(),
  };
}

function toRequest(message: OutboundMessage, { from, messagingServiceSid }: SimulatedConfig): SendRequest {
  const account = from ?? messagingServiceSid;
  return {
    clientReference: message.attemptId,
    messageReference: message.messageId,
    lineId: message.lineId,
    channel: message.channel,
    from: message.from.address,
    ...(account !== undefined && { account }),
    to: message.group?.participants[0] ?? message.to.address,
    ...(message.group && { group: { ...message.group, participants: [...message.group.participants] } }),
    ...(message.subject !== undefined && { subject: message.subject }),
    text: message.text,
    attachments: message.attachments,
    ...(message.replyTo !== undefined && { replyTo: message.replyTo }),
    ...(message.effect !== undefined && { effect: message.effect }),
    callbackUrl: message.callbackUrl,
  };
}

const acceptedAs = ({ id, groupId }: Accepted) =>
  ({ kind: 'accepted', carrierMessageId: id, ...(groupId !== undefined && { groupId }) }) as const;

function sendOutcome(response: Exchange): SendOutcome {
  if (!response.connected) return { kind: 'transient', reason: reasonOf(response) };
  if (response.error !== null || response.status === null)
    return { kind: 'unknown', reason: reasonOf(response) };
  const { status } = response;
  if (status >= 200 && status < 300) {
    const accepted = readOk(response, Accepted);
    if (accepted) return acceptedAs(accepted);
    return foreignAnswer(reasonOf(response));
  }
  const refusal = readJson(response, ErrorResponse)?.error;
  const reason = reasonOf(response);
  if (refusal?.code === 'not_registered') return { kind: 'unavailable', reason };
  if (refusal?.code === 'opted_out') return { kind: 'refused', reason, optedOut: true };
  if (refusal?.code === 'line_down') return { kind: 'transient', reason, ofLine: true };
  // Only the carrier itself knows that it did not take the message.
  if (refusal && (status === 429 || status === 503)) {
    const seconds = refusal.retryAfterSeconds;
    return { kind: 'transient', reason, ...(seconds !== undefined && { retryAfterMs: seconds * 1000 }) };
  }
  return failureOfLine(response, refusal !== undefined, reason) ?? { kind: 'refused', reason };
}

const reasonOf = (response: Exchange): string =>
  failureReason(response, readJson(response, ErrorResponse)?.error.message);
