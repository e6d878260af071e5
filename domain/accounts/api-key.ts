import { hash, randomBytes } from 'node:crypto';
import type { Mode } from '../test-mode/test-mode.ts';

/** No prefix is a prefix of another, so the kind of a token is unambiguous. */
const PREFIXES = { workspace: 'svc_sk_', agency: 'svcagency_' } as const;
export type ApiKeyKind = keyof typeof PREFIXES;
/** The prefix of a workspace key that acts in test mode. */
const TEST_PREFIX = 'svc_test_';

export interface NewApiKey {
  /** The key itself: returned once and never stored. */
  key: string;
  hash: string;
  /** Lists show `prefix` and `last4` to tell keys apart. */
  prefix: string;
  last4: string;
}

/** A new key: the prefix of its kind, 32 random bytes as 43 base64url characters, and a checksum of 6. */
export function newApiKey(kind: ApiKeyKind, mode: Mode = 'live'): NewApiKey {
  const prefix = mode === 'test' ? TEST_PREFIX : PREFIXES[kind];
  const secret = prefix + randomBytes(32).toString('base64url');
  const key = secret + checksum(secret);
  return { key, hash: hashApiKey(key), prefix, last4: key.slice(-4) };
}

/**
 * The stored form: SHA-256 in hex. A slow, salted hash is for passwords, which can be guessed; 256 random bits
 * cannot, and an unsalted hash can be looked up by an index.
 */
export function hashApiKey(key: string): string {
  return hash('sha256', key);
}

/**
 * The kind of key that a bearer token claims to be; null for a session token. Anything that starts with `svc_` is
 * treated as a workspace key.
 */
export function apiKeyKind(token: string): ApiKeyKind | null {
  if (token.startsWith(PREFIXES.agency)) return 'agency';
  return token.startsWith('svc_') ? 'workspace' : null;
}

const KEY = /^(?<secret>(?:svc_sk_|svc_test_|svcagency_)[\w-]{43})(?<checksum>[\w-]{6})?$/;

/** Whether a token can be a key, so that a mistyped one is refused without a lookup. Older keys have no checksum. */
export function isPossibleApiKey(token: string): boolean {
  const { secret, checksum: given } = KEY.exec(token)?.groups ?? {};
  return secret !== undefined && (given === undefined || given === checksum(secret));
}

const checksum = (secret: string): string => hash('sha256', secret, 'base64url').slice(0, 6);
