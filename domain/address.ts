import { z } from 'zod';
import { normalizePhone } from './phone.ts';

const Email = z.email();

/** The canonical form of an email address; null if it is none. An international domain gets its ASCII form (`xn--…`). */
export function normalizeEmail(text: string): string | null {
  const address = text.trim().toLowerCase();
  const at = address.lastIndexOf('@') + 1;
  const canonical = address.slice(0, at) + asciiDomain(address.slice(at));
  return Email.safeParse(canonical.replace(ASCII_TLD, '.example')).success ? canonical : null;
}

/** A top-level domain that `Email` does not know. */
const ASCII_TLD = /\.xn--[a-z\d-]*[a-z\d]$/;

const INTERNATIONAL = /^(?=.*\P{ASCII})[-.\da-z\P{ASCII}]+$/u;

const asciiDomain = (domain: string): string =>
  INTERNATIONAL.test(domain) ? (URL.parse(`http://${domain}`)?.hostname ?? domain) : domain;

/** The canonical form of a contact's address: E.164 or a lower-case email address; null if it is neither. */
export function normalizeAddress(text: string, country: string): string | null {
  return text.includes('@') ? normalizeEmail(text) : normalizePhone(text, country);
}
