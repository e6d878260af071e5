import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readKeyRing } from './key-ring.ts';

/** A sealed text cannot be opened. The message names the key id at most, never content. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

/**
 * Encrypts secrets at rest. A sealed text is `v1.<key id>.<iv>.<ciphertext and tag>`, the last two in
 * base64url.
 */
export interface SecretBox {
  /** @param context where the text will be stored, see `secretContext`; it opens there only. */
  seal(plain: string, context: string): string;
  /** @throws SecretBoxError for an unknown key, another context, or a changed or malformed text. */
  open(sealed: string, context: string): string;
  /** What every text begins with that is sealed from now on, and none that was sealed with another key. */
  readonly prefix: string;
  /** Whether the text was sealed with another key than the first, and should be sealed anew. */
  needsRotation(sealed: string): boolean;
}

/** Binds a sealed text to its record: copied to another record or workspace, it does not open. */
export function secretContext(kind: string, workspaceId: string, recordId: string): string {
  return JSON.stringify([kind, workspaceId, recordId]);
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM under a ring of keys.
 * @param keys `ENCRYPTION_KEYS`: `id:base64,id2:base64` of 32 bytes each; the first seals, all open.
 * @throws with the id of the key that is malformed.
 */
export function createSecretBox(keys: string): SecretBox {
  const ring = readKeyRing('ENCRYPTION_KEYS', keys);
  const [current] = ring;
  if (!current) throw new Error('ENCRYPTION_KEYS names no key');
  const [currentId, currentKey] = current;

  return {
    prefix: `v1.${currentId}.`,

    seal(plain, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', currentKey, iv).setAAD(additionalData(currentId, context));
      const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return ['v1', currentId, iv.toString('base64url'), sealed.toString('base64url')].join('.');
    },

    open(text, context) {
      const { keyId, iv, sealed } = parse(text);
      const key = ring.get(keyId);
      if (!key) throw new SecretBoxError(`the key ${keyId} of a stored secret is not among ENCRYPTION_KEYS`);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
          .setAAD(additionalData(keyId, context))
          .setAuthTag(sealed.subarray(-TAG_BYTES));
        return decipher.update(sealed.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        throw new SecretBoxError(`a stored secret does not open with key ${keyId}: it was changed or moved`);
      }
    },

    needsRotation: (text) => parse(text).keyId !== currentId,
  };
}

const additionalData = (keyId: string, context: string): Buffer =>
  Buffer.from(JSON.stringify(['v1', keyId, context]));

function parse(text: string): { keyId: string; iv: Buffer; sealed: Buffer } {
  const [, keyId = '', iv = '', sealed = ''] = /^v1\.([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(text) ?? [];
  const parsed = { keyId, iv: Buffer.from(iv, 'base64url'), sealed: Buffer.from(sealed, 'base64url') };
  if (parsed.iv.length !== IV_BYTES || parsed.sealed.length < TAG_BYTES) {
    throw new SecretBoxError('a stored secret is not in the form v1.<key id>.<iv>.<ciphertext>');
  }
  return parsed;
}
