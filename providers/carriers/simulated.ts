import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { sanitizeEvents } from '#domain/carrier-event.ts';
import { refusedCredentials } from '#domain/send-outcome.ts';
import { exchange, type Exchange } from '../egress-exchange.ts';
import { Unreadable } from '../untrusted/processes.ts';
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
  ErrorAnswer,
  InboundSettings,
  type SendRequest,
} from './simulated-protocol.ts';

export interface SimulatedCarrierOptions {
  /** Where the simulator listens, e.g. `http://127.0.0.1:4010`. */
  url: string;
  /** Authenticates requests to it; the key of its callbacks is derived from it. */
  secret: string;
  /** Longer than the 5 s that its slowest recipient takes. */
  timeoutMs?: number;
  clock?: () => Date;
}

const SimulatedConfig = z.object({ from: z.string().optional(), messagingServiceSid: z.string().optional() });
type SimulatedConfig = z.infer<typeof SimulatedConfig>;

const QUESTION_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 64 * 1024;
/**
 * A request whose connection was lost may still be on its way into the carrier: until this long after its
 * start, "never seen" is not yet "never sent".
 */
const SETTLE_MS = 2_000;

/** The adapter of the simulated carrier; a line has no settings there, an SMS account has a sender. */
export function simulatedCarrier(options: SimulatedCarrierOptions): Carrier<SimulatedConfig> {
  const { url, secret, timeoutMs = 8_000, clock = () => new Date() } = options;
  const { origin } = new URL(url);
  const agent = new Agent({ connections: 128, headersTimeout: 0, bodyTimeout: 0 });
  const callbacks = new Webhook(callbackKey(secret));
  const authorization = `Bearer ${secret}`;

  async function ask(path: string): Promise<Exchange> {
    const question = { origin, path, method: 'GET', headers: { authorization } } as const;
    return exchange(agent, question, AbortSignal.timeout(QUESTION_TIMEOUT_MS), MAX_ANSWER_BYTES);
  }

  async function tell(method: 'POST' | 'PUT', path: string, body: unknown): Promise<Exchange> {
    const headers = { authorization, 'content-type': 'application/json' };
    const order = { origin, path, method, headers, body: JSON.stringify(body) } as const;
    return exchange(agent, order, AbortSignal.timeout(QUESTION_TIMEOUT_MS), MAX_ANSWER_BYTES);
  }

  return {
    name: 'simulated',
    channels: ['imessage', 'sms', 'email'],
    config: SimulatedConfig,
    timeoutMs,

    provisioning: {
      async allocate(line) {
        const answer = await tell('POST', '/carrier/lines', line satisfies AllocateRequest);
        const allocated = readAnswer(answer, Allocated);
        if (allocated) return { address: allocated.address, config: {} };
        if (answer.error === null && answer.status === 422) throw new LineRefused(whyNot(answer));
        throw new Error(whyNot(answer));
      },
    },

    async configureInbound(_config, lineId, callbackUrl) {
      const settings = InboundSettings.parse({ callbackUrl });
      const answer = await tell('PUT', `/carrier/lines/${encodeURIComponent(lineId)}/inbound`, settings);
      if (answer.error !== null || answer.status !== 204) throw new Error(whyNot(answer));
    },

    async send(config, message, signal) {
      const sending = {
        origin,
        path: '/carrier/messages',
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify(toRequest(message, config)),
      } as const;
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      return sendOutcome(await exchange(agent, sending, limit, MAX_ANSWER_BYTES));
    },

    async reconcile(_config, { attemptId, startedAt }) {
      const answer = await ask(`/carrier/messages?clientReference=${encodeURIComponent(attemptId)}`);
      if (answer.status === 404 && answer.error === null) {
        if (clock().getTime() - startedAt.getTime() >= SETTLE_MS) return { kind: 'not_sent' };
        return { kind: 'unreachable', reason: 'it may still be on its way' };
      }
      const accepted = readAnswer(answer, Accepted);
      return accepted
        ? { kind: 'accepted', carrierMessageId: accepted.id }
        : { kind: 'unreachable', reason: whyNot(answer) };
    },

    async checkAvailability(_config, address) {
      const answer = await ask(`/carrier/availability?address=${encodeURIComponent(address)}`);
      const found = readAnswer(answer, AvailabilityResponse);
      if (!found) return { status: 'error', reason: whyNot(answer) };
      return { status: found.available ? 'available' : 'unavailable' };
    },

    async probe(_config, lineId) {
      const answer = await ask(`/carrier/health?lineId=${encodeURIComponent(lineId)}`);
      if (answer.status !== 200 || answer.error !== null) throw new Error(whyNot(answer));
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
      // One key signs for all lines: what was signed for one must not be replayed to another.
      if (new URL(address).pathname.split('/').at(-1) !== lineId)
        throw new BadSignature('it is for another line');
      const absolute = (address: string): string => {
        if (!URL.canParse(address, url)) throw new Unreadable('the address of a file in it is not valid');
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
      const { statusCode, headers, body } = await request(address, {
        dispatcher: agent,
        headers: { authorization },
        signal,
      });
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

function toRequest(message: OutboundMessage, { from, messagingServiceSid }: SimulatedConfig): SendRequest {
  const account = from ?? messagingServiceSid;
  return {
    clientReference: message.attemptId,
    messageReference: message.messageId,
    lineId: message.lineId,
    channel: message.channel,
    from: message.from.address,
    ...(account !== undefined && { account }),
    to: message.to.address,
    ...(message.subject !== undefined && { subject: message.subject }),
    text: message.text,
    attachments: message.attachments,
    callbackUrl: message.callbackUrl,
  };
}

/** What an answer, or the lack of one, says of a send. */
function sendOutcome(answer: Exchange): SendOutcome {
  if (!answer.connected) return { kind: 'transient', reason: whyNot(answer) };
  if (answer.error !== null || answer.status === null) return { kind: 'unknown', reason: whyNot(answer) };
  const { status } = answer;
  if (status >= 200 && status < 300) {
    const accepted = readAnswer(answer, Accepted);
    if (accepted) return { kind: 'accepted', carrierMessageId: accepted.id };
    return { kind: 'unknown', reason: 'an answer that could not be read' };
  }
  const refusal = readJson(answer.body, ErrorAnswer)?.error;
  const reason = whyNot(answer);
  if (refusal?.code === 'not_registered') return { kind: 'unavailable', reason };
  if (refusal?.code === 'opted_out') return { kind: 'refused', reason, optedOut: true };
  // The key is the operator's matter: the message itself may still be sent once that is put right.
  if (status === 401 || status === 403) return refusedCredentials(reason);
  if (status === 429 || status === 503) {
    const seconds = refusal?.retryAfterSeconds;
    return { kind: 'transient', reason, ...(seconds !== undefined && { retryAfterMs: seconds * 1000 }) };
  }
  if (status >= 400 && status < 500) return { kind: 'refused', reason };
  // An error inside the carrier, or of a gateway before it, can come after the message was taken.
  return { kind: 'unknown', reason };
}

function readAnswer<T>({ status, error, body }: Exchange, schema: z.ZodType<T>): T | null {
  return error === null && status !== null && status >= 200 && status < 300 ? readJson(body, schema) : null;
}

function readJson<T>(text: string, schema: z.ZodType<T>): T | null {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

function whyNot({ error, status, body }: Exchange): string {
  if (error !== null) return error instanceof Error && error.message !== '' ? error.message : 'no answer';
  return readJson(body, ErrorAnswer)?.error.message ?? `the carrier answered ${status}`;
}
