import { z } from 'zod';
import { readable } from '#domain/base/bounded-schema.ts';
import { normalizeEmail } from '#domain/base/address.ts';
import {
  sanitizeEvents,
  type CarrierEvent,
  MAX_CARRIER_ID,
  MAX_FILES,
  MAX_TEXT,
} from '#domain/lines/carrier-event.ts';
import { complaintReason } from '#domain/lines/complaint.ts';
import { textProblem, truncate } from '#domain/base/text.ts';
import { parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { addressesOf, parseMime } from '../../untrusted/mime.ts';
import { blamesSender } from './about-sender.ts';
import { isAutomaticEmail, LIST_MARKS } from './automatic-email.ts';
import {
  eventIdOf,
  fingerprintOf,
  header,
  InboundEmail,
  messageIdOf,
  pastDate,
  sentAt,
  shortId,
  subjectLine,
  textOf,
} from './inbound-email.ts';
import { optOutKeyword } from '#domain/contacts/opt-out.ts';
import { belowSignature, lettersOnly, unquoted, writtenPart } from '#domain/inbox/own-words.ts';
import { emailHtmlToText, hasStructure } from '../../untrusted/html-text.ts';
import { OWN_MESSAGE_ID } from '../own-message-id.ts';
import { authenticationOf } from './sender-authentication.ts';
import { readReport, withoutAddresses } from './reports.ts';

/** Postmark's bounce webhook (https://postmarkapp.com/developer/webhooks/bounce-webhook). */
const BounceRecord = z.object({
  RecordType: z.enum(['Bounce', 'SpamComplaint']),
  ID: z.union([z.number(), z.string()]),
  Type: z.string(),
  Description: z.string().nullish(),
  /** What the server of the recipient replied. */
  Details: z.string().nullish(),
  BouncedAt: z.string().nullish(),
  Metadata: readable(z.record(z.string(), z.string())),
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

/** What the settings of a line say about its mail server. */
export interface Receiver {
  /** The name under which it reports the authentication of senders. */
  authservId?: string | undefined;
}

/**
 * Parses a webhook call about an email line.
 * @throws SyntaxError, JsonTooComplex, ZodError
 */
export function readPostedEmail(rawBody: string, receiver: Receiver = {}): CarrierEvent[] {
  const body = parseUntrustedJson(rawBody);
  const bounce = BounceRecord.safeParse(body);
  const events = bounce.success
    ? readBounceRecord(bounce.data)
    : emailEvents(InboundEmail.parse(body), receiver);
  return sanitizeEvents(events, new Date());
}

/**
 * Parses an email of a mailbox.
 * @throws ZodError, or whatever the parser throws.
 */
export async function readMimeEmail(
  source: Uint8Array,
  isWhole: boolean,
  receiver: Receiver = {},
): Promise<CarrierEvent[]> {
  return sanitizeEvents(emailEvents(await parseMime(source, isWhole), receiver), new Date());
}

const emailEvents = (email: InboundEmail, receiver: Receiver): CarrierEvent[] =>
  readReport(email) ?? [readReaction(email) ?? readReply(email, receiver)];

function readBounceRecord(record: z.infer<typeof BounceRecord>): CarrierEvent[] {
  const carrierMessageId = record.Metadata?.[ECHO];
  const complaint = record.RecordType === 'SpamComplaint' || record.Type === 'SpamComplaint';
  const dead = DEAD.has(record.Type);
  const ofLine =
    !dead &&
    !complaint &&
    (record.Type === 'DMARCPolicy' || blamesSender(withoutAddresses(record.Details ?? '', {})));
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
      ...(ofLine && { ofLine: true as const }),
    },
  ];
}

/** Who sends an email without `From`. */
const NO_SENDER = 'unknown sender';

/** Gmail's format of reactions (https://developers.google.com/workspace/gmail/reactions/format). */
const REACTION_TYPE = 'text/vnd.google.email-reaction+json';
const EmailReaction = z.object({ emoji: z.string().min(1).max(40) });

/** An email with which somebody reacts to one of ours with an emoji; null if it is another. */
function readReaction(email: InboundEmail): CarrierEvent | null {
  const part = email.Attachments.find(({ ContentType }) =>
    ContentType?.toLowerCase().startsWith(REACTION_TYPE),
  );
  const carrierMessageId = header(email, 'In-Reply-To')?.match(OWN_MESSAGE_ID)?.[0];
  if (part === undefined || carrierMessageId === undefined) return null;
  const found = EmailReaction.safeParse(jsonOf(part.Content));
  const [sender] = addressesOf(email.From);
  const from = normalizeEmail(email.FromFull?.Email || sender?.address || email.From);
  if (!found.success || from === null) return null;
  const { emoji } = found.data;
  const at = sentAt(email);
  return {
    kind: 'reaction',
    eventId: eventIdOf(email),
    at,
    carrierMessageId,
    reaction: 'emoji',
    emoji,
    removed: false,
    from,
  };
}

function jsonOf(content: string): unknown {
  try {
    return parseUntrustedJson(Buffer.from(content.slice(0, MAX_REACTION), 'base64').toString());
  } catch {
    return null;
  }
}
const MAX_REACTION = 2000;

/** Longer chains of `References` keep their last ids. */
const MAX_REFERENCES = 20;

function readReply(email: InboundEmail, { authservId }: Receiver): CarrierEvent {
  const replyTo = answeredId(email);
  const [sender] = addressesOf(email.From);
  const named = email.FromFull?.Email || sender?.address || email.From || NO_SENDER;
  // Several people cannot be one contact.
  const answersTo = addressesOf(email.ReplyTo || header(email, 'Reply-To') || '');
  const list = listAddresses(email);
  const author = list.has(named.toLowerCase()) ? authorOf(email, list) : undefined;
  const from = author?.address ?? named;
  const fromName = author ? author.name : email.FromFull?.Name || email.FromName || sender?.name || '';
  // A list asks for answers to itself, a person does not.
  const only =
    answersTo.length === 1 && !list.has(answersTo[0]?.address.toLowerCase() ?? '') ? answersTo[0] : undefined;
  const authentication = authenticationOf(email, named, authservId);
  const subject = subjectLine(email);
  const whole = truncate(textOf(email), MAX_TEXT);
  const marked = markedText(email);
  const text = truncate(withOptOut(writtenText(email, whole, marked), marked ?? whole), MAX_TEXT);
  return {
    kind: 'reply',
    eventId: eventIdOf(email),
    at: sentAt(email),
    // The same email can arrive by webhook and mailbox; its Message-ID and its content make it one reply.
    carrierMessageId: shortId(messageIdOf(email) ?? email.MessageID),
    fingerprint: fingerprintOf(email),
    from,
    ...(fromName.trim() !== '' && { fromName }),
    ...(only !== undefined &&
      normalizeEmail(only.address) !== null && {
        answersTo: only.address,
        ...(only.name.trim() !== '' && { answersToName: only.name }),
      }),
    ...(subject !== '' && { subject }),
    text,
    ...(whole !== text && { wholeText: whole }),
    attachments: email.Attachments.slice(0, MAX_FILES).map(({ Name, Content, ContentType }) => ({
      name: Name,
      contentType: ContentType ?? null,
      url: `data:;base64,${Content}`,
    })),
    ...(replyTo !== undefined && { replyTo }),
    references: referencesOf(email),
    autoReply: isAutomaticEmail(email),
    ...(authentication && { authentication }),
  };
}

/** The addresses of the mailing lists and groups through which an email came, in lower case. */
function listAddresses(email: InboundEmail): ReadonlySet<string> {
  if (!LIST_MARKS.some((name) => header(email, name) !== undefined)) return new Set();
  const posts = ['List-Post', 'Mailing-List', 'X-BeenThere'].map((name) => header(email, name) ?? '');
  const named = posts.flatMap((value) => value.match(/(?<![^\s<>:,;"])[^\s<>:,;"]+@[^\s<>:,;"?]+/g) ?? []);
  // `<sales.example.com>` is the list `sales@example.com` (RFC 2919).
  const [, local, domain] = /<([^\s<>.@]+)\.([^\s<>@]+)>/.exec(header(email, 'List-Id') ?? '') ?? [];
  return new Set(
    [...named, ...(domain === undefined ? [] : [`${local}@${domain}`])].map((one) => one.toLowerCase()),
  );
}

/** Where lists name the author whose address they replace by their own, because its domain forbids them to send for it (DMARC). */
const AUTHOR_HEADERS = ['X-Original-From', 'X-Original-Sender', 'Reply-To'];

function authorOf(
  email: InboundEmail,
  list: ReadonlySet<string>,
): { address: string; name: string } | undefined {
  for (const name of AUTHOR_HEADERS) {
    const value = (name === 'Reply-To' && email.ReplyTo) || (header(email, name) ?? '');
    const others = addressesOf(value).filter(({ address }) => !list.has(address.toLowerCase()));
    const [only] = others;
    if (only && others.length === 1 && normalizeEmail(only.address) !== null) return only;
  }
  return undefined;
}

/** A keyword below the signature is the sender's own. */
function withOptOut(written: string, whole: string): string {
  const below = belowSignature(whole);
  return optOutKeyword(below) === 'stop' ? `${written}\n\n${below}` : written;
}

/** The text of the HTML if mail programs have marked in it what they added; null if there are no marks. */
const markedText = ({ HtmlBody }: InboundEmail): string | null =>
  HtmlBody && hasStructure(HtmlBody) ? emailHtmlToText(HtmlBody) : null;

/** What the sender wrote, as far as the email service, the text or the marks in the HTML tell. */
function writtenText(
  { StrippedTextReply, TextBody }: InboundEmail,
  whole: string,
  marked: string | null,
): string {
  const stripped = StrippedTextReply?.trim() ?? '';
  if (stripped !== '') return writtenPart(stripped) ?? stripped;
  const inText = writtenPart(whole);
  const inHtml = marked === null ? null : writtenPart(marked);
  const isTextOfHtml = (TextBody?.trim() ?? '') === '';
  if (inHtml !== null && (isTextOfHtml || inText === null || beginsWith(inText, inHtml))) return inHtml;
  return inText ?? unquoted(whole);
}

const beginsWith = (text: string, beginning: string): boolean => {
  const [letters, first] = [lettersOnly(text), lettersOnly(beginning)];
  return first !== '' && first.length < letters.length && letters.startsWith(first);
};

/** The thread that the email continues, oldest first (RFC 5322, section 3.6.4). */
function referencesOf(email: InboundEmail): string[] {
  const named = `${header(email, 'References') ?? ''} ${header(email, 'In-Reply-To') ?? ''}`;
  const ids =
    named.match(MESSAGE_ID)?.filter((id) => id.length <= MAX_CARRIER_ID && textProblem(id) === null) ?? [];
  return [...new Set(ids)].slice(-MAX_REFERENCES);
}

const MESSAGE_ID = /<[^<>\s]+>/g;
const BARE_ID = /^[^\s<>@]+@[^\s<>@]+$/;

/** The message to which it replies: `In-Reply-To`, otherwise the last of ours in `References` (RFC 5322, section 3.6.4). */
function answeredId(email: InboundEmail): string | undefined {
  const named = header(email, 'In-Reply-To') ?? '';
  const references = header(email, 'References') ?? '';
  const answered =
    named.match(OWN_MESSAGE_ID)?.[0] ??
    references.match(OWN_MESSAGE_ID)?.at(-1) ??
    named.match(MESSAGE_ID)?.[0] ??
    // Some programs drop the brackets.
    `<${BARE_ID.exec(named)?.[0] ?? ''}>`.match(OWN_MESSAGE_ID)?.[0];
  // Ours are shorter.
  return answered !== undefined && answered.length <= MAX_CARRIER_ID ? answered : undefined;
}
