/**
 * The addresses of servers of customers and carriers. They are public, as production requires, but belong to nobody: IANA has
 * not allocated 2d00::/8. In processes that import `arrive-at-loopback.ts` they are addresses of this machine.
 */
const PREFIX = '2d00::';

/** More than there are carriers' servers, and as many as the certificate names. */
export const PUBLIC_HOSTS = 64;

/** The first is of the customer's server. */
export const publicAddress = (host: number): string => `${PREFIX}${host.toString(16)}`;

/** Where a host listens, so that each has the ports of its protocol. */
export const loopbackAddress = (host: number): string => `127.0.0.${host}`;

/** Where a connection to a public address arrives; null: it is another address. */
export const arrivesAt = (address: string | undefined): string | null =>
  address?.startsWith(PREFIX) ? loopbackAddress(Number.parseInt(address.slice(PREFIX.length), 16)) : null;
