import { type SecretBox, secretContext } from './secret-box.ts';

/** Encrypts the key of the hashes of addresses (db/connection/address-hashes.ts) for its row. */
export function createKeySeal(secrets: Pick<SecretBox, 'seal' | 'open'>) {
  const context = secretContext('hash', 'addresses', 'key');
  return {
    seal: (plain: string): string => secrets.seal(plain, context),
    open: (sealed: string): string => secrets.open(sealed, context),
  };
}
