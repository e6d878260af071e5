import type { CarrierEvent } from '#domain/lines/carrier-event.ts';
import { complaintReason } from '#domain/lines/complaint.ts';
import { blamesSender } from './about-sender.ts';
import { isAutomaticSubject, isMailServer } from './automatic-email.ts';
import { eventIdOf, header, type InboundEmail, sentAt, subjectLine } from './inbound-email.ts';
import { SECRET_MESSAGE_ID } from '../own-message-id.ts';

/** An enhanced status code (RFC 3463). */
const CODE = /(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?![\d.])/g;
/** A permanent reply (RFC 5321, section 4.2.1), possibly without an enhanced code. */
const PERMANENT_REPLY = /(?<![\d.])5\d\d[ :-](?!\d)/;
/** The mailbox or its domain does not exist (RFC 3463, section 3.2). */
const DEAD_ADDRESS_CODE = /^5\.(?:1\.(?:1|2|3|6|10|351)|4\.4)$/;
/** What servers say of a mailbox or domain that does not exist, whatever their code. */
const NO_SUCH_USER =
  /\b(?:user|recipient|mailbox|address|account|addressee)\b[^.\n]{0,20}\b(?:unknown|not found|(?:does )?not exist|doesn't exist|invalid|not recognized)\b|\b(?:unknown|invalid|no such|nonexistent) (?:local )?(?:user|recipient|mailbox|address|account|person)\b|\bno mailbox (?:here )?by that name\b|\b(?:user|recipient) (?:doesn.t|does not) have an? [^\n]{1,40}\baccount\b|\bunrouteable address\b|\b(?:host|domain)(?: or domain)?(?: name)? (?:not found|does not exist|doesn't exist)\b|\b(?:unknown|no such) (?:host|domain)\b|no valid recipients were found/i;
/** What is wrong with the sender, the server or the size of a mailbox says nothing about the address. */
const OTHER_CAUSE =
  /\bsender\b|no data record|loops? back|quota|mailbox (?:is )?full|too (?:many|large|big)|over (?:the )?limit|storage|black-?list|block-?list|spamhaus|\bblocked\b|\bspam\b|\bpolicy\b|denied|temporar/i;

/**
 * Complaints among the types of feedback (RFC 5965, section 7.3). The others concern viruses, the authentication of emails
 * (RFC 6591), or say that an email is not spam.
 */
const COMPLAINT_TYPE = /^(abuse|fraud)\b/i;

interface Part {
  type: string;
  text(): string;
}

/** Longer reports are truncated. */
const MAX_REPORT = 200_000;

/**
 * Parses a report of a mail server or program about an email: that it could not be delivered (RFC 3464, RFC 6533, or in the
 * words of qmail and Exim), that its recipient reported it as spam (RFC 5965), or opened it (RFC 8098). Anybody may send one, so it
 * counts only if it names a Message-ID that nobody can guess.
 * @returns null if the email is not a report; no events if it reports something else, or an email that we did not send.
 */
export function readReport(email: InboundEmail): CarrierEvent[] | null {
  const parts = email.Attachments.map(({ ContentType, Content }) => ({
    type: ContentType?.toLowerCase() ?? '',
    text: () => Buffer.from(Content, 'base64').toString('utf8').slice(0, MAX_REPORT),
  }));
  const textOf = (type: RegExp) => parts.find((part) => type.test(part.type))?.text();
  const feedback = textOf(/^message\/feedback-report/);
  if (feedback !== undefined || isReport(email, 'feedback-report'))
    return readComplaint(email, feedback ?? '', parts);
  const notification = textOf(/^message\/(?:global-)?disposition-notification/);
  if (notification !== undefined || isReport(email, 'disposition-notification'))
    return readNotification(email, notification ?? '', parts);
  const status = textOf(/^message\/(?:global-)?delivery-status/);
  if (status !== undefined || isReport(email, 'delivery-status')) return readBounce(email, status, parts);
  return readWordedBounce(email, parts);
}

function readComplaint(email: InboundEmail, feedback: string, parts: readonly Part[]): CarrierEvent[] {
  const type = COMPLAINT_TYPE.exec(fieldsOf(feedback)['feedback-type'] ?? '')?.[1]?.toLowerCase();
  const carrierMessageId = reportedMessageId(email, parts);
  if (type === undefined || carrierMessageId === undefined) return [];
  return [{ ...failure(email, carrierMessageId, complaintReason(type)), complaint: true }];
}

/** A read receipt. The other dispositions do not say that anybody saw the email (RFC 8098, section 3.2.6). */
function readNotification(email: InboundEmail, notification: string, parts: readonly Part[]): CarrierEvent[] {
  const fields = fieldsOf(notification);
  const carrierMessageId = firstOwn(fields['original-message-id']) ?? reportedMessageId(email, parts);
  if (carrierMessageId === undefined || !/;\s*displayed\b/i.test(fields['disposition'] ?? '')) return [];
  return [{ kind: 'read', eventId: eventIdOf(email), at: sentAt(email), carrierMessageId }];
}

function readBounce(email: InboundEmail, report: string | undefined, parts: readonly Part[]): CarrierEvent[] {
  const carrierMessageId = reportedMessageId(email, parts);
  if (carrierMessageId === undefined) return [];
  // Some servers omit the machine-readable part.
  if (report === undefined) return bounceInWords(email, carrierMessageId);

  const failed = groupsOf(report).find((fields) => /^failed\b/i.test(fields['action'] ?? ''));
  if (!failed) return [];
  const diagnosis = failed['diagnostic-code']?.replace(/^[\w-]+\s*;\s*/, '').trim() || undefined;
  const words = withoutAddresses(diagnosis ?? '', failed);
  const code = mostSpecific([failed['status'] ?? '', words]);
  return [bounce(email, carrierMessageId, { code, words, reason: diagnosis ?? code })];
}

/** How servers without reports say that it failed for good: qmail, and Exim before 4.73. */
const FAILURE_WORDS =
  /this is a permanent error|permanent(?: fatal| delivery)? errors|did not reach the following recipient|failure reasons|has been rejected|not be sent|non-?deliver(?:y|able)|unzustellbar|nicht zugestellt|non (?:remis|distribu)|no (?:se )?(?:ha )?(?:podido |pudo |puede )?(?:ser )?entreg|não (?:foi |pôde ser |pode ser )?entregue|mancato recapito|non (?:è stato )?(?:recapitat|consegnat)|onbestelbaar|niet (?:worden )?bezorgd|could not be forwarded|may not exist, or you may not have permission|the following address(?:\(es\)|es)? failed|i(?: a|')m afraid i wasn.t able to deliver|couldn.t be delivered|unable to deliver|could not be delivered|permanent(?:ly)? fail|failed permanently|delivery (?:has )?failed|undeliverable|returned to sender/i;
const DELAY_WORDS =
  /\bno action is required\b|has not been delivered yet|not yet been delivered|delivery (?:attempts )?will continue|will (?:be retried|keep trying|continue to try)|warning[^\n]{0,40}delayed|still being retried/i;

/** A bounce without a report. A person who quotes us is none: it comes from a mail server, or says which recipients failed. */
function readWordedBounce(email: InboundEmail, parts: readonly Part[]): CarrierEvent[] | null {
  const sender = (email.FromFull?.Email ?? email.From).trim();
  const name = (email.FromFull?.Name ?? email.FromName ?? '').trim();
  const isOfServer =
    isMailServer(sender) ||
    isMailServer(name) ||
    (sender === '' && /mail/i.test(name)) ||
    /^multipart\/report\b/i.test(header(email, 'Content-Type') ?? '') ||
    header(email, 'X-Failed-Recipients') !== undefined;
  // Programs that answer for somebody who is away leave it empty, too (RFC 3834, section 3.3).
  const mayBeOfPerson = !isOfServer && header(email, 'Return-Path') === '<>';
  if (!isOfServer && !(mayBeOfPerson && !isAutomaticSubject(subjectLine(email)))) return null;
  const carrierMessageId = reportedMessageId(email, parts);
  if (carrierMessageId === undefined) return null;
  const found = bounceInWords(email, carrierMessageId);
  return mayBeOfPerson && found.length === 0 ? null : found;
}

/** What comes before the returned copy, which may say anything. */
const COPY =
  /^-{2,} ?(?:this is a copy of|below this line is a copy|the header of the original|original message)|^message-id:/im;

function bounceInWords(email: InboundEmail, carrierMessageId: string): CarrierEvent[] {
  const body = (email.TextBody ?? '').slice(0, MAX_REPORT).replaceAll('\r\n', '\n');
  const copyAt = body.search(COPY);
  const notice = copyAt < 0 ? body : body.slice(0, copyAt);
  const addresses = { 'x-failed-recipients': header(email, 'X-Failed-Recipients') ?? '' };
  const words = withoutAddresses(notice, addresses);
  const code = mostSpecific([words]);
  const saysSo = FAILURE_WORDS.test(`${email.Subject ?? ''}\n${words}`) || NO_SUCH_USER.test(words);
  const isPermanent = code?.startsWith('5.') || PERMANENT_REPLY.test(words) || saysSo;
  if (!isPermanent || DELAY_WORDS.test(`${email.Subject ?? ''}\n${words}`)) return [];
  const line = notice
    .split('\n')
    .find((one) => new RegExp(`${PERMANENT_REPLY.source}|${CODE.source}`).test(one));
  const reason = line?.replace(/^.*?(?=(?<![\d.])5\d\d[ :-])/, '').trim();
  return [bounce(email, carrierMessageId, { code, words, reason: reason || code })];
}

function bounce(
  email: InboundEmail,
  carrierMessageId: string,
  found: { code: string | undefined; words: string; reason: string | undefined },
): CarrierEvent {
  const { code, words, reason } = found;
  const ofLine = blamesSender(`${code ?? ''} ${words}`);
  const isDead =
    (NO_SUCH_USER.test(words) || DEAD_ADDRESS_CODE.test(code ?? '')) && !ofLine && !OTHER_CAUSE.test(words);
  return {
    ...failure(email, carrierMessageId, `bounced: ${reason ?? 'undeliverable'}`),
    ...(isDead && { deadAddress: true as const }),
    ...(ofLine && { ofLine: true as const }),
  };
}

/** The code that says most: `5.0.0` and `5.1.0` leave open what `5.1.1` says. The first of equals. */
function mostSpecific(texts: readonly string[]): string | undefined {
  const codes = texts.flatMap((text) => [...text.matchAll(CODE)]);
  const weight = ([, , subject, detail]: readonly string[]): number =>
    Number(Number(subject) > 0) + Number(Number(detail) > 0);
  return codes.toSorted((a, b) => weight(b) - weight(a))[0]?.[0];
}

/** Without the addresses in it, whose parts look like words and codes. */
export function withoutAddresses(text: string, fields: Record<string, string>): string {
  const named = ['final-recipient', 'original-recipient', 'x-failed-recipients']
    .flatMap((name) => (fields[name] ?? '').split(/[;,]/))
    .map((one) => one.trim())
    .filter((one) => one.length > 2 && one.includes('@'));
  const plain = named.reduce((rest, one) => rest.replaceAll(one, ' '), text);
  // Each word is looked at once: a long one without an `@` would be tried from each of its letters.
  return plain.replaceAll(/<[^<>\n]*>/g, ' ').replaceAll(/(?<![^\s<>"])[^\s<>"]+@[^\s<>"]+/g, ' ');
}

/** The fields of a report, unfolded; the first of a name counts. */
function fieldsOf(text: string): Record<string, string> {
  const unfolded = text.replaceAll('\r\n', '\n').replaceAll(/\n[ \t]+/g, ' ');
  const fields: Record<string, string> = {};
  for (const line of unfolded.split('\n')) {
    const [, name, value] = /^([\w-]+)\s*:(.*)$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined) fields[name.toLowerCase()] ??= value.trim();
  }
  return fields;
}

/** The groups of fields for each recipient. */
const groupsOf = (report: string): Record<string, string>[] =>
  report
    .replaceAll('\r\n', '\n')
    .split(/\n[ \t]*\n/)
    .map(fieldsOf);

const failure = (email: InboundEmail, carrierMessageId: string, reason: string) =>
  ({
    kind: 'receipt',
    eventId: eventIdOf(email),
    at: sentAt(email),
    carrierMessageId,
    status: 'failed',
    reason,
  }) as const;

function isReport(email: InboundEmail, reportType: string): boolean {
  const type = header(email, 'Content-Type')?.toLowerCase() ?? '';
  return type.includes('multipart/report') && type.includes(reportType);
}

const firstOwn = (text: string | undefined): string | undefined => text?.match(SECRET_MESSAGE_ID)?.[0];

/** The id of our email that the report is about, from its returned copy, the headers or the text. */
function reportedMessageId(email: InboundEmail, parts: readonly Part[]): string | undefined {
  const returned = parts
    .filter(({ type }) =>
      /^(?:message\/(?!(?:global-)?(?:delivery-status|disposition-notification)|feedback-report)|text\/)/.test(
        type,
      ),
    )
    .map((part) => part.text());
  const texts = [...returned, header(email, 'In-Reply-To'), header(email, 'References'), email.TextBody];
  return texts.flatMap((text) => firstOwn(text ?? undefined) ?? [])[0];
}
