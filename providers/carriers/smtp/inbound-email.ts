import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readable, readableOf } from '#domain/base/bounded-schema.ts';
import { MAX_CARRIER_ID, MAX_FILES } from '#domain/lines/carrier-event.ts';
import { toStorable, textProblem } from '#domain/base/text.ts';
import { htmlToText } from '../../untrusted/html-text.ts';

/** More than any mail server accepts. */
const MAX_HEADERS = 1000;
const Header = z.object({ Name: z.string(), Value: z.string() });
const File = z.object({
  Name: readable(z.string()).transform((name) => name ?? ''),
  Content: z.string(),
  ContentType: readable(z.string()),
});

/**
 * An inbound email in the format of Postmark's inbound webhook
 * (https://postmarkapp.com/developer/webhooks/inbound-webhook), which any service or script can post.
 * A field or a file in an unexpected form must not cost the words of a contact.
 */
export const InboundEmail = z.object({
  MessageID: z
    .string()
    .min(1)
    .refine((id) => textProblem(id) === null, 'must not contain the NUL character or half a character'),
  From: z.string(),
  FromName: readable(z.string()),
  FromFull: readable(z.object({ Email: z.string(), Name: readable(z.string()) })),
  ReplyTo: readable(z.string()),
  Subject: readable(z.string()),
  Date: readable(z.string()),
  TextBody: z.string().nullish(),
  HtmlBody: z.string().nullish(),
  StrippedTextReply: readable(z.string()),
  Headers: readable(readableOf(Header, MAX_HEADERS)).transform((headers) => headers ?? []),
  Attachments: readable(readableOf(File, MAX_FILES)).transform((files) => files ?? []),
});
export type InboundEmail = z.infer<typeof InboundEmail>;

/** The first value of a header; names are case-insensitive. */
export const header = ({ Headers }: InboundEmail, name: string): string | undefined =>
  Headers.find(({ Name }) => Name.toLowerCase() === name.toLowerCase())?.Value.trim();

/** The subject, on one line. */
export const subjectLine = ({ Subject }: InboundEmail): string =>
  (Subject ?? '').replaceAll(/\s+/g, ' ').trim();

/** The plain text, else the text of the HTML. */
export function textOf({ TextBody, HtmlBody }: InboundEmail): string {
  const text = TextBody?.trim() ?? '';
  if (text !== '' || !HtmlBody) return text;
  return htmlToText(HtmlBody);
}

const EVENT = 'inbound:';
const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Between an id and the fingerprint of its email. */
const FINGERPRINT_LENGTH = 16;

/** A Message-ID of bounded length: senders choose them. */
export function shortId(id: string): string {
  const stored = toStorable(id);
  if (stored.length + EVENT.length + FINGERPRINT_LENGTH < MAX_CARRIER_ID && stored !== '') return stored;
  return digestOf(id);
}

/**
 * Tells emails apart that have the same Message-ID: some programs repeat one or send none. It is the same for an email that arrives
 * by webhook and in the mailbox.
 */
export function fingerprintOf(email: InboundEmail): string {
  const words = [email.FromFull?.Email ?? email.From, subjectLine(email), textOf(email)].map((text) =>
    text.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, ''),
  );
  return digestOf(words.join(' ')).slice(0, FINGERPRINT_LENGTH);
}

/** The Message-ID as the sender gave it; null without one. */
export function messageIdOf(email: InboundEmail): string | null {
  const id = header(email, 'Message-ID') ?? '';
  return /[^<>\s]/.test(id) ? id : null;
}

export const eventIdOf = (email: InboundEmail): string =>
  `${EVENT}${shortId(email.MessageID)} ${fingerprintOf(email)}`;

/** A program can write an email without a connection; what differs by more is a wrong clock. */
const MAX_QUEUED_MS = 86_400_000;

/** When an email was sent: by its sender's clock, unless the server that received it says that it is wrong. */
export function sentAt(email: InboundEmail): Date {
  const sent = pastDate(email.Date);
  const received = receivedAt(header(email, 'Received') ?? '');
  const isKnown = !Number.isNaN(Date.parse(email.Date ?? ''));
  if (received === null || (isKnown && received.getTime() - sent.getTime() <= MAX_QUEUED_MS)) return sent;
  return pastDate(received.toISOString());
}

/** Of a time with comments. */
const MAX_TIME = 200;

/** The time in a header `Received`; of several, the topmost is of the server that received the email (RFC 5321, section 4.4). */
export function receivedAt(value: string): Date | null {
  const time = value.slice(value.lastIndexOf(';') + 1).slice(0, MAX_TIME);
  const at = new Date(time.replaceAll(/\([^()]*\)/g, ' '));
  return Number.isNaN(at.getTime()) ? null : at;
}

/** Parses a date; a missing or future one becomes now. */
export function pastDate(text: string | null | undefined): Date {
  const now = Date.now();
  const at = Date.parse(text ?? '');
  return new Date(Number.isNaN(at) ? now : Math.min(at, now));
}
