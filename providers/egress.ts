import { Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { addressKind } from './egress-address.ts';
import { exchange } from './egress-exchange.ts';
import { createQueue } from './egress-queue.ts';

/** The URL, or the address behind it, is not one this service sends requests to. The message says why. */
export class UrlNotAllowed extends Error {
  override readonly name = 'UrlNotAllowed';
}

export interface EgressOptions {
  /** Permits loopback addresses and nothing else that is private (decisions §9, `WEBHOOK_ALLOW_PRIVATE`). */
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
  /**
   * The check at registration, DNS included. A name that does not resolve now is let through: every
   * connection is checked again.
   * @throws UrlNotAllowed
   */
  checkUrl(url: string): Promise<void>;
  /** Posts once: no redirects, no retries. Never throws. */
  post(url: string, request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}

/**
 * Registration answers soon even when a name server does not: the check that counts is at connection time.
 */
const REGISTRATION_DNS_MS = 2_000;
const CONNECT_MS = 5_000;
/**
 * Shorter than any server's own: a request sent into a connection just being closed would be lost, and is
 * never repeated.
 */
const IDLE_CONNECTION_MS = 1_000;

/**
 * Outbound HTTP to URLs that tenants gave (decisions §9): public addresses only, judged on the very address
 * connected to, so that a name which changes its answer between check and connection (DNS rebinding) is
 * refused too.
 */
export function createEgress(options: EgressOptions): Egress {
  const { allowPrivate, httpsOnly, connectionsPerOrigin = 32, resolve = resolveByDns } = options;

  function checkAddress(address: string): void {
    const kind = addressKind(address);
    if (kind === 'public' || (kind === 'loopback' && allowPrivate)) return;
    throw new UrlNotAllowed('the address is loopback, private or reserved');
  }

  async function resolveAllowed(hostname: string): Promise<LookupAddress[]> {
    const found = await resolve(hostname);
    for (const { address } of found) checkAddress(address);
    return found;
  }

  const lookup: LookupFunction = (hostname, { all }, callback) => {
    resolveAllowed(hostname).then(
      (found) => {
        const [first] = found;
        if (all || !first) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, []),
    );
  };
  const connectTcp = buildConnector({ lookup, timeout: CONNECT_MS, allowH2: false });

  const agent = new Agent({
    allowH2: false,
    connections: connectionsPerOrigin,
    keepAliveTimeout: IDLE_CONNECTION_MS,
    keepAliveMaxTimeout: IDLE_CONNECTION_MS,
    // One timer covers the whole exchange.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(target, callback) {
      try {
        // Node asks no lookup for a literal address.
        if (isIP(target.hostname)) checkAddress(target.hostname);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connectTcp(target, callback);
    },
  });
  const queue = createQueue(connectionsPerOrigin);

  /**
   * The URL's own text: scheme, credentials, reserved names. The URL parser has brought every notation of an
   * address to one.
   */
  function parseAllowed(text: string): URL {
    if (!URL.canParse(text)) throw new UrlNotAllowed('it is not a valid URL');
    const url = new URL(text);
    if (url.protocol !== 'https:' && (httpsOnly || url.protocol !== 'http:')) {
      throw new UrlNotAllowed(httpsOnly ? 'only https is allowed' : 'only http and https are allowed');
    }
    if (url.username !== '' || url.password !== '')
      throw new UrlNotAllowed('it must not carry a user name or password');
    const reserved = reservedName(url.hostname);
    if (reserved === 'internal' || (reserved === 'localhost' && !allowPrivate)) {
      throw new UrlNotAllowed('the host name is reserved for private networks');
    }
    return url;
  }

  return {
    async checkUrl(text) {
      const hostname = parseAllowed(text).hostname.replace(/^\[|\]$/g, '');
      if (isIP(hostname)) return checkAddress(hostname);
      const { promise: tooLate, resolve: giveUp } = Promise.withResolvers<void>();
      const timer = setTimeout(giveUp, REGISTRATION_DNS_MS);
      const check = resolveAllowed(hostname).then(
        () => {},
        (error: unknown) => {
          if (error instanceof UrlNotAllowed) throw error;
        },
      );
      await Promise.race([check, tooLate]).finally(() => clearTimeout(timer));
    },

    async post(text, { headers, body, timeoutMs, maxResponseBytes }) {
      const started = performance.now();
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(new Error('timeout')), timeoutMs);
      const unsent = (error: unknown) => ({ status: null, error, connected: false, body: '' });
      let outcome: Awaited<ReturnType<typeof exchange>>;
      try {
        const url = parseAllowed(text);
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

/**
 * Names that by their definition lead into a private network (RFC 6761, RFC 6762, RFC 8375, ICANN's
 * `.internal`).
 */
function reservedName(hostname: string): 'localhost' | 'internal' | null {
  const name = hostname.replace(/\.$/, '');
  if (/(^|\.)localhost$/.test(name)) return 'localhost';
  return /(^|\.)(internal|local|home\.arpa)$/.test(name) ? 'internal' : null;
}

/**
 * Asks the name servers without the operating system's resolver: that one takes a thread of a pool of four
 * for as long as a name server stays silent, so that one tenant's name would hold up the deliveries of all.
 */
const dns = new Resolver({ timeout: 2_000, tries: 2 });

async function resolveByDns(hostname: string): Promise<LookupAddress[]> {
  if (reservedName(hostname) === 'localhost') {
    return [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
  }
  const [v4, v6] = await Promise.allSettled([dns.resolve4(hostname), dns.resolve6(hostname)]);
  if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason;
  return [
    ...(v4.status === 'fulfilled' ? v4.value : []).map((address) => ({ address, family: 4 })),
    ...(v6.status === 'fulfilled' ? v6.value : []).map((address) => ({ address, family: 6 })),
  ];
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
