import { inAllLanguages } from '#domain/base/languages.ts';
import { normalize } from '#domain/base/text.ts';
import { isReplySubject } from '#domain/messages/email-subject.ts';
import { header, type InboundEmail, subjectLine } from './inbound-email.ts';

/** Set by programs that answer: any value but `no` says that nobody wrote it. `X-Auto-Response-Suppress` is set by people's programs. */
const MARK = /^x-(?:mail-)?auto-?(?:repl(?:y|ied)|respon(?:d|se)|generated)(?!-suppress)/i;
const MARKS = new Set([
  'x-vacation',
  'x-away',
  'x-away-message',
  'x-cron-env',
  'x-fc-machinegenerated',
  'x-ms-exchange-generated-message-source',
]);
const isMarked = ({ Headers }: InboundEmail): boolean =>
  Headers.some(
    ({ Name, Value }) =>
      (MARK.test(Name) || MARKS.has(Name.toLowerCase())) && !/^(?:no|false|)$/i.test(Value.trim()),
  );
/** Unix programs that answer for people who are away. */
const PROGRAM = /vacation|autorespon/i;
const AUTO_PRECEDENCE = /^auto[-_ ]?repl(?:y|ied)$/i;
const BULK_PRECEDENCE = /^(?:bulk|junk)$/i;
/** A person who writes through a list or group keeps these headers; with them `Precedence` is the list's. */
export const LIST_MARKS = ['List-Id', 'List-Post', 'Mailing-List', 'X-Google-Group-Id', 'X-BeenThere'];

/** "[Auto-Reply] …". A reply to such a note begins with the prefix of a reply instead. */
const BEGINNING = String.raw`^[^\p{L}\p{N}]{0,4}`;
const AUTO_SUBJECT = new RegExp(
  `${BEGINNING}${inAllLanguages(({ automatic }) => automatic.subject)}(?![\\p{Script=Latin}\\p{Script=Cyrillic}])`,
  'iu',
);
/** Somebody may write such words themselves: a colon, the subject of the answered email or a time follows. */
const AWAY_SUBJECT = new RegExp(
  `${BEGINNING}${inAllLanguages(({ automatic }) => automatic.away)}${String.raw`(?=\s*(?:$|[:：–—([\]】)-]|(?:re|aw|auto\w*|until|till|from|today|bis|vom|ab|du|jusqu|hasta|desde|del|até|de \d|fino|dal|al|tot|van|t\/m|vanaf|\d)(?![\p{L}])))`}`,
  'iu',
);

/** Words that people use, too: the subject of the answered email follows. */
const ABSENT_SUBJECT = new RegExp(
  String.raw`${BEGINNING}${inAllLanguages(({ automatic }) => automatic.absent)}\s*[:：–—-]?\s*(?:re|aw|sv|rv|rif|antw|odp|ynt|答复|回复)\s*[:：]`,
  'iu',
);
/** How programs that know further languages begin the subject: "Automaattinen vastaus:". */
const AUTO_WORD = /^[^:：]{0,30}(?:auto|otomat|automat|αυτόμ|авто|自動|自动|자동)[^:：]{0,30}[:：]/iu;
/** "Thank you for your email (auto reply)". */
const AUTO_ENDING = new RegExp(
  String.raw`(?:[([]|\s[–—-])\s?${inAllLanguages(({ automatic }) => automatic.subject)}[\])]?$`,
  'iu',
);

/** What matters is at the beginning. */
const MAX_SUBJECT = 500;

export function isAutomaticSubject(subject: string): boolean {
  const plain = normalize(subject, 'NFC', MAX_SUBJECT).replaceAll(/\s+/g, ' ').trim();
  if (AUTO_SUBJECT.test(plain) || AWAY_SUBJECT.test(plain) || ABSENT_SUBJECT.test(plain)) return true;
  return !isReplySubject(plain) && AUTO_ENDING.test(plain);
}

/** A mail server as the sender. */
const SERVER = /^(?:mailer-daemon|postmaster|mail-daemon)@|^mailer-daemon$/i;
const RESPONDER = /^auto-?(?:reply|responder|response)@/i;
export const isMailServer = (address: string): boolean => SERVER.test(address);

/**
 * Whether a program wrote an email by itself. What the email says of itself (RFC 3834) decides. Otherwise one clear mark of a
 * program that answers does; what people's own emails carry as well does not: `X-Auto-Response-Suppress` of Outlook, `Precedence`
 * of mailing lists.
 */
export function isAutomaticEmail(email: InboundEmail): boolean {
  const submitted = header(email, 'Auto-Submitted');
  if (submitted !== undefined && submitted !== '') return !/^(?:\([^()]*\)\s*)*no\b/i.test(submitted);
  if (/^<(?:\s*|mailer-daemon)>$/i.test(header(email, 'Return-Path') ?? '')) return true;
  if (/^multipart\/report\b/i.test(header(email, 'Content-Type') ?? '') || isMarked(email)) return true;
  const precedences = ['Precedence', 'X-Precedence'].map((name) => header(email, name) ?? '');
  if (precedences.some((precedence) => AUTO_PRECEDENCE.test(precedence))) return true;
  if (/^auto-?responder$/i.test(header(email, 'Delivered-To') ?? '')) return true;
  if (/\bautoresponder\b/i.test(header(email, 'X-POST-MessageClass') ?? '')) return true;
  if (['X-Mailer', 'User-Agent'].some((name) => PROGRAM.test(header(email, name) ?? ''))) return true;
  const sender = (email.FromFull?.Email ?? email.From).trim();
  if (isMailServer(sender) || RESPONDER.test(sender)) return true;
  if (isAutomaticSubject(subjectLine(email))) return true;
  // Each alone is found in emails that people write.
  if (header(email, 'X-Auto-Response-Suppress') !== undefined && AUTO_WORD.test(subjectLine(email)))
    return true;
  const isOfList = LIST_MARKS.some((name) => header(email, name) !== undefined);
  return !isOfList && precedences.some((precedence) => BULK_PRECEDENCE.test(precedence));
}
