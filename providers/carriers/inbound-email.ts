import { createHash } from 'node:crypto';
import { z } from 'zod';
import { MAX_CARRIER_ID } from '#domain/carrier-event.ts';
import { toStorable, textProblem } from '#domain/text.ts';
import { htmlToText } from '../untrusted/html-text.ts';

const Header = z.object({ Name: z.string(), Value: z.string() });

/**
 * Email that comes in, as Postmark's inbound webhook tells of it
 * (https://postmarkapp.com/developer/webhooks/inbound-webhook); any other service or script may post the same shape.
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
  Headers: z.array(Header).default([]),
  Attachments: z
    .array(z.object({ Name: z.string(), Content: z.string(), ContentType: z.string().nullish() }))
    .default([]),
});
export type InboundEmail = z.infer<typeof InboundEmail>;

/** The first value of a header, whatever the case of its name. */
export const header = ({ Headers }: InboundEmail, name: string): string | undefined =>
  Headers.find(({ Name }) => Name.toLowerCase() === name.toLowerCase())?.Value.trim();

/** What a person reads in it: its text, or, when it is HTML alone, the text of that. */
export function textOf({ TextBody, HtmlBody }: InboundEmail): string {
  const text = TextBody?.trim() ?? '';
  if (text !== '' || !HtmlBody) return text;
  return htmlToText(HtmlBody);
}

const EVENT = 'inbound:';

/** A Message-ID as it is kept: strangers choose theirs, of any length. */
export function shortId(id: string): string {
  const kept = toStorable(id);
  if (kept.length + EVENT.length <= MAX_CARRIER_ID && kept !== '') return kept;
  return createHash('sha256').update(id).digest('hex');
}

export const eventIdOf = ({ MessageID }: InboundEmail): string => EVENT + shortId(MessageID);

/** Those that we give: the id of an attempt at some domain. */
export const OWN_MESSAGE_ID = /<[0-9a-f]{24}@[^<>\s]+>/g;

/** By the sender's clock, which may be wrong, but not ahead of ours. */
export function pastDate(text: string | null | undefined): Date {
  const now = Date.now();
  const at = Date.parse(text ?? '');
  return new Date(Number.isNaN(at) ? now : Math.min(at, now));
}
