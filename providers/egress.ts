import type { LookupAddress } from 'node:dns';
import { Agent } from 'undici';
import { exchange } from './egress-exchange.ts';
import { createGuard, type Guard, UrlNotAllowed } from './egress-guard.ts';
import { createQueue } from './egress-queue.ts';

export interface EgressOptions {
  /** Permits loopback addresses and nothing else that is private (`WEBHOOK_ALLOW_PRIVATE`). */
  allowPrivate: boolean;
  httpsOnly: boolean;
  /** Sockets one origin may hold at a time. */
  connectionsPerOrigin?: number;
  /** How names become addresses; DNS unless given. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
}

export interface EgressRequest {
  headers: Record<string, string>;
  body: string;
  /** For the whole exchange: waiting, connecting, and the last byte of the answer. */
  timeoutMs: number;
  /** Of the answer's body; the connection is cut there and the answer counts as complete. */
  maxResponseBytes: number;
}

/** How a request ended. It succeeded when `error` is null and `status` is 2xx. */
export interface EgressResult {
  status: number | null;
  /** Why there is no complete answer; never an address or an internal message. */
  error: string | null;
  latencyMs: number;
  /** False: no byte of the request was sent, so it is safe to send again. */
  connected: boolean;
  /** The URL, or the address behind it, is not one that is sent to: sending again is no use. */
  blocked: boolean;
  body: string;
}

export interface Egress {
  /** Which addresses are sent to. */
  readonly guard: Guard;
  /** Posts once: no redirects, no retries. Never throws. */
  post(url: string, request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}

/**
 * Shorter than any server's own: a request sent into a connection just being closed would be lost, and is
 * never repeated.
 */
const IDLE_CONNECTION_MS = 1_000;

/** Outbound HTTP to URLs that tenants gave. */
export function createEgress({ connectionsPerOrigin = 32, ...options }: EgressOptions): Egress {
  const guard = createGuard(options);
  const agent = new Agent({
    allowH2: false,
    connections: connectionsPerOrigin,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    // One timer covers the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guard.connect,
  });
  const queue = createQueue(connectionsPerOrigin);

  return {
    guard,

    async post(text, { headers, body, timeoutMs, maxResponseBytes }) {
      const started = performance.now();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(new Error('timeout')), timeoutMs);
      const unsent = (error: unknown) => ({ status: null, error, connected: false, body: '' });
      let outcome: Awaited<ReturnType<typeof exchange>>;
      try {
        const url = guard.parseUrl(text);
        const leave = await queue.enter(url.origin, deadline.signal);
        const request = {
          origin: url.origin,
          path: url.pathname + url.search,
          method: 'POST',
          headers,
          body,
        } as const;
        outcome = await exchange(agent, request, deadline.signal, maxResponseBytes).finally(leave);
      } catch (error) {
        outcome = unsent(error);
      } finally {
        clearTimeout(timer);
      }
      const error =
        outcome.error === null ? null : deadline.signal.aborted ? 'timeout' : describe(outcome.error);
      const blocked = outcome.error instanceof UrlNotAllowed;
      return { ...outcome, error, blocked, latencyMs: Math.round(performance.now() - started) };
    },

    close: () => agent.destroy(),
  };
}

/** An error in words fit for a delivery log: system messages name internal addresses, their codes do not. */
function describe(error: unknown): string {
  if (error instanceof UrlNotAllowed) return `url not allowed: ${error.message}`;
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  const words: Record<string, string> = {
    ECONNREFUSED: 'connection refused',
    ECONNRESET: 'connection reset',
    ENOTFOUND: 'host name not found',
    ENODATA: 'host name not found',
    EHOSTUNREACH: 'host unreachable',
    ENETUNREACH: 'network unreachable',
    UND_ERR_CONNECT_TIMEOUT: 'connection timed out',
    UND_ERR_SOCKET: 'connection closed before a complete answer',
  };
  return words[code] ?? `request failed (${code})`;
}
