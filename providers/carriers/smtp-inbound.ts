import { createHash, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { CarrierEvent } from '#domain/carrier-event.ts';
import { BadSignature, type CallbackRequest } from './carrier.ts';
import { header, InboundEmail, OWN_MESSAGE_ID, pastDate, textOf } from './inbound-email.ts';
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

/** The header by which Postmark echoes our Message-ID in its bounces, and the name under which it does. */
export const ECHO_HEADER = 'X-PM-Metadata-message-id';
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
 * Reads one callback about an email line.
 * @param secret what the `secret` of the callback's address has to be; without one nothing is taken.
 * @throws BadSignature
 */
export function readInboundEmail(secret: string | undefined, request: CallbackRequest): CarrierEvent[] {
  const given = new URL(request.url).searchParams.get('secret');
  if (secret === undefined || given === null || !same(given, secret)) throw new BadSignature('wrong secret');
  const body: unknown = JSON.parse(request.rawBody);
  const bounce = BounceRecord.safeParse(body);
  if (bounce.success) return readBounceRecord(bounce.data);
  return emailEvents(InboundEmail.parse(body));
}

/** What an email that came in says, by whichever way it came. */
export const emailEvents = (email: InboundEmail): CarrierEvent[] => readBounce(email) ?? [readReply(email)];

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));

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
    eventId: `inbound:${email.MessageID}`,
    at: pastDate(email.Date),
    // Mail that reaches us by two ways has one Message-ID, and is one reply.
    carrierMessageId: header(email, 'Message-ID') ?? email.MessageID,
    from: email.FromFull?.Email ?? /<([^>]+)>/.exec(email.From)?.[1] ?? email.From,
    // What PostgreSQL keeps no text with.
    text: (email.StrippedTextReply?.trim() || unquoted(textOf(email))).replaceAll('\0', ''),
    attachments: email.Attachments.map(({ Name, Content, ContentType }) => ({
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
  return (
    named.match(OWN_MESSAGE_ID)?.[0] ??
    references.match(OWN_MESSAGE_ID)?.at(-1) ??
    named.match(MESSAGE_ID)?.[0]
  );
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
