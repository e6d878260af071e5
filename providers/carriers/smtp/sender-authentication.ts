import type { SenderAuthentication } from '#domain/lines/sender-authentication.ts';
import { toStorable } from '#domain/base/text.ts';
import { header, type InboundEmail } from './inbound-email.ts';

interface Result {
  method: string;
  result: string;
  properties: Record<string, string>;
}

/** Headers are written by whoever handled an email, so both are bounded. */
const MAX_HEADER = 10_000;
const MAX_RESULTS = 30;
const MAX_DETAILS = 300;
const MAX_SERVER = 255;
/** The names of two servers, with comments. */
const MAX_RECEIVED = 1000;

/** Removes comments of header fields, also nested ones (RFC 5322, section 3.2.2), and quotes. */
function withoutComments(value: string): string {
  let depth = 0;
  let text = '';
  for (const character of value.slice(0, MAX_HEADER)) {
    if (character === '(') depth += 1;
    else if (character === ')') {
      depth = Math.max(0, depth - 1);
      text += ' ';
    } else if (depth === 0 && character !== '"') text += character;
  }
  return text;
}

/** Parses `Authentication-Results` (RFC 8601, section 2.2). */
function parseResults(value: string): { server: string; results: Result[] } {
  const [head = '', ...rest] = withoutComments(value).split(';');
  // Microsoft 365 gives no authserv-id.
  const isNamed = !/^\s*[\w-]+\s*=/.test(head);
  const parts = isNamed ? rest : [head, ...rest];
  const results = parts.slice(0, MAX_RESULTS).flatMap((part): Result[] => {
    const [, method, result, properties] = /^\s*([\w-]+)(?:\/\d+)?\s*=\s*(\w+)\s*(.*)$/s.exec(part) ?? [];
    if (method === undefined || result === undefined) return [];
    const pairs = [...(properties ?? '').matchAll(/([\w.-]+)\s*=\s*(\S+)/g)];
    return [
      {
        method: method.toLowerCase(),
        result: result.toLowerCase(),
        properties: Object.fromEntries(
          pairs.map(([, name = '', text = '']) => [name.toLowerCase(), text.toLowerCase()]),
        ),
      },
    ];
  });
  return { server: (isNamed && head.trim().split(/\s/)[0]?.toLowerCase()) || '', results };
}

/** The setting for mailboxes of Microsoft 365 and Outlook.com, whose results name no server. */
const MICROSOFT_365 = 'microsoft365';
const BY_MICROSOFT =
  /^\s*(?:from\s+\S+\s+)?by\s+(?:[\w-]+\.)+(?:outlook\.com|outlook\.cn|office365\.com|office365\.us)(?![\w.-])/i;

/**
 * The results of the server that received the email: those on top, because each server adds its own above those that came with the
 * email. Some write one header for each method.
 * @param receiver the authserv-id of that server. Without it, whatever is on top counts.
 */
function receiverResults(
  email: InboundEmail,
  receiver: string | undefined,
): ReturnType<typeof parseResults> | null {
  if (receiver?.toLowerCase() === MICROSOFT_365) return microsoftResults(email);
  let found: ReturnType<typeof parseResults> | null = null;
  for (const { Name, Value } of email.Headers) {
    const name = Name.toLowerCase();
    if (found && name === 'received') break;
    if (name !== 'authentication-results') continue;
    const parsed = parseResults(Value);
    if (found === null) {
      if (receiver !== undefined && parsed.server !== receiver.toLowerCase()) continue;
      found = parsed;
    } else if (parsed.server === found.server) found.results.push(...parsed.results);
  }
  return found;
}

/**
 * Anybody can write results without a name, so they count by their place: on top of all others, above which only servers of Microsoft
 * have handled the email. Those that came with the email are below, or renamed to `Authentication-Results-Original`.
 */
function microsoftResults(email: InboundEmail): ReturnType<typeof parseResults> | null {
  for (const { Name, Value } of email.Headers) {
    const name = Name.toLowerCase();
    if (name === 'received' && !BY_MICROSOFT.test(withoutComments(Value.slice(0, MAX_RECEIVED)))) return null;
    if (name !== 'authentication-results') continue;
    const found = parseResults(Value);
    return found.server === '' ? found : null;
  }
  return null;
}

/** Verdicts that mail services report in headers of their own, and the method of each. */
const VERDICTS: [header: string, method: string][] = [
  ['Received-SPF', 'spf'],
  ['X-SES-SPF-Verdict', 'spf'],
  ['X-SES-DKIM-Verdict', 'dkim'],
  ['X-SES-DMARC-Verdict', 'dmarc'],
  ['X-Mailgun-SPF', 'spf'],
  ['X-Mailgun-DKIM-Check-Result', 'dkim'],
];

/** `Received-SPF` names the sender that it is about (RFC 7208, section 9.1). */
const ENVELOPE = /\benvelope-from\s*=\s*[<"]*([^\s;>"]+)/i;

function verdictsOf(email: InboundEmail): Result[] {
  return VERDICTS.flatMap(([name, method]) => {
    const value = header(email, name)?.slice(0, MAX_HEADER) ?? '';
    const result = /^\w+/.exec(value)?.[0].toLowerCase();
    const envelope = ENVELOPE.exec(value)?.[1]?.toLowerCase();
    const properties: Record<string, string> = envelope === undefined ? {} : { 'smtp.mailfrom': envelope };
    return result === undefined ? [] : [{ method, result, properties }];
  });
}

const domainOf = (address: string): string => address.slice(address.lastIndexOf('@') + 1).replace(/\.$/, '');

/** Relaxed alignment, without the list of public suffixes: one is the other, or below it. */
const isAligned = (one: string, other: string): boolean =>
  one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);

/**
 * Whether the receiving server found that an email is from the domain of its `From` (RFC 7489). A signature that does not verify is
 * as good as none (RFC 6376, section 6.1): a mailing list breaks it.
 * @returns undefined if the server reports nothing.
 */
export function authenticationOf(
  email: InboundEmail,
  from: string,
  receiver: string | undefined,
): SenderAuthentication | undefined {
  const reported = receiverResults(email, receiver);
  const results = reported?.results ?? [];
  // Anybody can write those, so they count only where no server is named.
  const all = results.length > 0 || receiver !== undefined ? results : verdictsOf(email);
  const judged = all.filter(({ method }) => ['spf', 'dkim', 'dmarc'].includes(method));
  if (judged.length === 0) return undefined;
  const domain = domainOf(from.toLowerCase());
  const details = judged.map(({ method, result }) => `${method}=${result}`).join(' ');
  return {
    result: verdictOf(judged, domain),
    server: results.length > 0 ? toStorable(reported?.server ?? '').slice(0, MAX_SERVER) || null : null,
    details: details.slice(0, MAX_DETAILS),
  };
}

function verdictOf(results: readonly Result[], domain: string): SenderAuthentication['result'] {
  const speaksOf = ({ properties }: Result, names: readonly string[]): boolean => {
    const named = names.flatMap((name) => properties[name] ?? []);
    return named.length === 0 || named.some((value) => isAligned(domainOf(value), domain));
  };
  const dmarc = results.filter((one) => one.method === 'dmarc' && speaksOf(one, ['header.from']));
  if (dmarc.some(({ result }) => result === 'fail')) return 'fail';
  if (dmarc.some(({ result }) => result === 'pass')) return 'pass';
  const spf = results.filter((one) => one.method === 'spf' && speaksOf(one, ['smtp.mailfrom', 'smtp.helo']));
  const dkim = results.filter((one) => one.method === 'dkim' && speaksOf(one, ['header.d', 'header.i']));
  if ([...spf, ...dkim].some(({ result }) => result === 'pass')) return 'pass';
  return spf.some(({ result }) => result === 'fail' || result === 'hardfail') ? 'fail' : 'none';
}
