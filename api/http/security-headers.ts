import type { Middleware } from 'koa';

/** The headers of every response; a route may replace one. */
const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const;
/** A year, for this host only: others of the domain may belong to somebody else. */
const STRICT_TRANSPORT_SECURITY = 'max-age=31536000';

/** @param publicUrl `https` if browsers reach the product only that way. */
export function securityHeaders(publicUrl: string): Middleware {
  const headers = publicUrl.startsWith('https:')
    ? { ...HEADERS, 'Strict-Transport-Security': STRICT_TRANSPORT_SECURITY }
    : HEADERS;
  return async (context, next) => {
    context.set(headers);
    await next();
  };
}
