import { retryAfterMs } from '../base/retry-after.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How long a delivery waits after its first failed attempt, its second, and so on. */
export const RETRY_DELAYS_MS = [5000, MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS] as const;

/** The status by which an endpoint says that it is gone for good. */
export const GONE = 410;

/** How an attempt of a delivery has failed. */
export interface FailedAttempt {
  /** Including this one. */
  attempts: number;
  /** null: there was no response. */
  status: number | null;
  /** Whether nothing may be sent to the endpoint, so that a retry is pointless. */
  blocked: boolean;
  /** The header `Retry-After` of the response. */
  retryAfter: string | null;
}

/** @returns when the delivery is attempted again; null: never. */
export function retryAt({ attempts, status, blocked, retryAfter }: FailedAttempt, now: Date): Date | null {
  const delay = RETRY_DELAYS_MS[attempts - 1];
  if (delay === undefined || blocked || !isTemporary(status)) return null;
  const asked = retryAfterMs(retryAfter, now) ?? 0;
  return new Date(now.getTime() + Math.max(delay, asked));
}

const isTemporary = (status: number | null): boolean =>
  status === null || status === 408 || status === 429 || (status >= 500 && status <= 599);
