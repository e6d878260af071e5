import ipaddr from 'ipaddr.js';

/**
 * The network that a CIDR or a single address names, without host bits: `203.0.113.7/24` is `203.0.113.0/24`. An IPv4
 * network within IPv6 (`::ffff:203.0.113.0/120`) is read as IPv4.
 * @returns null if it is neither.
 */
export function normalizeIpRange(text: string): string | null {
  const range = readRange(text.trim());
  if (!range) return null;
  const [address, bits] = range;
  const bytes = address.toByteArray().map((byte, index) => {
    const kept = Math.max(0, Math.min(8, bits - index * 8));
    return byte & (0xff << (8 - kept)) & 0xff;
  });
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}

/** @param ranges as `normalizeIpRange` returns them. */
export function isInIpRanges(ip: string, ranges: readonly string[]): boolean {
  if (!ipaddr.isValid(ip)) return false;
  const address = ipaddr.process(ip);
  return ranges.some((range) => {
    const [network, bits] = ipaddr.parseCIDR(range);
    return network.kind() === address.kind() && address.match(network, bits);
  });
}

const V4_PREFIX_BITS = 96;

function readRange(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] | null {
  // Other notations, such as `010.1`, mean different things to different programs.
  const isPlain = ipaddr.IPv4.isValidFourPartDecimal(text.split('/')[0] ?? '') || text.includes(':');
  if (!isPlain) return null;
  const cidr = text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`;
  if (!ipaddr.isValidCIDR(cidr)) return null;
  const [address, bits] = ipaddr.parseCIDR(cidr);
  const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
  return isMapped && bits >= V4_PREFIX_BITS
    ? [address.toIPv4Address(), bits - V4_PREFIX_BITS]
    : [address, bits];
}
