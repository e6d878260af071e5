import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';

/**
 * The key under which failed attempts are counted: an IPv4 address, or the /64 network of an IPv6 address, which is
 * what a provider assigns to one customer. It is the address seen by the outermost trusted proxy (`TRUSTED_PROXIES`).
 */
export function clientAddress(context: Pick<Context, 'ip' | 'req'>): string {
  const given = clientIp(context);
  if (!ipaddr.isValid(given)) return 'unknown';
  const address = ipaddr.process(given);
  if (address.kind() === 'ipv4') return address.toString();
  return (address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** The IP address of the client, as the outermost trusted proxy sees it; '' if it is unknown. */
export const clientIp = ({ ip, req }: Pick<Context, 'ip' | 'req'>): string =>
  ipaddr.isValid(ip) ? ip : (req.socket.remoteAddress ?? '');

/** Each proxy appends the address of its client to `X-Forwarded-For`, so only the last `trustedProxies` entries count. */
export const proxySettings = (trustedProxies: number) => ({
  proxy: trustedProxies > 0,
  maxIpsCount: trustedProxies,
});
