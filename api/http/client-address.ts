import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';

/**
 * The key under which failed attempts are counted: an IPv4 address, or the /64 network of an IPv6 address, which is
 * what a provider assigns to one customer. It is the address seen by the outermost trusted proxy (`TRUSTED_PROXIES`).
 */
export function clientAddress(context: Pick<Context, 'ip'>): string {
  const given = clientIp(context);
  if (!ipaddr.isValid(given)) return 'unknown';
  const address = ipaddr.process(given);
  if (address.kind() === 'ipv4') return address.toString();
  return (address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** `203.0.113.7:4711` and `[2001:db8::1]:4711`, as some proxies write them. */
const WITH_PORT = /^(?:\[(?<v6>[^\]]+)\]|(?<v4>[\d.]+))(?::\d{1,5})?$/;

/**
 * The IP address of the client, as the outermost trusted proxy sees it; '' if that is not an address. It is never the proxy's own
 * then, which may be among the addresses that a key allows.
 */
export function clientIp({ ip }: Pick<Context, 'ip'>): string {
  if (ipaddr.isValid(ip)) return ip;
  const { v6, v4 } = WITH_PORT.exec(ip)?.groups ?? {};
  const bare = v6 ?? v4 ?? '';
  return ipaddr.isValid(bare) ? bare : '';
}

/** Each proxy appends the address of its client to `X-Forwarded-For`, so only the last `trustedProxies` entries count. */
export const proxySettings = (trustedProxies: number) => ({
  proxy: trustedProxies > 0,
  maxIpsCount: trustedProxies,
});
