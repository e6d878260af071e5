/**
 * The address of the customers' servers. It is public, as production requires, but belongs to nobody: IANA has not
 * allocated 2d00::/8. In processes that import `arrive-at-loopback.ts` it is this machine.
 */
export const PUBLIC_ADDRESS = '2d00::1';
