import { createHash, randomBytes } from 'node:crypto';

/** A secret of 256 bits for a link, a code or a session: 43 base64url characters. */
export const newSecretToken = (): string => randomBytes(32).toString('base64url');

/** The stored form: SHA-256 in hex. A fast hash, because nobody can try all secrets of this length. */
export const hashSecretToken = (token: string): string => createHash('sha256').update(token).digest('hex');

export const isSecretToken = (text: string): boolean => /^[\w-]{43}$/.test(text);
