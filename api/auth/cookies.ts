import type { Context } from 'koa';

/** Cookies that no other site and no script can read. */
type CookieName = 'session' | 'sign-in' | 'invitee' | 'browser';

interface CookieOptions {
  minutes: number;
  /** `Lax`: also sent when another site, such as the identity provider, redirects here. */
  sameSite: 'Strict' | 'Lax';
}

/** With `__Host-`, which requires https, no other host of the domain can set it. */
const nameOf = (name: CookieName, publicUrl: string): string =>
  `${isHttps(publicUrl) ? '__Host-' : ''}linepace-${name}`;

const isHttps = (publicUrl: string): boolean => publicUrl.startsWith('https:');

/** Reads a cookie; '' if there is none. Values are base64url or encrypted texts, which need no escapes. */
export const cookieOf = (header: string, name: CookieName, publicUrl: string): string => {
  const prefix = `${nameOf(name, publicUrl)}=`;
  const pair = header.split('; ').find((text) => text.startsWith(prefix));
  return pair?.slice(prefix.length) ?? '';
};

export const cookieHeader = (
  name: CookieName,
  value: string,
  publicUrl: string,
  { minutes, sameSite }: CookieOptions,
): string =>
  [
    `${nameOf(name, publicUrl)}=${value}`,
    'Path=/',
    `Max-Age=${minutes * 60}`,
    'HttpOnly',
    `SameSite=${sameSite}`,
    ...(isHttps(publicUrl) ? ['Secure'] : []),
  ].join('; ');

/** Makes the browser delete a cookie. */
export const noCookie = (name: CookieName, publicUrl: string): string =>
  cookieHeader(name, '', publicUrl, { minutes: 0, sameSite: 'Strict' });

export const addCookie = (context: Context, header: string): void => context.append('Set-Cookie', header);
