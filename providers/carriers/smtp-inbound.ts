import { z } from 'zod';
import {
  sanitizeEvents,
  type CarrierEvent,
  MAX_CARRIER_ID,
  MAX_FILES,
  MAX_TEXT,
} from '#domain/carrier-event.ts';
import { truncate } from '#domain/text.ts';
import { firstAddress, parseMime } from '../untrusted/mime.ts';
import {
  eventIdOf,
  header,
  InboundEmail,
  OWN_MESSAGE_ID,
  pastDate,
  shortId,
  textOf,
} from './inbound-email.ts';
import { unquoted } from './quoted-text.ts';
import { readBounce } from './smtp-bounce.ts';

/** Postmark's bounce webhook (https://postmarkapp.com/developer/webhooks/bounce-webhook). */
const BounceRecord = z.object({
  RecordType: z.enum(['Bounce', 'SpamComplaint']),
  ID: z.union([z.number(), z.string()]),
  Type: z.string(),
  Description: z.string().nullish(),
  BouncedAt: z.string().nullish(),
  Metadata: z.record(z.string(), z.string()).default({}),
});

/** The name under which Postmark echoes our Message-ID in its bounces, after `X-PM-Metadata-`. */
const ECHO = 'message-id';

/** Those after which nothing more is to be sent to the address. */
const DEAD = new Set([
  'HardBounce',
  'BadEmailAddress',
  'ManuallyDeactivated',
  'AddressChange',
  'InboundError',
]);
/** Those that lost this one message. */
const LOST = new Set([
  'SoftBounce',
  'Blocked',
  'DnsError',
  'SpamNotification',
  'DMARCPolicy',
  'Undeliverable',
]);

/**
 * What one webhook call about an email line says.
 * @throws SyntaxError, ZodError
 */
export function readPostedEmail(rawBody: string): CarrierEvent[] {
  const body: unknown = JSON.parse(rawBody);
  const bounce = BounceRecord.safeParse(body);
  const events = bounce.success ? readBounceRecord(bounce.data) : emailEvents(InboundEmail.parse(body));
  return sanitizeEvents(events, new Date());
}

/**
 * What an email of a mailbox says.
 * @throws ZodError, or whatever the parser throws.
 */
export async function readMimeEmail(source: Uint8Array, isWhole: boolean): Promise<CarrierEvent[]> {
  return sanitizeEvents(emailEvents(await parseMime(source, isWhole)), new Date());
}

const emailEvents = (email: InboundEmail): CarrierEvent[] => readBounce(email) ?? [readReply(email)];

function readBounceRecord(record: z.infer<typeof BounceRecord>): CarrierEvent[] {
  const carrierMessageId = record.Metadata[ECHO];
  const complaint = record.RecordType === 'SpamComplaint' || record.Type === 'SpamComplaint';
  const dead = DEAD.has(record.Type);
  if (carrierMessageId === undefined || !(complaint || dead || LOST.has(record.Type))) return [];
  return [
    {
      kind: 'receipt',
      eventId: `bounce:${record.ID}`,
      at: pastDate(record.BouncedAt),
      carrierMessageId,
      status: 'failed',
      reason: `bounced: ${record.Description ?? record.Type}`,
      ...(complaint && { optedOut: true as const }),
      ...(dead && { deadAddress: true as const }),
    },
  ];
}

function readReply(email: InboundEmail): CarrierEvent {
  const replyTo = answeredId(email);
  return {
    kind: 'reply',
    eventId: eventIdOf(email),
    at: pastDate(email.Date),
    // Mail that reaches us by two ways has one Message-ID, and is one reply.
    carrierMessageId: shortId(header(email, 'Message-ID') || email.MessageID),
    from: email.FromFull?.Email ?? (firstAddress(email.From) || email.From),
    text: email.StrippedTextReply?.trim() || unquoted(truncate(textOf(email), MAX_TEXT)),
    attachments: email.Attachments.slice(0, MAX_FILES).map(({ Name, Content, ContentType }) => ({
      name: Name,
      contentType: ContentType ?? null,
      url: `data:;base64,${Content}`,
    })),
    ...(replyTo !== undefined && { replyTo }),
    autoReply: isAutomatic(email),
  };
}

const MESSAGE_ID = /<[^<>\s]+>/g;

/** The message it answers: named by `In-Reply-To`, else the latest of ours in `References` (RFC 5322 §3.6.4). */
function answeredId(email: InboundEmail): string | undefined {
  const named = header(email, 'In-Reply-To') ?? '';
  const references = header(email, 'References') ?? '';
  const answered =
    named.match(OWN_MESSAGE_ID)?.[0] ??
    references.match(OWN_MESSAGE_ID)?.at(-1) ??
    named.match(MESSAGE_ID)?.[0];
  // None of ours is that long.
  return answered !== undefined && answered.length <= MAX_CARRIER_ID ? answered : undefined;
}

/** Written by a machine: RFC 3834, and what was used before it. */
function isAutomatic(email: InboundEmail): boolean {
  const submitted = header(email, 'Auto-Submitted');
  if (submitted !== undefined && !/^no\b/i.test(submitted)) return true;
  if (['X-Autoreply', 'X-Autorespond'].some((name) => !/^no$/i.test(header(email, name) ?? 'no')))
    return true;
  if (/^(auto_reply|bulk|junk|list)$/i.test(header(email, 'Precedence') ?? '')) return true;
  return header(email, 'Return-Path') === '<>';
}
