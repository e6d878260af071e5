import { normalize } from './text.ts';

/**
 * Phrases of a reply that call messages spam, or announce a report or a block. Counted only for the line's reputation; nobody
 * is opted out by them.
 */
const COMPLAINTS = [
  /\b(spam|spammer|spamming|scam|scammer|phishing)\b/u,
  /\b(report(ed|ing)?|block(ed|ing)?)\s+(you|this|your|u|as)\b/u,
  /^\s*(reported|blocked)[\s.!]*$/u,
  /\bharass(ment|ing)?\b/u,
  /\b(belästig\w*|anzeige erstatten|ich melde (sie|dich|das)|blockiert)\b/u,
  /\b(arnaque|harcèlement|je (vais )?(vous|te) (signale|bloque)[rs]?)\b/u,
  /\b(estafa|acoso|te (voy a )?(reportar|denunciar|bloquear))\b/u,
  /\b(truffa|molestie|golpe|assédio|denunciar)\b/u,
];

/** A question, such as "do you have spam filters?" or "is this spam?", is none: somebody waits for an answer. */
export function complainsInText(text: string): boolean {
  const said = normalize(text, 'NFC', 1000).toLowerCase();
  // Questions end with a question mark; what precedes them is judged on its own.
  const statements = said.replaceAll(/[^.!?\n]*\?/gu, '');
  return COMPLAINTS.some((pattern) => pattern.test(statements));
}

/**
 * Carrier codes for a message classified as spam, or a recipient who blocks the sender:
 * 30004 and 30007 of Twilio (https://www.twilio.com/docs/api/errors), 5.7.28 of Gmail. Others say so in words.
 */
const CODES = /\b(30004|30007|5\.7\.28)\b/;
const WORDS = /spam|blocked|blacklist|blocklist|reputation|abuse|junk|filtered|unsolicited/i;

/** Whether the reason of a carrier for a refused or failed message is a complaint. */
export const complainsInReason = (reason: string): boolean => CODES.test(reason) || WORDS.test(reason);

const REPORTED = 'complained: ';

/** The reason of a message that its recipient reported to their mail provider: `complained: abuse`. */
export const complaintReason = (type: string): string => REPORTED + type;

/** Whether a message failed because its recipient reported it. */
export const isComplaint = (reason: string): boolean => reason.startsWith(REPORTED);
