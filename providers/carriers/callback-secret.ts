import { createHash, timingSafeEqual } from 'node:crypto';
import { JsonTooComplex, parseUntrustedJson } from '#domain/base/untrusted-json.ts';
import { Unreadable } from '../untrusted/processes.ts';
import { BadSignature, type CallbackHead } from './carrier.ts';

/**
 * For providers that do not sign callbacks: the callback URL contains a secret instead.
 * @param secret undefined: every callback is refused.
 * @throws BadSignature
 */
export function checkSecret(secret: string | undefined, { url }: CallbackHead): void {
  const given = new URL(url).searchParams.get('secret');
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  if (secret === undefined || given === null || !timingSafeEqual(digest(given), digest(secret)))
    throw new BadSignature('wrong secret');
}

/** The callback URL with the secret that `checkSecret` expects. */
export function withSecret(callbackUrl: string, secret: string): string {
  const url = new URL(callbackUrl);
  url.searchParams.set('secret', secret);
  return url.href;
}

/** Whether a URL that is registered at the provider is the line's, perhaps with a former public URL or secret. */
export const isOfLine = (registered: string, callbackUrl: string): boolean =>
  URL.parse(registered)?.pathname === new URL(callbackUrl).pathname;

/** @throws Unreadable */
export function readJsonBody(rawBody: string): unknown {
  try {
    return parseUntrustedJson(rawBody);
  } catch (error) {
    throw new Unreadable(error instanceof JsonTooComplex ? `it ${error.message}` : 'it is not valid JSON');
  }
}
