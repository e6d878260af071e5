import { Resolver } from 'node:dns/promises';
import type { LookupAddress } from 'node:dns';
import { connect as connectSocket, isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { addressKind } from './egress-address.ts';

/** The URL, or an address that it resolves to, is not allowed. The message is the reason. */
export class UrlNotAllowed extends Error {
  override readonly name = 'UrlNotAllowed';
}

export interface GuardOptions {
  /** Allows loopback addresses, but no other private ones (`WEBHOOK_ALLOW_PRIVATE`). */
  allowPrivate: boolean;
  httpsOnly: boolean;
  /** Default: DNS. */
  resolve?: (hostname: string) => Promise<LookupAddress[]>;
  /** Called after each lookup. That there is no such name is an answer. */
  onLookup?: ((result: 'answered' | 'failed') => void) | undefined;
}

/**
 * Restricts connections to servers named by tenants to public addresses. The check is on the address that is connected
 * to, which also prevents DNS rebinding.
 */
export interface Guard {
  /**
   * Check a URL, or the host name of a mail server, when it is registered. A name that does not resolve is accepted,
   * because every connection is checked again.
   * @param ports the allowed ones; default: all. With `WEBHOOK_ALLOW_PRIVATE` all are allowed.
   * @throws UrlNotAllowed
   */
  checkUrl(url: string, ports?: readonly number[]): Promise<void>;
  checkHost(hostname: string, port: number, ports: readonly number[]): Promise<void>;
  /** Checks a URL without resolving its name. @throws UrlNotAllowed */
  parseUrl(url: string): URL;
  /** For an undici dispatcher. */
  connect: buildConnector.connector;
  /** Like `connect`, for servers with certificates of an authority of their own. @param ca in PEM format, in place of the public ones. */
  connectTrusting(ca: string[]): buildConnector.connector;
  /** Resolves a host to an allowed address, for libraries that open their own sockets. @throws UrlNotAllowed */
  addressOf(host: string): Promise<string>;
  /** A TCP connection, for protocols other than HTTP. @throws UrlNotAllowed, or the socket's error */
  openSocket(host: string, port: number): Promise<Socket>;
}

/** Registration does not wait longer for DNS, because every connection is checked again. */
const REGISTRATION_DNS_MS = 2_000;
const CONNECT_MS = 5_000;
const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 };

/** A name has no such record, or does not exist. */
const NO_RECORD: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

export function createGuard({
  allowPrivate,
  httpsOnly,
  resolve = resolveByDns,
  onLookup = () => {},
}: GuardOptions): Guard {
  function checkAddress(address: string): void {
    const kind = addressKind(address);
    if (kind === 'public' || (kind === 'loopback' && allowPrivate)) return;
    throw new UrlNotAllowed('the address is loopback, private or reserved');
  }

  function checkPort(port: number | undefined, allowed: readonly number[]): void {
    if (allowPrivate || (port !== undefined && allowed.includes(port))) return;
    throw new UrlNotAllowed(`the port must be one of ${allowed.join(', ')}`);
  }

  function checkName(hostname: string): void {
    const reserved = reservedName(hostname);
    if (reserved === 'internal' || (reserved === 'localhost' && !allowPrivate)) {
      throw new UrlNotAllowed('the host name is reserved for private networks');
    }
  }

  async function observed(hostname: string): Promise<LookupAddress[]> {
    try {
      const found = await resolve(hostname);
      onLookup('answered');
      return found;
    } catch (error) {
      onLookup(NO_RECORD.has((error as NodeJS.ErrnoException).code) ? 'answered' : 'failed');
      throw error;
    }
  }

  async function resolveAllowed(hostname: string): Promise<LookupAddress[]> {
    const found = await observed(hostname);
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
  function connector(ca?: string[]): buildConnector.connector {
    const connectTcp = buildConnector({ lookup, timeout: CONNECT_MS, allowH2: false, ...(ca && { ca }) });
    return (target, callback) => {
      try {
        // Node does not call `lookup` for a literal address.
        if (isIP(target.hostname)) checkAddress(target.hostname);
      } catch (error) {
        callback(error as Error, null);
        return;
      }
      connectTcp(target, callback);
    };
  }

  async function checkResolved(hostname: string): Promise<void> {
    const { promise: timeout, resolve: giveUp } = Promise.withResolvers<void>();
    const timer = setTimeout(giveUp, REGISTRATION_DNS_MS);
    const check = resolveAllowed(hostname).then(
      () => {},
      (error: unknown) => {
        if (error instanceof UrlNotAllowed) throw error;
      },
    );
    await Promise.race([check, timeout]).finally(() => clearTimeout(timer));
  }

  /** The URL parser normalizes every notation of an address. */
  function parseUrl(text: string): URL {
    if (!URL.canParse(text)) throw new UrlNotAllowed('it is not a valid URL');
    const url = new URL(text);
    if (url.protocol !== 'https:' && (httpsOnly || url.protocol !== 'http:')) {
      throw new UrlNotAllowed(httpsOnly ? 'only https is allowed' : 'only http and https are allowed');
    }
    if (url.username !== '' || url.password !== '')
      throw new UrlNotAllowed('it must not contain a user name or password');
    checkName(url.hostname);
    return url;
  }

  async function checkHostname(hostname: string): Promise<void> {
    const bare = hostname.replace(/^\[|\]$/g, '');
    if (isIP(bare)) return checkAddress(bare);
    await checkResolved(bare);
  }

  return {
    parseUrl,

    async checkUrl(text, ports) {
      const { protocol, port, hostname } = parseUrl(text);
      if (ports) checkPort(port === '' ? DEFAULT_PORTS[protocol] : Number(port), ports);
      await checkHostname(hostname);
    },

    async checkHost(text, port, ports) {
      checkPort(port, ports);
      const bracketed = isIP(text) === 6 ? `[${text}]` : text;
      const url = URL.canParse(`http://${bracketed}`) ? new URL(`http://${bracketed}`) : null;
      if (
        !url ||
        url.host !== url.hostname ||
        url.pathname !== '/' ||
        url.username !== '' ||
        url.search !== ''
      )
        throw new UrlNotAllowed('it is not a host name');
      checkName(url.hostname);
      await checkHostname(url.hostname);
    },

    connect: connector(),
    connectTrusting: connector,

    async addressOf(host) {
      if (isIP(host)) {
        checkAddress(host);
        return host;
      }
      checkName(host);
      const [first] = await resolveAllowed(host);
      if (!first) throw new Error(`${host} has no address`);
      return first.address;
    },

    async openSocket(host, port) {
      if (isIP(host)) checkAddress(host);
      else checkName(host);
      const { promise, resolve: opened, reject } = Promise.withResolvers<Socket>();
      const socket = connectSocket({ host, port, lookup, timeout: CONNECT_MS });
      const giveUp = () => socket.destroy(Object.assign(new Error('connect timeout'), { code: 'ETIMEDOUT' }));
      // The error listener is not removed: an error before the caller adds its own would crash the process.
      socket.once('timeout', giveUp).on('error', reject);
      socket.once('connect', () => {
        socket.setTimeout(0).off('timeout', giveUp);
        opened(socket);
      });
      return promise;
    },
  };
}

/**
 * Names that are reserved for private networks (RFC 6761, RFC 6762, RFC 8375, ICANN's `.internal`).
 */
function reservedName(hostname: string): 'localhost' | 'internal' | null {
  const name = hostname.replace(/\.$/, '');
  if (/(^|\.)localhost$/.test(name)) return 'localhost';
  return /(^|\.)(internal|local|home\.arpa)$/.test(name) ? 'internal' : null;
}

/**
 * Queries name servers directly: the operating system's resolver occupies one of four threads until a name server
 * responds, so that one tenant's name could delay the deliveries of all.
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
