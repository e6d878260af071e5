import { convert } from 'html-to-text';
import { z } from 'zod';

const Header = z.object({ Name: z.string(), Value: z.string() });

/**
 * Email that comes in, as Postmark's inbound webhook tells of it
 * (https://postmarkapp.com/developer/webhooks/inbound-webhook); any other service or script may post the same shape.
 */
export const InboundEmail = z.object({
  MessageID: z.string().min(1),
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
  return convert(HtmlBody, HTML_AS_TEXT).trim();
}

const HTML_AS_TEXT = {
  wordwrap: false,
  limits: { maxInputLength: 1_000_000 },
  selectors: [
    { selector: 'img', format: 'skip' },
    { selector: 'a', options: { hideLinkHrefIfSameAsText: true } },
  ],
} as const;

/** Those that we give: the id of an attempt at some domain. */
export const OWN_MESSAGE_ID = /<[0-9a-f]{24}@[^<>\s]+>/g;

/** By the sender's clock, which may be wrong, but not ahead of ours. */
export function pastDate(text: string | null | undefined): Date {
  const now = Date.now();
  const at = Date.parse(text ?? '');
  return new Date(Number.isNaN(at) ? now : Math.min(at, now));
}
