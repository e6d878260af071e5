import { createHmac, randomBytes } from 'node:crypto';

/**
 * What stands for the address of an erased contact. It is drawn, so that it says nothing, and one for each address, so
 * that whoever counts contacts counts as many as before.
 */
const PREFIX = 'erased:';

export const newPseudonym = (): string => PREFIX + randomBytes(12).toString('hex');

export const isErased = (address: string): boolean => address.startsWith(PREFIX);

/** By this an address that is no longer stored is known again: only whoever has the key can tell that it is the same. */
export const addressHash = (key: Buffer, workspaceId: string, address: string): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([workspaceId, address]))
    .digest('base64url');

/**
 * What is kept of a reason that a carrier gave, which may name the contact: a word of ours, or the number that it begins
 * with. `reason_code` in the database does the same.
 */
export const reasonCode = (reason: string): string =>
  /^[a-z_]+$|^\d{3,5}(?![a-z0-9])/i.exec(reason)?.[0] ?? 'erased';

/** How a text of ours names a contact: as an address, or as a part of a link. */
export const namesOf = (addresses: readonly string[]): string[] => [
  ...new Set(addresses.flatMap((address) => [address, encodeURIComponent(address)])),
];
