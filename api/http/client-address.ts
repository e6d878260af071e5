import ipaddr from 'ipaddr.js';
import type { Context } from 'koa';

/**
 * Whose failed attempts are counted together: an IPv4 address, or the /64 network of an IPv6 one, which a single
 * customer has. The address is the one that the outermost trusted proxy saw (`TRUSTED_PROXIES`).
 */
export function clientAddress({ ip, req }: Pick<Context, 'ip' | 'req'>): string {
  const given = ipaddr.isValid(ip) ? ip : (req.socket.remoteAddress ?? '');
  if (!ipaddr.isValid(given)) return 'unknown';
  const address = ipaddr.process(given);
  if (address.kind() === 'ipv4') return address.toString();
  return (address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':');
}

/** Each proxy appends whom it saw to `X-Forwarded-For`: only the last entries, one for each trusted proxy, count. */
export const proxySettings = (trustedProxies: number) => ({
  proxy: trustedProxies > 0,
  maxIpsCount: trustedProxies,
});
