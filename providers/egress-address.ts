import ipaddr from 'ipaddr.js';

/** The only block of public IPv6 addresses (RFC 4291, section 2.4). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** Metadata services at public addresses; those of other clouds are in refused ranges. */
const METADATA_ADDRESSES = new Set(['168.63.129.16']);

/**
 * Classifies an address for outbound requests: `public` is allowed, `loopback` only if configured, `refused` never
 * (private, link-local, metadata, multicast, documentation, translation and tunnel prefixes). IPv4-mapped IPv6
 * addresses are treated as IPv4.
 */
export function addressKind(address: string): 'public' | 'loopback' | 'refused' {
  if (!ipaddr.isValid(address)) return 'refused';
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === 'loopback') return 'loopback';
  if (range !== 'unicast' || METADATA_ADDRESSES.has(parsed.toString())) return 'refused';
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST) ? 'public' : 'refused';
}

/** Whether a host is `localhost` or a loopback address. */
export const isLoopback = (host: string): boolean => host === 'localhost' || addressKind(host) === 'loopback';
