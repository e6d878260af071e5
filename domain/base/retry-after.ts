const LONGEST_MS = 24 * 3_600_000;

/**
 * How long a server asks to be left alone.
 * @param header `Retry-After`: seconds, or a date (RFC 9110, section 10.2.3). Some servers write fractions of seconds.
 * @returns milliseconds, a day at most; null: it does not say.
 */
export function retryAfterMs(header: string | null, now: Date): number | null {
  const text = header?.trim() ?? '';
  if (/^\d+(?:\.\d+)?$/.test(text)) return boundedRetryMs(Number(text) * 1000);
  // `Date.parse` takes `-1` for a year.
  const at = /[a-z]/i.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : boundedRetryMs(at - now.getTime());
}

/** What a server asks for is kept within a day. */
export const boundedRetryMs = (ms: number): number => Math.min(Math.max(ms, 0), LONGEST_MS);
