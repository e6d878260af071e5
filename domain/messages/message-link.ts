import { randomBytes } from 'node:crypto';
import { isbot } from 'isbot';

/** Links of messages that lead through this service, which so knows that they are opened. Pure functions, except for new tokens. */

const LINK = /\bhttps?:\/\/[^\s<>"]+/gi;
/** Scripts that are written without spaces begin right after a link, and only the phone knows where. */
const CERTAIN = /^[\x21-\x7e\p{Script=Latin}\p{M}]+$/u;
const PUNCTUATION = ".,;:!?*'’”»…。、，！？）」】";
/** Further links of a message stay as they are. */
const MAX_LINKS = 20;
/** As most browsers take it. Longer ones stay as they are. */
const MAX_LENGTH = 2000;

/** A link without what only follows it in a text. A regular expression would take quadratic time on a run of full stops. */
export function withoutPunctuation(link: string): string {
  // How many of each are closed without being opened.
  const extra: Record<string, number> = {
    ')': link.split(')').length - link.split('(').length,
    ']': link.split(']').length - link.split('[').length,
  };
  let end = link.length;
  for (; end > 0; end -= 1) {
    const last = link.charAt(end - 1);
    const isClosed = (extra[last] ?? 0) > 0;
    if (!isClosed && !PUNCTUATION.includes(last)) break;
    if (isClosed) extra[last] = (extra[last] ?? 0) - 1;
  }
  return link.slice(0, end);
}

/** Where a link leads; null: it stays as it is, for example because it is one of ours. */
function targetOf(link: string, publicUrl: string): string | null {
  const url = CERTAIN.test(link) ? URL.parse(link)?.href : undefined;
  if (url === undefined || url.length > MAX_LENGTH) return null;
  return url.startsWith(new URL(`${publicUrl}/`).href) ? null : url;
}

/** Where the links of a text lead that are replaced. */
export function linkTargets(text: string, publicUrl: string): string[] {
  const links = text.match(LINK) ?? [];
  const targets = new Set(links.flatMap((link) => targetOf(withoutPunctuation(link), publicUrl) ?? []));
  return [...targets].slice(0, MAX_LINKS);
}

/** Replaces the links of a text. @param tokens by where they lead; others stay as they are. */
export const withTokens = (text: string, publicUrl: string, tokens: ReadonlyMap<string, string>): string =>
  text.replaceAll(LINK, (found) => {
    const link = withoutPunctuation(found);
    const token = tokens.get(targetOf(link, publicUrl) ?? '');
    return token === undefined ? found : `${publicUrl}/l/${token}${found.slice(link.length)}`;
  });

const PREFIX = 'org_';
const ID_BYTES = 12;
const RANDOM_BYTES = 9;
const TOKEN = /^[\w-]{28}$/;

/** A token of 72 random bits that tells its workspace. */
export function newLinkToken(workspaceId: string): string {
  const id = Buffer.from(workspaceId.slice(PREFIX.length), 'hex');
  const token = Buffer.concat([id, randomBytes(RANDOM_BYTES)]).toString('base64url');
  // Some phones take a hyphen for the end of a sentence, and leave it out.
  return token.endsWith('-') ? newLinkToken(workspaceId) : token;
}

/** The workspace of a token; null: it cannot be one. */
export const workspaceOfLink = (token: string): string | null =>
  TOKEN.test(token) ? PREFIX + Buffer.from(token, 'base64url').toString('hex', 0, ID_BYTES) : null;

/** In which browsers say that nobody may have asked for the page yet. */
const FETCHED_AHEAD = ['purpose', 'x-purpose', 'sec-purpose', 'x-moz'];
const MAX_USER_AGENT = 1000;

/**
 * Whether a person has opened a link, as far as a request tells: not a preview in a chat, which the phones of both sides fetch, nor a
 * scanner that says what it is. A scanner that looks like a browser is taken for a person.
 */
export function isByPerson(method: string, header: (name: string) => string): boolean {
  const agent = header('user-agent').slice(0, MAX_USER_AGENT);
  return (
    method === 'GET' &&
    /^(?:Mozilla|Opera)\//.test(agent) &&
    !isbot(agent) &&
    FETCHED_AHEAD.every((name) => !/prefetch|prerender|preview/i.test(header(name)))
  );
}
