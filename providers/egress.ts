import type { LookupAddress } from 'node:dns';
import { connectionFailure } from './connection-failure.ts';
import type { Exchange } from './egress-exchange.ts';
import { createGuard, type Guard, type GuardOptions, UrlNotAllowed } from './egress-guard.ts';
import { createPoster } from './egress-post.ts';
import { createQueue } from './egress-queue.ts';
import { isOver, timeLimit } from './time-limit.ts';

export interface EgressOptions {
  /** Allows loopback addresses, but no other private ones (`WEBHOOK_ALLOW_PRIVATE`). */
  allowPrivate: boolean;
  httpsOnly: boolean;
  connectionsPerOrigin?: number;
  /** Default: DNS. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
  onLookup?: GuardOptions['onLookup'];
}

export interface EgressRequest {
  headers: Record<string, string>;
  body: string;
  /** The time limit of the whole exchange: queueing, connecting, and reading the response. */
  timeoutMs: number;
  /** A longer response body is truncated and the connection closed; the response counts as complete. */
  maxResponseBytes: number;
}

/** The request succeeded if `error` is null and `status` is 2xx. */
export interface EgressResult {
  status: number | null;
  /** Why there is no complete response; never contains an address or an internal message. */
  error: string | null;
  latencyMs: number;
  /** False: no byte of the request was sent, so it is safe to retry. */
  connected: boolean;
  /** The URL, or an address that it resolves to, is not allowed, so a retry is pointless. */
  blocked: boolean;
  body: string;
  /** The header `Retry-After` of the response. */
  retryAfter?: string | null;
}

export interface Egress {
  readonly guard: Guard;
  /** Posts once, without redirects or retries. Never throws. */
  post(url: string, request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}

/**
 * Shorter than the idle timeout of servers: a request on a connection that the server is closing would be lost, and
 * is not retried.
 */
const IDLE_CONNECTION_MS = 1_000;

/** Outbound HTTP to URLs of tenants. */
export function createEgress({ connectionsPerOrigin = 32, ...options }: EgressOptions): Egress {
  const guard = createGuard(options);
  const poster = createPoster(guard, { connectionsPerOrigin, idleMs: IDLE_CONNECTION_MS });
  const queue = createQueue(connectionsPerOrigin);

  return {
    guard,

    async post(text, { headers, body, timeoutMs, maxResponseBytes }) {
      const started = performance.now();
      const limit = timeLimit(Math.max(0, timeoutMs));
      const unsent = (error: unknown) => ({ status: null, error, connected: false, body: '' });
      let outcome: Exchange;
      try {
        const url = guard.parseUrl(text);
        const leave = await queue.enter(url.origin, limit);
        outcome = await poster.post(url, { headers, body, signal: limit, maxResponseBytes }).finally(leave);
      } catch (error) {
        outcome = unsent(error);
      }
      const error =
        outcome.error === null ? null : isOver(limit) ? 'timeout' : connectionFailure(outcome.error);
      const blocked = outcome.error instanceof UrlNotAllowed;
      return { ...outcome, error, blocked, latencyMs: Math.round(performance.now() - started) };
    },

    close: async () => poster.close(),
  };
}
