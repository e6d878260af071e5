import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { extensionFor } from '#domain/messages/attachment-type.ts';
import { type CarrierEvent, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { BadSignature, type CallbackRequest } from '../carrier.ts';
import { placeText } from '../place-text.ts';
import { lateFailure } from './errors.ts';
import { readTwilioCall } from './voice.ts';

/** A status callback has a `MessageStatus`, an inbound message does not. */
const StatusForm = z.object({
  MessageSid: z.string().min(1),
  MessageStatus: z.string().min(1),
  ErrorCode: z.string().optional(),
  /** The sender, which a messaging service chooses. */
  From: z.string().optional(),
  /** `rcs` or `whatsapp`; callbacks of SMS have none. */
  ChannelPrefix: z.string().optional(),
});
const InboundForm = z.object({
  MessageSid: z.string().min(1),
  From: z.string().min(1),
  Body: z.string().default(''),
  OptOutType: z.enum(['STOP', 'START', 'HELP']).optional().catch(undefined),
  /** Of a place that the contact has shared. */
  Latitude: z.string().optional(),
  Longitude: z.string().optional(),
  Label: z.string().optional(),
  Address: z.string().optional(),
});

/** A messaging service also has senders of RCS and WhatsApp: `rcs:+14155550123`. It is the same contact. */
const CHANNEL_PREFIX = /^(?:rcs|whatsapp):/i;
/** The recipient of a message that left by RCS, in lists. */
export const rcsAddress = (number: string): string => `rcs:${number}`;
/** A sender of RCS, which a messaging service tries first (www.twilio.com/docs/rcs/send-an-rcs-message). */
const RCS_SENDER = /^rcs:/i;

/** More than any callback has. Bounds the cost of verifying forged callbacks. */
const MAX_FIELDS = 500;

/** The keys that sign the callbacks of an account. */
export interface SigningKeys {
  authToken: string;
  /** The secret of the account's SharedKey for webhooks. */
  sharedKeySecret?: string | undefined;
}

/** Names the algorithm of a callback that is signed with a SharedKey: `key=…,algorithm=HMAC_SHA256`. */
const SETTINGS_HEADER = 'x-twilio-webhooks-signature-settings';

type Algorithm = 'sha1' | 'sha256';
const ALGORITHMS: Readonly<Record<string, Algorithm>> = { HMAC_SHA1: 'sha1', HMAC_SHA256: 'sha256' };

/**
 * `X-Twilio-Signature`: an HMAC over the URL and the form's fields in order of their names
 * (www.twilio.com/docs/usage/security). Twilio signs some URLs with their port and some without.
 * @param url the public URL that was registered at Twilio.
 * @throws BadSignature
 */
export function verifyTwilioSignature(
  keys: SigningKeys,
  { url, headers, rawBody }: CallbackRequest,
): URLSearchParams {
  if (rawBody.split('&', MAX_FIELDS + 1).length > MAX_FIELDS)
    throw new BadSignature('it has too many fields');
  const { key, algorithm } = signingKey(keys, headers[SETTINGS_HEADER]);
  const form = new URLSearchParams(rawBody);
  const given = Buffer.from(headers['x-twilio-signature'] ?? '');
  const matches = portVariants(url).some((variant) => {
    const expected = Buffer.from(signTwilio(key, variant, form, algorithm));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  if (!matches) throw new BadSignature('the signature does not match');
  return form;
}

/** @param settings the header that callbacks signed with a SharedKey have. */
function signingKey(
  { authToken, sharedKeySecret }: SigningKeys,
  settings: string | undefined,
): { key: string; algorithm: Algorithm } {
  if (!settings) return { key: authToken, algorithm: 'sha1' };
  if (sharedKeySecret === undefined)
    throw new BadSignature('it is signed with a SharedKey, and the settings have no sharedKeySecret');
  const name = /(?:^|,)\s*algorithm\s*=\s*([\w-]+)/.exec(settings)?.[1]?.toUpperCase() ?? 'HMAC_SHA1';
  const algorithm = Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name] : undefined;
  if (!algorithm) throw new BadSignature('its algorithm is not supported');
  return { key: sharedKeySecret, algorithm };
}

/** Computes Twilio's signature. Distinct values of a repeated field are sorted. */
export function signTwilio(
  key: string,
  url: string,
  form: URLSearchParams,
  algorithm: Algorithm = 'sha1',
): string {
  const fields = [...Map.groupBy(form, ([name]) => name)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([name, pairs]) =>
      [...new Set(pairs.map(([, value]) => value))].toSorted().map((value) => name + value),
    );
  return createHmac(algorithm, key)
    .update(url + fields.join(''), 'utf8')
    .digest('base64');
}

function portVariants(text: string): string[] {
  const url = new URL(text);
  const authority = /^(\w+:\/\/)([^/?#]+)(.*)$/s.exec(text);
  if (!authority) return [text];
  const [, scheme = '', host = '', rest = ''] = authority;
  const bare = host.replace(/:\d+$/, '');
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port;
  return [text, `${scheme}${bare}:${port}${rest}`, `${scheme}${bare}${rest}`];
}

/** Parses a form. Callbacks about messages have no timestamp, so `now` is used. */
export function readTwilioForm(form: URLSearchParams, now: Date): CarrierEvent[] {
  const fields = Object.fromEntries(form);
  if (form.has('CallSid')) return readTwilioCall(fields, now);
  const status = StatusForm.safeParse(fields);
  // An inbound message has only an `SmsStatus`.
  if (status.success) return statusEvents(status.data, now);
  return [inboundEvent(InboundForm.parse(fields), fields, now)];
}

/** Callbacks arrive in any order; only final statuses are used. */
export function statusEvents(
  {
    MessageSid: carrierMessageId,
    MessageStatus: status,
    ErrorCode: code,
    From: sender = '',
    ChannelPrefix: prefix = '',
  }: z.infer<typeof StatusForm>,
  at: Date,
): CarrierEvent[] {
  const isRcs = RCS_SENDER.test(sender) || (sender === '' && prefix.toLowerCase() === 'rcs');
  const hasCode = code !== undefined && code !== '' && code !== '0';
  // The code may be reported later than the failure.
  const eventId = `${carrierMessageId}:${status}${hasCode ? `:${code}` : ''}`;
  const about = { eventId, carrierMessageId, at, ...(isRcs && { transport: 'rcs' as const }) };
  switch (status) {
    case 'delivered':
      return [{ kind: 'receipt', ...about, status: 'delivered' }];
    case 'undelivered':
    case 'failed':
    case 'canceled': {
      const reason = hasCode && { reason: `${code}: ${status}` };
      return [{ kind: 'receipt', ...about, status: 'failed', ...reason, ...lateFailure(Number(code)) }];
    }
    case 'read':
      return [{ kind: 'read', ...about }];
    default:
      return [];
  }
}

function inboundEvent(
  { MessageSid, From, Body, OptOutType, ...place }: z.infer<typeof InboundForm>,
  fields: Record<string, string>,
  at: Date,
): CarrierEvent {
  // `NumMedia` says no more than the fields themselves.
  const attachments = Array.from({ length: MAX_FILES }, (_, index) => ({
    url: fields[`MediaUrl${index}`] ?? '',
    contentType: fields[`MediaContentType${index}`] ?? null,
  }))
    .filter(({ url }) => url !== '')
    .map(({ url, contentType }, index) => ({ url, contentType, name: mediaName(index, contentType) }));
  // The account can define its own keywords (Advanced Opt-Out), so Twilio's classification wins.
  const own = OptOutType === 'STOP' || OptOutType === 'START' ? OptOutType : null;
  const said = Body || placeText(place.Latitude, place.Longitude, [place.Label, place.Address]);
  const text = own !== null && optOutKeyword(Body) !== own.toLowerCase() ? own : said;
  return {
    kind: 'reply',
    eventId: MessageSid,
    carrierMessageId: MessageSid,
    at,
    from: From.replace(CHANNEL_PREFIX, ''),
    text,
    attachments,
    autoReply: false,
  };
}

/** Twilio does not report file names: `image/jpeg` becomes `attachment-1.jpg`. */
function mediaName(index: number, contentType: string | null): string {
  const extension = extensionFor(contentType);
  return `attachment-${index + 1}${extension === null ? '' : `.${extension}`}`;
}
