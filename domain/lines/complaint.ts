import { normalize } from '../base/text.ts';

/**
 * Phrases of a reply that call messages spam, or announce a report or a block. Counted only for the line's reputation; nobody
 * is opted out by them.
 */
const COMPLAINTS = [
  /\b(spam|spammer|spamming|scam|scammer|phishing)\b/u,
  /\b(report(ed|ing)?|block(ed|ing)?|flagg?(ed|ing)?)\s+(you|this|your|u|as)\b/u,
  /\b(you|u|number|ur|you['’]re)\s+(are |r |is |have been |has been |were |was |been |being )*(reported|blocked)\b/u,
  /\bmark(ed|ing)?\s+(you|this|it|these)?\s*as\s+junk\b/u,
  // Nothing else, in the seven languages.
  /^[\s¡]*(reported|blocked|gemeldet|blockiert|bloqueado|denunciado|reportado|bloqué|signalé|bloccato|segnalato|geblokkeerd|gemeld)[\s.!]*$/u,
  /\bharass(ment|ing)?\b/u,
  /\b(belästig\w*|anzeige erstatten|ich (melde|blockiere) (sie|dich|euch|das)|(sie|dich|euch) (jetzt )?blockiert)\b/u,
  /\b(arnaque|harcèlement|je (vais )?(vous|te) (signale|bloque)[rs]?)\b/u,
  /\b(estafa|acoso|(te|os|los|les) (voy a |vamos a )?(reportar|denunciar|bloquear|reporto|denuncio|bloqueo))\b/u,
  /\b(truffa|molestie|golpe|assédio|denunciar|(vi|ti) (segnalo|blocco|denuncio))\b/u,
  /\b(oplichting|lastigvallen|ik (ga )?(u|je|jullie) (melden|blokkeren|geblokkeerd|gemeld)|ik (meld|blokkeer) (u|je|jullie))\b/u,
];

/** Where mail programs put what they take for spam: about the mail, not about its sender. */
const SPAM_FOLDER =
  /\bspam[- ]?(folders?|filters?|box|ordner|verdacht|mappe|dossier)\b|\b(folder|filter|ordner|carpeta|dossier|courrier|cartella|pasta|map)\s+(de\s+)?spam\b|\b(to|in|into|im|en|dans|nello|nella|no|na)\s+(my |the |your |our |de |mijn )?spam\b/gu;

/** A question, such as "do you have spam filters?" or "is this spam?", is none: somebody waits for an answer. */
export function complainsInText(text: string): boolean {
  const said = normalize(text, 'NFC', 1000).toLowerCase();
  // Questions end with a question mark; what precedes them is judged on its own.
  const statements = said.replaceAll(/[^.!?\n]*\?/gu, '').replaceAll(SPAM_FOLDER, ' ');
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
