import { createPublicKey } from 'node:crypto';
import {
  createRemoteJWKSet,
  customFetch,
  errors,
  importJWK,
  jwtVerify,
  SignJWT,
  type JWK,
  type JWTVerifyGetKey,
} from 'jose';
import { z } from 'zod';
import { boundedFetch } from '#providers/bounded-fetch.ts';

/** The signed-in user and their organization (our workspace), which is null for a personal account. */
export interface Session {
  userId: string;
  organizationId: string | null;
  /** `org:admin`, `org:member`, or another role of the identity provider's. */
  role: string | null;
  /** The identity provider names no organization; `organizationId` is only the workspace in which the user starts. */
  ofAnyWorkspace?: boolean;
}

/** The token is not valid. The message is for logs, not for the caller. */
export class SessionRefused extends Error {
  override readonly name = 'SessionRefused';
}

/** The identity provider's keys cannot be fetched, so the token can be neither accepted nor rejected. */
export class SessionKeysUnavailable extends Error {
  override readonly name = 'SessionKeysUnavailable';
}

export interface SessionVerifier {
  /** @throws SessionRefused, SessionKeysUnavailable */
  verify(token: string): Promise<Session>;
}

export interface SessionVerifierOptions {
  /** `AUTH_JWKS_URL`; null: `localKey` is used. */
  jwksUrl: string | null;
  /** Compared with `iss`: `AUTH_ISSUER`, or `PUBLIC_URL` for the local issuer. */
  issuer: string;
  /** If given, `aud` must be present and name one of them (`AUTH_AUDIENCE`). */
  audience?: readonly string[] | null;
  /** If given, `azp` must be present and one of them (`AUTH_AUTHORIZED_PARTIES`). */
  authorizedParties?: readonly string[] | null;
  /** The private keys of the local issuer, whose public halves verify. */
  localKeys?: readonly JWK[];
}

/** Neither `none` nor a symmetric algorithm, for which the public key would be the secret. */
const ALGORITHMS = ['RS256', 'ES256'];
const CLOCK_SKEW_SECONDS = 5;
const KEYS_KEPT_MS = 5 * 60_000;
/** The minimum interval between fetches caused by unknown key ids, so that forged ids cause no load. */
const KEYS_REFETCH_MS = 30_000;
const MAX_KEYS_BYTES = 256 * 1024;

/** Clerk's session tokens: version 1 has `org_id` and `org_role`, version 2 the compact `o`. */
const OrganizationClaims = z.object({
  v: z.number().nullish(),
  org_id: z.string().min(1).nullish(),
  org_role: z.string().nullish(),
  o: z.object({ id: z.string().min(1), rol: z.string().nullish() }).nullish(),
});
type OrganizationClaims = z.infer<typeof OrganizationClaims>;
const Claims = OrganizationClaims.extend({
  sub: z.string().min(1),
  azp: z.string().nullish(),
  sts: z.string().nullish(),
});

/** Verifies the signature first, then `iss`, `aud`, `exp` and `nbf`, then the other claims. */
export function createSessionVerifier(options: SessionVerifierOptions): SessionVerifier {
  const { issuer, audience, authorizedParties } = options;
  const key = keySource(options);

  return {
    async verify(token) {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ALGORITHMS,
        issuer,
        ...(audience && { audience: [...audience] }),
        clockTolerance: CLOCK_SKEW_SECONDS,
        requiredClaims: ['exp', 'sub'],
      }).catch((error: unknown) => {
        if (error instanceof SessionKeysUnavailable) throw error;
        throw new SessionRefused(
          error instanceof errors.JOSEError ? error.message : 'the key does not match the token',
        );
      });
      const parsed = Claims.safeParse(payload);
      if (!parsed.success) throw new SessionRefused('a claim has the wrong type');
      const claims = parsed.data;
      if (claims.sts === 'pending') throw new SessionRefused('the session is pending');
      if (authorizedParties && !(claims.azp && authorizedParties.includes(claims.azp))) {
        throw new SessionRefused('azp is not an authorized party');
      }
      return { userId: claims.sub, ...organization(claims) };
    },
  };
}

function organization({
  v,
  o,
  org_id,
  org_role,
}: OrganizationClaims): Pick<Session, 'organizationId' | 'role'> {
  if (o) return { organizationId: o.id, role: o.rol ? `org:${o.rol.replace(/^org:/, '')}` : null };
  if (v === 2 || !org_id) return { organizationId: null, role: null };
  return { organizationId: org_id, role: org_role ?? null };
}

/** The organization that the claims of a verified ID token name, and the role in it. @throws SessionRefused */
export function organizationOf(claims: unknown): Pick<Session, 'organizationId' | 'role'> {
  const parsed = OrganizationClaims.safeParse(claims);
  if (!parsed.success) throw new SessionRefused('a claim has the wrong type');
  return organization(parsed.data);
}

/** Each verifier has its own key cache, because key ids are unique per issuer only. */
function keySource({ jwksUrl, localKeys = [] }: SessionVerifierOptions): JWTVerifyGetKey {
  if (jwksUrl === null) {
    if (localKeys.length === 0)
      throw new Error('AUTH_JWKS_URL or AUTH_LOCAL_JWK is required to verify session tokens');
    const keys = localKeys.map((key) => ({ id: key.kid, key: createPublicKey({ key, format: 'jwk' }) }));
    return async ({ kid }) => {
      const found = keys.find(({ id }) => id === kid);
      if (!found) throw new SessionRefused('the local issuer has no such key');
      return found.key;
    };
  }
  const remote = createRemoteJWKSet(new URL(jwksUrl), {
    cacheMaxAge: KEYS_KEPT_MS,
    cooldownDuration: KEYS_REFETCH_MS,
    [customFetch]: boundedFetch(MAX_KEYS_BYTES),
  });
  return async (header, token) => {
    try {
      return await remote(header, token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
        throw error;
      if (error instanceof errors.JOSENotSupported) throw error;
      throw new SessionKeysUnavailable('the keys at AUTH_JWKS_URL cannot be fetched', { cause: error });
    }
  };
}

/**
 * Signs a session token of the local issuer, for the demo and tests.
 * @param session.expires a time, or a duration such as `'12h'` or `'30 days'`.
 */
export async function signLocalSession(
  localKey: JWK,
  issuer: string,
  session: Session & { expires: string | Date },
): Promise<string> {
  const alg = localKey.kty === 'EC' ? 'ES256' : 'RS256';
  const { userId, organizationId, role, expires } = session;
  const organizationClaims = organizationId === null ? {} : { org_id: organizationId, org_role: role };
  return new SignJWT(organizationClaims)
    .setProtectedHeader({ alg, typ: 'JWT', ...(localKey.kid && { kid: localKey.kid }) })
    .setSubject(userId)
    .setIssuer(issuer)
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime(expires)
    .sign(await importJWK(localKey, alg));
}
