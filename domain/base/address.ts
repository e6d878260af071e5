import { contactKey } from './contact-key.ts';
import { normalizePhone } from './phone.ts';
import { normalize } from './text.ts';

/** Before the `@`: words of the characters that need no quotes (RFC 5322, section 3.2.3), or that are not ASCII (RFC 6531). */
const WORD = String.raw`[\p{L}\p{M}\p{N}!#$%&'*+/=?^_\x60{|}~-]+`;
const LOCAL = new RegExp(`^${WORD}(?:\\.${WORD})*$`, 'u');
/** What other characters need (RFC 5321, section 4.1.2): `"ada lovelace"`. Angle brackets and line breaks would end the address. */
const QUOTED = /^"((?:[^"\\<>\p{Cc}]|\\[!-;=?-~ ])+)"$/u;
const MAX_LOCAL_BYTES = 64;
/** As long as a domain and such a local part. */
const MAX_ADDRESS = 320;
/** With a top-level domain, which is never a number. */
const DOMAIN =
  /^(?=.{1,253}$)(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+(?:[a-z]{2,63}|xn--[a-z\d-]{0,58}[a-z\d])$/;

/** The canonical form of an email address; null if it is none. An international domain gets its ASCII form (`xn--…`). */
export function normalizeEmail(text: string): string | null {
  const written = text.trim().toLowerCase();
  if (written.length > MAX_ADDRESS) return null;
  const address = normalize(written, 'NFC', MAX_ADDRESS);
  const at = address.lastIndexOf('@');
  const local = unquoted(address.slice(0, at));
  const domain = normalizeDomain(address.slice(at + 1));
  const isLocal =
    at > 0 &&
    (LOCAL.test(local) || QUOTED.test(local)) &&
    new TextEncoder().encode(local).length <= MAX_LOCAL_BYTES;
  return isLocal && domain !== null ? `${local}@${domain}` : null;
}

/** The canonical form of the domain of an email address; null if it is none. */
export function normalizeDomain(text: string): string | null {
  const written = text.trim().toLowerCase();
  if (written.length > MAX_ADDRESS) return null;
  const domain = asciiDomain(normalize(written, 'NFC', MAX_ADDRESS));
  return DOMAIN.test(domain) ? domain : null;
}

/** Without quotes, if it needs none. */
function unquoted(local: string): string {
  const content = QUOTED.exec(local)?.[1]?.replaceAll(/\\(.)/gu, '$1');
  if (content === undefined) return local;
  return LOCAL.test(content) ? content : `"${content.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

const INTERNATIONAL = /^(?=.*\P{ASCII})[-.\da-z\P{ASCII}]+$/u;

const asciiDomain = (domain: string): string =>
  INTERNATIONAL.test(domain) ? (URL.parse(`http://${domain}`)?.hostname ?? domain) : domain;

/** An address as it was written, in the form in which it is stored: E.164 or a lower-case email address; null if it is neither. */
export function writtenAddress(text: string, country: string): string | null {
  return text.includes('@') ? normalizeEmail(text) : normalizePhone(text, country);
}

/** The address by which a contact is known (`contactKey`); null if the text is neither a phone number nor an email address. */
export function normalizeAddress(text: string, country: string): string | null {
  const written = writtenAddress(text, country);
  return written === null ? null : contactKey(written);
}
