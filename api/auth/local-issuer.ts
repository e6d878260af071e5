import { createECDH, hkdfSync } from 'node:crypto';
import type { JWK } from 'jose';
import type { Config } from '#domain/base/config.ts';
import { parseOwnJson } from '#domain/base/own-json.ts';
import { readKeyRing } from '#domain/base/key-ring.ts';
import { ApiError } from '../http/errors.ts';
import type { Services } from '../services.ts';
import { signLocalSession, type Session } from './session-token.ts';

type Keys = Pick<Config, 'auth' | 'signingKeys'>;

/**
 * The private keys of the local issuer: the first signs, all verify. `AUTH_LOCAL_JWK`, or keys derived from `SIGNING_KEYS`,
 * so that all API processes have the same ones and they are rotated together.
 */
export function localKeysOf({ auth, signingKeys }: Keys): JWK[] {
  if (auth.localJwk !== null) return [parseOwnJson(auth.localJwk) as JWK];
  return [...readKeyRing('SIGNING_KEYS', signingKeys)].map(([id, key]) => derived(id, key));
}

/** A key for ES256. */
function derived(id: string, secret: Buffer): JWK {
  const ecdh = createECDH('prime256v1');
  const d = Buffer.from(hkdfSync('sha256', secret, '', 'session tokens', 32));
  ecdh.setPrivateKey(d);
  // Uncompressed: 04, x, y.
  const point = ecdh.getPublicKey();
  const text = (bytes: Buffer): string => bytes.toString('base64url');
  return {
    kty: 'EC',
    crv: 'P-256',
    alg: 'ES256',
    kid: id,
    d: text(d),
    x: text(point.subarray(1, 33)),
    y: text(point.subarray(33)),
  };
}

/** Whether people sign in at this product itself, because there is no identity provider. */
export const signsInItself = ({ auth }: Pick<Config, 'auth'>): boolean =>
  auth.jwksUrl === null && auth.client === null;

/** @throws NOT_FOUND if people sign in at an identity provider. */
export function requireOwnSignIn({ config }: Pick<Services, 'config'>): void {
  if (!signsInItself(config)) throw new ApiError('NOT_FOUND', 'People sign in at the identity provider');
}

/**
 * Signs a session token of the local issuer.
 * @throws if session tokens are those of an identity provider.
 */
export async function issueSession(config: Keys, session: Session & { expires: Date }): Promise<string> {
  const [key] = localKeysOf(config);
  if (config.auth.jwksUrl !== null || !key) throw new Error('the identity provider issues session tokens');
  return signLocalSession(key, config.auth.issuer, session);
}
