import { createHmac, timingSafeEqual } from 'node:crypto';
import { readKeyRing } from './key-ring.ts';

/** Signs what we hand out ourselves and get back: links whose signature is the whole credential. */
export interface Signer {
  /**
   * @param purpose keeps a signature for one thing from serving another.
   * @returns base64url.
   */
  sign(purpose: string, parts: readonly string[]): string;
  verify(purpose: string, parts: readonly string[], signature: string): boolean;
}

/**
 * HMAC-SHA256 under a ring of keys.
 * @param keys `SIGNING_KEYS`: `id:base64,id2:base64` of 32 bytes each; the first signs, all verify.
 */
export function createSigner(keys: string): Signer {
  const ring = [...readKeyRing('SIGNING_KEYS', keys).values()];
  const [current] = ring;
  if (!current) throw new Error('SIGNING_KEYS names no key');
  return {
    sign: (purpose, parts) => digest(current, purpose, parts),
    verify(purpose, parts, signature) {
      // As text: several spellings decode to the same bytes, and only ours is one that was not changed.
      const given = Buffer.from(signature);
      return ring.some((key) => {
        const expected = Buffer.from(digest(key, purpose, parts));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}

// As JSON, no part can run into the next.
const digest = (key: Buffer, purpose: string, parts: readonly string[]): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([purpose, ...parts]))
    .digest('base64url');
