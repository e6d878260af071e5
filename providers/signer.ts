import { createHmac, timingSafeEqual } from 'node:crypto';
import { readKeyRing } from '#domain/base/key-ring.ts';

/** Signs links whose signature is the only credential. */
export interface Signer {
  /**
   * @param purpose prevents a signature from being used for anything else.
   * @returns base64url.
   */
  sign(purpose: string, parts: readonly string[]): string;
  verify(purpose: string, parts: readonly string[], signature: string): boolean;
}

/**
 * HMAC-SHA256 with a key ring.
 * @param keys `SIGNING_KEYS`: `id:base64,id2:base64` of 32 bytes each; the first signs, all verify.
 */
export function createSigner(keys: string): Signer {
  const ring = [...readKeyRing('SIGNING_KEYS', keys).values()];
  const [current] = ring;
  if (!current) throw new Error('SIGNING_KEYS must contain a key');
  return {
    sign: (purpose, parts) => digest(current, purpose, parts),
    verify(purpose, parts, signature) {
      // Compared as text, because several base64url texts decode to the same bytes.
      const given = Buffer.from(signature);
      return ring.some((key) => {
        const expected = Buffer.from(digest(key, purpose, parts));
        return given.length === expected.length && timingSafeEqual(given, expected);
      });
    },
  };
}

// As JSON, so that the boundaries of the parts are unambiguous.
const digest = (key: Buffer, purpose: string, parts: readonly string[]): string =>
  createHmac('sha256', key)
    .update(JSON.stringify([purpose, ...parts]))
    .digest('base64url');
