import { createHash, randomBytes } from 'node:crypto';

/** `svc_…` for a workspace, `svcagency_…` for an agency. Neither prefix begins the other, so a token's kind is certain. */
const PREFIXES = { workspace: 'svc_sk_', agency: 'svcagency_' } as const;
export type ApiKeyKind = keyof typeof PREFIXES;

export interface NewApiKey {
  /** The key itself: shown once, stored nowhere. */
  key: string;
  hash: string;
  /** With `last4`, what a list of keys shows to tell them apart. */
  prefix: string;
  last4: string;
}

/** A new key: the prefix of its kind and 32 random bytes as 43 base64url characters. */
export function newApiKey(kind: ApiKeyKind): NewApiKey {
  const prefix = PREFIXES[kind];
  const key = prefix + randomBytes(32).toString('base64url');
  return { key, hash: hashApiKey(key), prefix, last4: key.slice(-4) };
}

/**
 * What is stored and looked up: SHA-256 in hex. A slow, salted hash guards passwords, which can be guessed;
 * 256 random bits cannot, and a fast hash makes the lookup one index probe per request.
 */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/**
 * The kind of key a credential claims to be, or null for a session token. Every `svc_` form counts as a
 * workspace key.
 */
export function apiKeyKind(token: string): ApiKeyKind | null {
  if (token.startsWith(PREFIXES.agency)) return 'agency';
  return token.startsWith('svc_') ? 'workspace' : null;
}
