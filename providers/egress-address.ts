import ipaddr from 'ipaddr.js';

/**
 * The only block from which public IPv6 addresses are given out (RFC 4291 §2.4); the rest is refused unseen.
 */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** A cloud's metadata service at an address of the public range; the others lie in ranges refused anyway. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);

/**
 * What an address is to an outbound request: `public` may be reached, `loopback` only where that is switched
 * on, `refused` never (private, link-local, metadata, multicast, documentation, translation and tunnel
 * prefixes). IPv4-mapped IPv6 addresses are judged as the IPv4 address they stand for.
 */
export function addressKind(address: string): 'public' | 'loopback' | 'refused' {
  if (!ipaddr.isValid(address)) return 'refused';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === 'loopback') return 'loopback';
  if (range !== 'unicast' || METADATA_ADDRESSES.has(parsed.toString())) return 'refused';
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST) ? 'public' : 'refused';
}

/** Whether a host is this machine, by its address or the one name that always means it. */
export const isLoopback = (host: string): boolean => host === 'localhost' || addressKind(host) === 'loopback';
