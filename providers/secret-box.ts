import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readKeyRing } from '#domain/base/key-ring.ts';

/** A stored secret cannot be decrypted. The message may contain a key id, but never content. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

/**
 * Encrypts secrets at rest. An encrypted text is `v1.<key id>.<iv>.<ciphertext and tag>`, the last two in base64url.
 */
export interface SecretBox {
  /** @param context where the text is stored (`secretContext`); it can be decrypted only with the same context. */
  seal(plain: string, context: string): string;
  /** @throws SecretBoxError for an unknown key, another context, or a changed or malformed text. */
  open(sealed: string, context: string): string;
  /** The prefix of texts encrypted with the current key. */
  readonly prefix: string;
  /** Whether the text was encrypted with another key than the current one. */
  needsRotation(sealed: string): boolean;
}

/** Binds an encrypted text to its record, so that it cannot be decrypted in another record or workspace. */
export function secretContext(kind: string, workspaceId: string, recordId: string): string {
  return JSON.stringify([kind, workspaceId, recordId]);
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM with a key ring.
 * @param keys `ENCRYPTION_KEYS`: `id:base64,id2:base64` of 32 bytes each; the first encrypts, all decrypt.
 * @throws with the id of a malformed key.
 */
export function createSecretBox(keys: string): SecretBox {
  const ring = readKeyRing('ENCRYPTION_KEYS', keys);
  const [current] = ring;
  if (!current) throw new Error('ENCRYPTION_KEYS must contain a key');
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
      if (!key) throw new SecretBoxError(`the key ${keyId} of a stored secret is not in ENCRYPTION_KEYS`);
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES })
          .setAAD(additionalData(keyId, context))
          .setAuthTag(sealed.subarray(-TAG_BYTES));
        return decipher.update(sealed.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
      } catch {
        throw new SecretBoxError(
          `a stored secret cannot be decrypted with key ${keyId}: it was changed or moved`,
        );
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
