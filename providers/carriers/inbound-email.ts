import { createHash } from 'node:crypto';
import { z } from 'zod';
import { firstOf } from '#domain/bounded-schema.ts';
import { MAX_CARRIER_ID, MAX_FILES } from '#domain/carrier-event.ts';
import { toStorable, textProblem } from '#domain/text.ts';
import { htmlToText } from '../untrusted/html-text.ts';

/** More than any mail server accepts. */
const MAX_HEADERS = 1000;
const Header = z.object({ Name: z.string(), Value: z.string() });

/**
 * An inbound email in the format of Postmark's inbound webhook
 * (https://postmarkapp.com/developer/webhooks/inbound-webhook), which any service or script can post.
 */
export const InboundEmail = z.object({
  MessageID: z
    .string()
    .min(1)
    .refine((id) => textProblem(id) === null, 'must not contain the NUL character or half a character'),
  From: z.string(),
  FromFull: z.object({ Email: z.string() }).optional(),
  Subject: z.string().nullish(),
  Date: z.string().nullish(),
  TextBody: z.string().nullish(),
  HtmlBody: z.string().nullish(),
  StrippedTextReply: z.string().nullish(),
  Headers: firstOf(Header, MAX_HEADERS).default([]),
  Attachments: firstOf(
    z.object({ Name: z.string(), Content: z.string(), ContentType: z.string().nullish() }),
    MAX_FILES,
  ).default([]),
});
export type InboundEmail = z.infer<typeof InboundEmail>;

/** The first value of a header; names are case-insensitive. */
export const header = ({ Headers }: InboundEmail, name: string): string | undefined =>
  Headers.find(({ Name }) => Name.toLowerCase() === name.toLowerCase())?.Value.trim();

/** The plain text, else the text of the HTML. */
export function textOf({ TextBody, HtmlBody }: InboundEmail): string {
  const text = TextBody?.trim() ?? '';
  if (text !== '' || !HtmlBody) return text;
  return htmlToText(HtmlBody);
}

const EVENT = 'inbound:';

/** A Message-ID of bounded length: senders choose them. */
export function shortId(id: string): string {
  const stored = toStorable(id);
  if (stored.length + EVENT.length <= MAX_CARRIER_ID && stored !== '') return stored;
  return createHash('sha256').update(id).digest('hex');
}

export const eventIdOf = ({ MessageID }: InboundEmail): string => EVENT + shortId(MessageID);

/** Our own Message-IDs: the id of an attempt, at any domain. */
export const OWN_MESSAGE_ID = /<[0-9a-f]{24}@[^<>\s]+>/g;

/** Parses a date; a missing or future one becomes now. */
export function pastDate(text: string | null | undefined): Date {
  const now = Date.now();
  const at = Date.parse(text ?? '');
  return new Date(Number.isNaN(at) ? now : Math.min(at, now));
}
