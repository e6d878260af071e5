import { randomBytes } from 'node:crypto';
import { type CommonQueryMethods, sql } from 'slonik';
import { z } from 'zod';
import { addressHash } from '#domain/contacts/erasure.ts';
import { NoRows } from './rows.ts';

/** Encrypts and decrypts the key of the hashes. */
export interface KeySeal {
  seal(plain: string): string;
  open(sealed: string): string;
}

/** The keyed hashes by which erased addresses are recognized. */
export interface AddressHashes {
  /** In the order of the addresses; null in a process without encryption keys, which cannot compute them. */
  of(workspaceId: string, addresses: readonly string[]): Promise<string[] | null>;
}

const ADDRESS_KEY = 'addresses';

const KeyRow = z.object({ keySealed: z.string() });

/**
 * The key is generated once per database and stored in it, encrypted, so the hashes stay the same when the encryption
 * keys are rotated.
 * @param db a connection of the system's login.
 * @param seal null: the process has no encryption keys.
 */
export function createAddressHashes(db: CommonQueryMethods, seal: KeySeal | null): AddressHashes {
  let key: Promise<Buffer> | null = null;

  async function load(seal: KeySeal): Promise<Buffer> {
    const find = () =>
      db.maybeOneFirst(sql.type(KeyRow)`select key_sealed from hash_keys where id = ${ADDRESS_KEY}`);
    let sealed = await find();
    if (sealed === null) {
      await db.query(sql.type(NoRows)`
        insert into hash_keys (id, key_sealed) values (${ADDRESS_KEY}, ${seal.seal(randomBytes(32).toString('base64'))})
        on conflict do nothing`);
      sealed = await find();
    }
    return Buffer.from(seal.open(sealed ?? ''), 'base64');
  }

  return {
    async of(workspaceId, addresses) {
      if (!seal) return null;
      key ??= load(seal);
      const loading = key;
      const loaded = await loading.catch((error: unknown) => {
        if (key === loading) key = null;
        throw error;
      });
      return addresses.map((address) => addressHash(loaded, workspaceId, address));
    },
  };
}
