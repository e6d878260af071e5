import { z } from 'zod';
import { requiredLine } from '../base/required-line.ts';
import { Id } from '../base/ids.ts';
import { LINES, NOT_BLANK, truncate } from '../base/text.ts';
import { Tags, uniqueTags } from '../inbox/conversation.ts';

/** Consonants and digits that are not mistaken for one another, and make no words. */
const ALPHABET = '23456789BCDFGHJKMNPQRTVWXZ';
const CODE_LENGTH = 7;
const MAX_TEXT = 300;

/** The body of `POST /api/opt-in-links`. */
export const OptInLinkInput = z
  .object({
    name: requiredLine(100),
    lineId: Id.optional().meta({
      description: 'The line to which the contact writes. Either `lineId` or `poolId` is required.',
    }),
    poolId: Id.optional().meta({ description: 'The contact writes to the first active line of the pool.' }),
    text: requiredLine(MAX_TEXT).meta({
      description: 'What the contact sends. The code of the link is added to it.',
    }),
    listId: Id.optional().meta({
      description: 'The list in which the contact becomes a lead; default: Quick Sends.',
    }),
    tags: Tags.transform(uniqueTags).optional().meta({ description: 'Added to the lead.' }),
    campaignId: Id.optional().meta({ description: 'The campaign that the lead enters.' }),
    consent: z
      .string()
      .trim()
      .max(1000)
      .refine(...LINES)
      .refine(...NOT_BLANK)
      .meta({
        description:
          'The wording to which the contact consents. The page shows it, and the ledger of consents keeps it.',
      }),
  })
  .superRefine(({ lineId, poolId }, context) => {
    if ((lineId === undefined) === (poolId === undefined))
      context.addIssue({ code: 'custom', path: ['lineId'], message: 'either lineId or poolId is required' });
  })
  .meta({ id: 'OptInLinkInput' });
export type OptInLinkInput = z.output<typeof OptInLinkInput>;

/** A link with which a contact writes first, as the API returns it. */
export const OptInLink = z
  .object({
    _id: Id,
    name: z.string(),
    lineId: Id.nullable(),
    poolId: Id.nullable(),
    text: z.string(),
    code: z.string().meta({ description: 'A message that contains it counts as consent.' }),
    listId: Id.nullable(),
    tags: z.array(z.string()),
    campaignId: Id.nullable(),
    consent: z.string(),
    url: z.string().meta({ description: 'A page that opens the message on a phone.' }),
    qr: z.string().meta({ description: 'The URL of an SVG image with a QR code of `url`.' }),
    sms: z
      .string()
      .nullable()
      .meta({ description: 'A link that opens the message to the number; null: there is none.' }),
    imessage: z
      .string()
      .nullable()
      .meta({ description: 'A link that opens the message in iMessage; null: the line does not use it.' }),
    funnel: z.object({
      visits: z.int().meta({
        description: 'How often the page was opened; at most ten times a minute by one client.',
      }),
      messages: z.int().meta({ description: 'Messages that contained the code.' }),
      leads: z.int().meta({ description: 'Contacts that became leads.' }),
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'OptInLink' });
export type OptInLink = z.infer<typeof OptInLink>;

/** @param random returns a number from 0 to `below` - 1. */
export function newOptInCode(random: (below: number) => number): string {
  const letters = Array.from({ length: CODE_LENGTH - 1 }, () => ALPHABET[random(ALPHABET.length)] ?? '');
  // A digit, so that few words of other messages look like a code.
  letters.splice(random(CODE_LENGTH), 0, String(2 + random(8)));
  return letters.join('');
}

const CODE = new RegExp(String.raw`(?<![\p{L}\p{N}])[${ALPHABET}]{${CODE_LENGTH}}(?![\p{L}\p{N}])`, 'giu');
/** More in one message are not looked up. */
const MAX_CODES = 5;

/** What may be codes of links in a message, in any case. */
export const optInCodes = (text: string): string[] => [
  ...new Set(
    (text.match(CODE) ?? [])
      .filter((code) => /\d/.test(code))
      .slice(0, MAX_CODES)
      .map((code) => code.toUpperCase()),
  ),
];

/** What a message says beside the code of a link. */
export const withoutOptInCodes = (text: string): string =>
  text.replaceAll(CODE, (word) => (/\d/.test(word) ? '' : word)).trim();

/** What the contact sends. */
export const optInText = ({ text, code }: { text: string; code: string }): string => `${text} ${code}`;

interface Writable {
  channel: 'imessage' | 'sms' | 'email';
  phone: string | null;
  email: string | null;
}

/**
 * Links that open a message to a line on a phone; null: there is no line.
 * @returns `?&body=`: iOS reads what follows the ampersand, and Android what follows the question mark (RFC 5724).
 */
export function messageLinks(
  line: Writable | null,
  text: string,
): Pick<OptInLink, 'sms' | 'imessage'> & { to: string } {
  if (line === null) return { to: '', sms: null, imessage: null };
  const body = `?&body=${encodeURIComponent(text)}`;
  const to = line.phone ?? line.email ?? '';
  return {
    to,
    sms: line.phone === null ? null : `sms:${line.phone}${body}`,
    imessage: line.channel === 'imessage' ? `imessage:${to}${body}` : null,
  };
}

/** What the ledger of consents keeps of a message with the code. */
export const optInEvidence = (
  { name, consent }: { name: string; consent: string },
  text: string,
  max: number,
): string => truncate(`Opt-in link "${name}": ${consent}\nThe contact wrote: ${text}`, max);
