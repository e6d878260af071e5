import { createPublicKey, verify } from 'node:crypto';
import { z } from 'zod';
import { HeaderToken } from '#domain/base/header-token.ts';
import { firstOf, listOf, readable, readableOf } from '#domain/base/bounded-schema.ts';
import { normalizePhone } from '#domain/base/phone.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import type { CallStatus } from '#domain/inbox/call.ts';
import { MAX_PARTICIPANTS } from '#domain/inbox/group.ts';
import {
  type CarrierEvent,
  type InboundGroup,
  MAX_CARRIER_ID,
  MAX_FILES,
  sanitizeEvents,
} from '#domain/lines/carrier-event.ts';
import { extensionFor } from '#domain/messages/attachment-type.ts';
import { readJsonBody } from './callback-secret.ts';
import {
  type AttemptReference,
  BadSignature,
  type CallbackHead,
  type CallbackRequest,
  type Carrier,
  type ConnectionCheck,
  type ConnectionGuide,
  type OutboundMessage,
  type ReconcileOutcome,
} from './carrier.ts';
import { credentialsCheck, failed, passed, serverCheck, unknown } from './connection-checks.ts';
import { createHostedApi, type HostedCarrierOptions, ownServerOf, unanswered } from './hosted-api.ts';
import { Explanation, foreignAnswer, isOk, readJson, readOk } from './http-response.ts';
import { CLOCK_SKEW_MS } from './listed-attempt.ts';
import { TelnyxErrors, telnyxFailure, telnyxLateFailure, telnyxReason } from './telnyx-errors.ts';

const isPublicKey = (text: string): boolean => Buffer.from(text, 'base64').length === 32;

/** Default of `from`: the line's number. */
export const TelnyxConfig = z.object({
  apiKey: HeaderToken.meta({ secret: true, description: 'It begins with KEY.' }),
  publicKey: z.string().refine(isPublicKey, 'must be 32 bytes in base64').meta({
    description: 'Of the account, in base64. It verifies webhooks.',
  }),
  from: z.string().min(1).optional().meta({
    description: 'Where messages leave from another sender than the line.',
  }),
  ...ownServerOf("Telnyx's"),
});
export type TelnyxConfig = z.infer<typeof TelnyxConfig>;

const GUIDE: ConnectionGuide = {
  title: 'Telnyx',
  summary: 'SMS and MMS from a number of your Telnyx account.',
  before: [
    'In the Telnyx Mission Control Portal, buy a number that can send SMS, or choose one.',
    'Under Messaging, create a messaging profile for this number alone, and assign the number to it.',
    'Under API Keys, create an API key, and copy the public key of the account.',
  ],
  after: [
    'In the Mission Control Portal, open Messaging and the messaging profile of the number.',
    'Under Inbound, enter the callback URL below as webhook URL, with webhook API version 2.',
    'Save the profile, and test the connection here.',
    'To have missed calls known, enter the same URL, with API version 2, as webhook URL of the Voice API application or SIP connection of the number.',
  ],
};

/** Other services respond with an id as well. */
const MessageResponse = z.object({
  data: z.object({ id: z.string().min(1), record_type: z.literal('message') }),
});

/** An outbound message, as webhooks and `GET /v2/messages/{id}` show it. */
const Outbound = z.object({
  id: z.string().min(1),
  to: firstOf(z.object({ status: readable(Explanation) }), 1),
  errors: readable(TelnyxErrors),
});
const Party = z.object({ phone_number: z.string().min(1) });
const Inbound = z.object({
  id: z.string().min(1),
  from: Party,
  to: readable(readableOf(Party, MAX_PARTICIPANTS)),
  cc: readable(readableOf(Party, MAX_PARTICIPANTS)),
  /** Of an MMS: phones show it above the text. */
  subject: readable(z.string()),
  text: readable(z.string()),
  media: readable(
    readableOf(z.object({ url: z.string().min(1), content_type: readable(z.string()) }), MAX_FILES),
  ),
  autoresponse_type: readable(z.string()),
});
/** A leg of a call, as the application or connection of its number reports it (developers.telnyx.com, Voice API webhooks). */
const Leg = z.object({
  call_leg_id: z.string().min(1),
  from: readable(z.string()),
  to: readable(z.string()),
  hangup_cause: readable(z.string()),
});
const CALL_STATUS: Readonly<Record<string, CallStatus>> = {
  'call.initiated': 'ringing',
  'call.answered': 'answered',
  'call.hangup': 'failed',
};
/** The causes with which a call ends that somebody had answered. */
const TALKED = new Set(['normal_clearing', 'time_limit']);

const Webhook = z.object({
  data: z.object({ event_type: z.string(), occurred_at: readable(z.string()), payload: z.unknown() }),
});

/** The most records of a page. */
const PAGE = 50;
const MAX_PAGES = 10;
const DetailRecords = z.object({
  data: listOf(z.unknown(), PAGE),
  meta: readable(z.object({ total_pages: readable(z.number()) })),
});
const DetailRecord = z.object({
  uuid: z.string().min(1),
  delivery_status_webhook_url: readable(z.string()),
});

const Profiles = z.object({ data: listOf(z.unknown(), PAGE) });
const Numbers = z.object({
  data: listOf(z.object({ phone_number: z.string(), messaging_profile_id: readable(z.string()) }), PAGE),
});
const Profile = z.object({
  data: z.object({
    enabled: readable(z.boolean()),
    webhook_url: readable(z.string()),
    webhook_api_version: readable(z.string()),
  }),
});

/** A webhook that is older may have been recorded and sent again. */
const MAX_AGE_MS = 5 * 60_000;
/** The parameter of the webhook URL that names the attempt, which Telnyx keeps with the message. */
const ATTEMPT = 'attempt';

/** SMS and MMS by Telnyx (developers.telnyx.com/api-reference/messages), API v2. */
export function telnyxCarrier(options: HostedCarrierOptions = {}): Carrier<TelnyxConfig> {
  const bearer = ({ apiKey }: TelnyxConfig) => ({ authorization: `Bearer ${apiKey}` });
  const api = createHostedApi('https://api.telnyx.com', bearer, options);
  const { ask } = api;
  const numbers = (config: TelnyxConfig, filter: 'phone_number' | 'messaging_profile_id', value: string) =>
    ask(config, '/v2/phone_numbers/messaging', { [`filter[${filter}]`]: value, 'page[size]': '2' });
  const profileOf = async (config: TelnyxConfig, id: string) =>
    readOk(await ask(config, `/v2/messaging_profiles/${encodeURIComponent(id)}`), Profile)?.data ?? null;
  const askAccount = (config: TelnyxConfig) => ask(config, '/v2/messaging_profiles', { 'page[size]': '1' });

  /** What has become of a message. It is not shown for longer than ten days. */
  async function reportsOf(config: TelnyxConfig, id: string): Promise<CarrierEvent[]> {
    const response = await ask(config, `/v2/messages/${encodeURIComponent(id)}`);
    const shown = readOk(response, z.object({ data: Outbound }))?.data;
    return shown ? statusEvents(shown, api.now()) : [];
  }

  return {
    name: 'telnyx',
    channels: ['sms'],
    capabilities: () => ['attachments'],
    config: TelnyxConfig,
    servers: api.servers,
    timeoutMs: api.timeoutMs,
    guide: GUIDE,

    async send(config, message, signal) {
      const response = await api.send(config, '/v2/messages', {
        body: bodyOf(config, message),
        signal,
      });
      const lost = unanswered(response, telnyxReason(response));
      if (lost) return lost;
      if (!isOk(response)) return telnyxFailure(response);
      const taken = readJson(response, MessageResponse);
      return taken
        ? { kind: 'accepted', carrierMessageId: taken.data.id }
        : foreignAnswer(telnyxReason(response));
    },

    /**
     * Telnyx lists the webhook URL of each message, which names the attempt. It does not say how soon a message is listed, so one that is
     * absent may have been sent.
     */
    async reconcile(config, attempt): Promise<ReconcileOutcome> {
      for (let page = 1; page <= MAX_PAGES; page += 1) {
        const response = await ask(config, '/v2/detail_records', {
          ...filterOf(attempt),
          sort: '-created_at',
          'page[number]': String(page),
          'page[size]': String(PAGE),
        });
        const list = readOk(response, DetailRecords);
        if (!list) return { kind: 'unreachable', reason: telnyxReason(response) };
        const records = list.data.flatMap((raw) => DetailRecord.safeParse(raw).data ?? []);
        const found = records.find(
          ({ delivery_status_webhook_url: url }) => attemptOf(url ?? '') === attempt.attemptId,
        );
        if (found) {
          const reports = await reportsOf(config, found.uuid);
          return {
            kind: 'accepted',
            carrierMessageId: found.uuid,
            ...(reports.length > 0 && { reports }),
          };
        }
        if (page >= (list.meta?.total_pages ?? 1)) break;
      }
      return { kind: 'unreachable', reason: 'Telnyx does not list it yet' };
    },

    async checkAvailability(_config, address) {
      return normalizePhone(address, 'US') === null
        ? { status: 'unavailable', reason: 'not a phone number' }
        : { status: 'available' };
    },

    account: ({ apiKey, baseUrl, from }, address) => JSON.stringify([apiKey, baseUrl, from ?? address]),

    async probe(config, _lineId, address) {
      const account = await askAccount(config);
      if (!readOk(account, Profiles)) throw new Error(telnyxReason(account));
      const number = address === undefined ? null : numberOf(config, address);
      if (number === null) return;
      // Answers that say nothing about the number prove nothing.
      const found = readOk(await numbers(config, 'phone_number', number), Numbers)?.data;
      const own = found?.find(({ phone_number: owned }) => owned === number);
      if (found && !own) throw new Error(`the account has no number ${number} for messages`);
      if (!own) return;
      const profileId = own.messaging_profile_id ?? '';
      if (profileId === '') throw new Error(`${number} is in no messaging profile`);
      const profile = await profileOf(config, profileId);
      if (profile?.enabled === false) throw new Error(`the messaging profile of ${number} is disabled`);
    },

    async *checkConnection(config, { address, callbackUrl, reachCallbacks }) {
      const account = await askAccount(config);
      yield serverCheck(api.hostOf(config), account, 'baseUrl');
      if (account.error !== null) return;
      const credentials = credentialsCheck(account, readOk(account, Profiles) !== null, {
        who: 'Telnyx',
        what: 'the API key',
        setting: 'apiKey',
        reason: telnyxReason(account),
      });
      yield credentials;
      if (credentials.result !== 'pass') return;
      yield* numberChecks(numberOf(config, address), callbackUrl, {
        numbers: async (filter, value) => readOk(await numbers(config, filter, value), Numbers)?.data ?? null,
        profile: (id) => profileOf(config, id),
      });
      yield { name: 'callback_address', ...(await reachCallbacks()) };
    },

    checkCallback: (_config, head) => void signedBy(head, api.now()),

    async parseCallback(config, callback) {
      verifySignature(config, callback, api.now());
      const now = api.now();
      return sanitizeEvents(readWebhook(config, readJsonBody(callback.rawBody), now), now);
    },

    openMedia: (_config, url, signal, from) => api.openMedia(url, signal, from),
    close: api.close,
  };
}

function bodyOf({ from }: TelnyxConfig, message: OutboundMessage): Record<string, unknown> {
  const webhook = new URL(message.callbackUrl);
  webhook.searchParams.set(ATTEMPT, message.attemptId);
  return {
    from: from ?? message.from.address,
    to: message.to.address,
    ...(message.text !== '' && { text: message.text }),
    ...(message.attachments.length > 0 && { media_urls: message.attachments.map(({ url }) => url) }),
    webhook_url: webhook.href,
    use_profile_webhooks: false,
  };
}

const attemptOf = (url: string): string | null =>
  URL.canParse(url) ? new URL(url).searchParams.get(ATTEMPT) : null;

const filterOf = ({ to, startedAt }: AttemptReference): Record<string, string> => ({
  'filter[record_type]': 'messaging',
  'filter[direction]': 'outbound',
  'filter[cld]': to,
  'filter[created_at][gte]': new Date(startedAt.getTime() - CLOCK_SKEW_MS).toISOString(),
});

/** In E.164; null if it is not a number that an account has. */
function numberOf({ from }: TelnyxConfig, address: string | null): string | null {
  const sender = from ?? address;
  return sender === null ? null : normalizePhone(sender, 'US');
}

/** What Telnyx says; null: nothing. */
interface Answers {
  numbers(
    filter: 'phone_number' | 'messaging_profile_id',
    value: string,
  ): Promise<z.infer<typeof Numbers>['data'] | null>;
  profile(id: string): Promise<z.infer<typeof Profile>['data'] | null>;
}

/** Whether the account has the number, it can send, and replies to it reach the line: the checks `sender` and `callback`. */
async function* numberChecks(
  number: string | null,
  callbackUrl: string | null,
  answers: Answers,
): AsyncIterable<ConnectionCheck> {
  if (number === null) return yield unknown('sender', 'No phone number is given, so nothing was looked up.');
  const found = await answers.numbers('phone_number', number);
  if (!found) return yield unknown('sender', 'Telnyx did not list the numbers of the account.');
  const own = found.find(({ phone_number: owned }) => owned === number);
  if (!own) return yield failed('sender', `The account has no number ${number} for messages.`, 'address');
  const profileId = own.messaging_profile_id ?? '';
  if (profileId === '') return yield failed('sender', `${number} is in no messaging profile.`);
  const profile = await answers.profile(profileId);
  if (profile?.enabled === false)
    return yield failed('sender', `The messaging profile of ${number} is disabled.`);
  yield passed('sender', `${number} belongs to the account, and is in a messaging profile.`);
  if (callbackUrl === null) return;
  if (!profile) return yield unknown('callback', 'Telnyx did not show the messaging profile.');
  if (profile.webhook_url !== callbackUrl)
    return yield failed('callback', 'The webhook URL of the messaging profile is not the callback URL.');
  if (profile.webhook_api_version !== undefined && profile.webhook_api_version !== '2')
    return yield failed('callback', 'The messaging profile does not send webhooks of API version 2.');
  const others = await answers.numbers('messaging_profile_id', profileId);
  if (others?.some(({ phone_number: other }) => other !== number))
    return yield failed(
      'callback',
      'The messaging profile has other numbers, whose messages would come here.',
    );
  yield passed('callback', 'Replies are reported to this line.');
}

/** @returns what a signature is about. @throws BadSignature if it is absent or too old. */
function signedBy({ headers }: CallbackHead, now: Date): { signature: Buffer; timestamp: string } {
  const signature = headers['telnyx-signature-ed25519'];
  const timestamp = headers['telnyx-timestamp'];
  if (!signature || !timestamp) throw new BadSignature('it is not signed');
  const age = Math.abs(now.getTime() - Number(timestamp) * 1000);
  if (!(age <= MAX_AGE_MS)) throw new BadSignature('it is too old');
  return { signature: Buffer.from(signature, 'base64'), timestamp };
}

/** Ed25519 over `timestamp|body`. @throws BadSignature */
function verifySignature({ publicKey }: TelnyxConfig, callback: CallbackRequest, now: Date): void {
  const { signature, timestamp } = signedBy(callback, now);
  const x = Buffer.from(publicKey, 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  if (!verify(null, Buffer.from(`${timestamp}|${callback.rawBody}`), key, signature))
    throw new BadSignature('the signature does not match');
}

/** @throws ZodError */
function readWebhook({ from }: TelnyxConfig, body: unknown, now: Date): CarrierEvent[] {
  const { event_type: type, occurred_at: occurredAt, payload } = Webhook.parse(body).data;
  const at = new Date(occurredAt ?? '');
  const time = Number.isNaN(at.getTime()) ? now : at;
  switch (type) {
    case 'message.sent':
    case 'message.finalized':
      return statusEvents(Outbound.parse(payload), time);
    case 'message.received': {
      const message = Inbound.parse(payload);
      const { to } = message;
      const isForAnother =
        from !== undefined && !!to?.length && !to.some(({ phone_number: number }) => number === from);
      return isForAnother ? [] : [inboundEvent(message, time)];
    }
    default: {
      const status = CALL_STATUS[type];
      return status ? callEvents(from, status, Leg.parse(payload), time) : [];
    }
  }
}

/** @param sender of the line, if it has another than its own: calls of other numbers are not about it. */
function callEvents(
  sender: string | undefined,
  status: CallStatus,
  { call_leg_id: callId, from, to, hangup_cause: cause }: z.infer<typeof Leg>,
  at: Date,
): CarrierEvent[] {
  if (sender !== undefined && from !== sender && to !== sender) return [];
  const ended = status === 'failed';
  return [
    {
      kind: 'call',
      eventId: `${callId}:${status}`,
      callId,
      at,
      from: from ?? '',
      to: to ?? '',
      status: ended && TALKED.has(cause ?? '') ? 'billed' : status,
      ...(ended && cause && { hangupCause: cause }),
    },
  ];
}

/** Webhooks arrive in any order; only final statuses are used. */
function statusEvents(
  { id: carrierMessageId, to, errors }: z.infer<typeof Outbound>,
  at: Date,
): CarrierEvent[] {
  const status = to[0]?.status ?? '';
  const [error] = errors ?? [];
  const about = {
    eventId: `${carrierMessageId}:${status}${error ? `:${error.code}` : ''}`,
    carrierMessageId,
    at,
  };
  switch (status) {
    case 'delivered':
      return [{ kind: 'receipt', ...about, eventId: `${carrierMessageId}:${status}`, status: 'delivered' }];
    case 'sending_failed':
    case 'delivery_failed':
    case 'expired':
      return [
        {
          kind: 'receipt',
          ...about,
          status: 'failed',
          ...(error ? telnyxLateFailure(error) : { reason: status }),
        },
      ];
    case 'read':
      return [{ kind: 'read', ...about }];
    default:
      return [];
  }
}

/** A message to several numbers. Telnyx has no ids of such conversations: they are known by who is in them. */
function groupOf({ from, to, cc }: z.infer<typeof Inbound>): InboundGroup | null {
  if ((to ?? []).length < 2 && !cc?.length) return null;
  const participants = [from, ...(to ?? []), ...(cc ?? [])].map(({ phone_number: number }) => number);
  return { id: [...new Set(participants)].toSorted().join(' ').slice(0, MAX_CARRIER_ID), participants };
}

/** What phones write as the subject of an MMS that has none. */
const NO_SUBJECT = /^\W*no[ -]?subject\W*$/i;

function inboundEvent(message: z.infer<typeof Inbound>, at: Date): CarrierEvent {
  const subject = (message.subject ?? '').replace(NO_SUBJECT, '').trim();
  const body = [subject, message.text ?? ''].filter(Boolean).join('\n');
  // Telnyx blocks further messages by its own keywords, so its classification wins.
  const own =
    message.autoresponse_type === 'STOP' || message.autoresponse_type === 'START'
      ? message.autoresponse_type
      : null;
  const attachments = (message.media ?? []).map(({ url, content_type: type }, index) => {
    const extension = extensionFor(type ?? null);
    return {
      url,
      contentType: type ?? null,
      name: `attachment-${index + 1}${extension === null ? '' : `.${extension}`}`,
    };
  });
  const group = groupOf(message);
  return {
    kind: 'reply',
    eventId: message.id,
    carrierMessageId: message.id,
    at,
    from: message.from.phone_number,
    // Also by itself, because words that opt out count there.
    ...(subject !== '' && { subject }),
    text: own !== null && optOutKeyword(body) !== own.toLowerCase() ? own : body,
    attachments,
    autoReply: false,
    ...(group && { group }),
  };
}
