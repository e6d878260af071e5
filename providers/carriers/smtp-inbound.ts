import { z } from 'zod';
import {
  sanitizeEvents,
  type CarrierEvent,
  MAX_CARRIER_ID,
  MAX_FILES,
  MAX_TEXT,
} from '#domain/carrier-event.ts';
import { complaintReason } from '#domain/complaint.ts';
import { truncate } from '#domain/text.ts';
import { parseUntrustedJson } from '#domain/untrusted-json.ts';
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
import { unquoted } from '#domain/own-words.ts';
import { readReport } from './smtp-reports.ts';

/** Postmark's bounce webhook (https://postmarkapp.com/developer/webhooks/bounce-webhook). */
const BounceRecord = z.object({
  RecordType: z.enum(['Bounce', 'SpamComplaint']),
  ID: z.union([z.number(), z.string()]),
  Type: z.string(),
  Description: z.string().nullish(),
  BouncedAt: z.string().nullish(),
  Metadata: z.record(z.string(), z.string()).default({}),
});

/** Postmark returns our header `X-PM-Metadata-message-id` in the metadata of bounces. */
const ECHO = 'message-id';

/** Bounces after which nothing more must be sent to the address. */
const DEAD = new Set([
  'HardBounce',
  'BadEmailAddress',
  'ManuallyDeactivated',
  'AddressChange',
  'InboundError',
]);
/** Bounces of this message only. */
const LOST = new Set([
  'SoftBounce',
  'Blocked',
  'DnsError',
  'SpamNotification',
  'DMARCPolicy',
  'Undeliverable',
]);

/**
 * Parses a webhook call about an email line.
 * @throws SyntaxError, JsonTooComplex, ZodError
 */
export function readPostedEmail(rawBody: string): CarrierEvent[] {
  const body = parseUntrustedJson(rawBody);
  const bounce = BounceRecord.safeParse(body);
  const events = bounce.success ? readBounceRecord(bounce.data) : emailEvents(InboundEmail.parse(body));
  return sanitizeEvents(events, new Date());
}

/**
 * Parses an email of a mailbox.
 * @throws ZodError, or whatever the parser throws.
 */
export async function readMimeEmail(source: Uint8Array, isWhole: boolean): Promise<CarrierEvent[]> {
  return sanitizeEvents(emailEvents(await parseMime(source, isWhole)), new Date());
}

const emailEvents = (email: InboundEmail): CarrierEvent[] => readReport(email) ?? [readReply(email)];

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
      reason: complaint ? complaintReason('abuse') : `bounced: ${record.Description ?? record.Type}`,
      ...(complaint && { complaint: true as const }),
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
    // The same email can arrive by webhook and mailbox; its Message-ID makes it one reply.
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

/** The message to which it replies: `In-Reply-To`, otherwise the last of ours in `References` (RFC 5322, section 3.6.4). */
function answeredId(email: InboundEmail): string | undefined {
  const named = header(email, 'In-Reply-To') ?? '';
  const references = header(email, 'References') ?? '';
  const answered =
    named.match(OWN_MESSAGE_ID)?.[0] ??
    references.match(OWN_MESSAGE_ID)?.at(-1) ??
    named.match(MESSAGE_ID)?.[0];
  // Ours are shorter.
  return answered !== undefined && answered.length <= MAX_CARRIER_ID ? answered : undefined;
}

/** Automatic replies, by RFC 3834 and older conventions. */
function isAutomatic(email: InboundEmail): boolean {
  const submitted = header(email, 'Auto-Submitted');
  if (submitted !== undefined && !/^no\b/i.test(submitted)) return true;
  if (['X-Autoreply', 'X-Autorespond'].some((name) => !/^no$/i.test(header(email, name) ?? 'no')))
    return true;
  if (/^(auto_reply|bulk|junk|list)$/i.test(header(email, 'Precedence') ?? '')) return true;
  return header(email, 'Return-Path') === '<>';
}
