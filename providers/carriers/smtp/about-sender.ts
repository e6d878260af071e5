/**
 * Enhanced codes about the sender or its account, whatever they reply to (RFC 3463, RFC 7372): its address (5.1.7, 5.1.8), its limits
 * (5.1.90 of Microsoft, 5.4.5 of Google), its login and permissions (5.7.8, 5.7.10 to 5.7.14, 5.7.57 to 5.7.68 of Microsoft), its SPF, DKIM and DNS
 * (5.7.20 to 5.7.27), and the limits and blocks of Microsoft (5.7.500 and more).
 */
const SENDER_CODE =
  /(?<![\d.])5\.(?:1\.(?:[78]|90)|4\.5|7\.(?:8|1[0-4]|2[0-7]|57|6[0-8]|[5-9]\d\d))(?![\d.])/;
/** Of a domain without mail, some servers speak with a code about the domain of the sender. */
const SAYS_RECIPIENT = /\brecipient (?:address|account)\b|\bhost does not accept mail\b/i;
/** Codes about the mailbox (5.2), and about groups of Microsoft that take mail of some senders only (5.7.12x and 5.7.13x). */
const RECIPIENT_CODE = /(?<![\d.])5\.(?:2\.\d{1,3}|7\.1[23]\d)(?![\d.])/;
/** The recipient has blocked the sender or takes mail of members only, or the text is refused, for example because of a link on a list. */
const OTHERS =
  /\bresolver\.rst\b|\bmay not exist\b|\bspam classification\b|\bduplicate header\b|\bby (?:the |its |this )?(?:recipient|addressee)\b|\bblocked by (?:the )?user\b|\buser (?:rules|refuses)|\brecipient (?:has )?block|\b(?:surbl|uribl|urls?|links?)\b/i;

const NAMED =
  '(?:(?<!to )senders?|from address|client host|(?:your|sending|sender|source) (?:ip|domain|host|server|account|address)|ip(?: address)?|tenant)';
const REFUSED =
  '(?:blocked|banned|denied|refused|rejected|suspended|disabled|listed|not (?:allowed|authori[sz]ed|permitted|accepted|verified)|has exceeded)';

/** What servers say, with codes that may mean anything, of a sender, its address, its domain or its account. */
const SAYS_SENDER = [
  `\\b${NAMED}\\b[^.\\n]{0,60}?\\b${REFUSED}\\b`,
  `\\b(?:blocked|banned|bad|rejected|unauthori[sz]ed|unverified) (?:outbound )?${NAMED}\\b`,
  // Of the address itself, whose dots end a sentence above.
  `\\b(?:ip|host|client)\\b[^\\n]{0,5}\\[?\\d+\\.\\d+\\.\\d+\\.\\d+\\]?[^.:\\n]{0,40}\\b${REFUSED}\\b`,
  '\\b(?:messages?|mails?|emails?|connections?|traffic) (?:will )?not (?:be )?accepted from\\b',
  '\\b(?:messages?|mails?|emails?|connections?|traffic) from [^\\n]{1,60}\\bnot (?:be )?accepted\\b',
  '\\byour (?:ips?|server|hostname|network)\\b|\\bdynamic ips?\\b|\\bopen proxy\\b|\\bno access from\\b',
  '\\bnot (?:allowed|authori[sz]ed|permitted) to (?:connect|send)\\b|\\bmail from not owned\\b',
  '\\b(?:invalid|bogus|unroutable) (?:sender|mail from)\\b|\\bsender (?:verify|verification|domain)\\b',
  // Lists, and what receivers think of a sender.
  '\\b(?:black|block|deny)[ -]?list(?:ed|s)?\\b|\\bspamhaus\\b|\\bspamcop\\b|\\b(?:rbl|dnsbl)\\b',
  '\\breputation\\b',
  // Its authentication, and its DNS.
  '\\b(?:spf|dkim|dmarc|sender policy framework)\\b|\\bunauthenticated\\b|\\bnot authenticated\\b',
  '\\bauthentication (?:checks?|(?:is )?required)\\b|\\brequires authentication\\b',
  '\\b(?:reverse|forward) dns\\b|\\brdns\\b|\\bptr\\b|\\bip name lookup\\b',
  // What it may send.
  '\\brelay(?:ing)?\\b|\\bsend as this sender\\b|\\bemail address is not verified\\b',
  '\\b(?:send(?:ing|er)|daily|hourly|outgoing|outbound)\\b[^.\\n]{0,30}\\b(?:limit|quota|threshold)\\b',
  '\\bexceeded (?:the |your )?(?:max(?:imum)? )?(?:defers|emails|mails|messages)\\b',
].map((pattern) => new RegExp(pattern, 'i'));

/** Replies are short; what comes after may be a copy of anything. */
const MAX_LENGTH = 2000;
/** Of a link to an explanation: names there mean nothing. */
const QUERY = /\?[^\s?]{1,500}/g;

/**
 * Whether a permanent reply of a mail server blames the sender, its server or its account, rather than the recipient or the text: it is
 * blocked, on a list, not authenticated, or over its limits. Others would fare no better.
 * @param text without the addresses of people.
 */
export function blamesSender(text: string): boolean {
  const reply = text.slice(0, MAX_LENGTH).replaceAll(QUERY, ' ');
  if (RECIPIENT_CODE.test(reply) || SAYS_RECIPIENT.test(reply)) return false;
  if (SENDER_CODE.test(reply)) return true;
  return !OTHERS.test(reply) && SAYS_SENDER.some((pattern) => pattern.test(reply));
}
