import { createHmac, randomBytes } from 'node:crypto';

/**
 * The pseudonym of an erased address. It is random, so that it reveals nothing, and one per address, so
 * that counts of contacts do not change.
 */
const PREFIX = 'erased:';

export const newPseudonym = (): string => PREFIX + randomBytes(12).toString('hex');

export const isErased = (address: string): boolean => address.startsWith(PREFIX);

/** The keyed hash by which an erased address is recognized: only a process with the key can tell that it is the same. */
export const addressHash = (key: Buffer, workspaceId: string, address: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([workspaceId, address]))
    .digest('base64url');

/**
 * The part of a carrier's reason that is kept, because the rest may name the contact: one of our codes, or the number at its
 * beginning. `reason_code` in the database does the same.
 */
export const reasonCode = (reason: string): string =>
  /^[a-z_]+$|^\d{3,5}(?![a-z0-9])/i.exec(reason)?.[0] ?? 'erased';

/** The forms in which our own texts name a contact: as an address, or as a part of a link. */
export const namesOf = (addresses: readonly string[]): string[] => [
  ...new Set(addresses.flatMap((address) => [address, encodeURIComponent(address)])),
];
