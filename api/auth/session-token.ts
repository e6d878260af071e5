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
import { type ClaimRules, NoRoleNamed, placeNamedBy } from '#domain/accounts/identity-claims.ts';
import { WorkspaceId } from '#domain/base/ids.ts';
import { boundedFetch } from '#providers/bounded-fetch.ts';

/** The signed-in user and their organization (our workspace), which is null for a personal account. */
export interface Session {
  userId: string;
  organizationId: string | null;
  /** `org:admin`, `org:member`, or another role of the identity provider's. */
  role: string | null;
  /** All ids and names of the organization, if `organizationId` is not the id of a workspace. */
  organizations?: readonly string[];
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
  /** Fetches the keys of `jwksUrl`. @throws SessionKeysUnavailable */
  checkKeys(): Promise<void>;
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
  /** Where the organization and the role are; default: where Clerk's session tokens have them. */
  claimRules?: ClaimRules;
  /** PEM file of the certificate authority of `jwksUrl`; null: a public one. */
  caFile?: string | null;
  /** The private keys of the local issuer, whose public halves verify. */
  localKeys?: readonly JWK[];
}

/** Neither `none` nor a symmetric algorithm, for which the public key would be the secret. */
const ALGORITHMS = ['RS256', 'ES256'];
const CLERK: ClaimRules = {
  organizationClaim: null,
  rolesClaim: null,
  adminRoles: [],
  memberRoles: null,
};
const CLOCK_SKEW_SECONDS = 5;
const KEYS_KEPT_MS = 5 * 60_000;
/** The minimum interval between fetches caused by unknown key ids, so that forged ids cause no load. */
const KEYS_REFETCH_MS = 30_000;
const MAX_KEYS_BYTES = 256 * 1024;

const Claims = z.object({
  sub: z.string().min(1),
  azp: z.string().nullish(),
  sts: z.string().nullish(),
  org_id: z.string().min(1).nullish(),
  org_role: z.string().nullish(),
  o: z.object({ id: z.string().min(1), rol: z.string().nullish() }).nullish(),
});

/** Verifies the signature first, then `iss`, `aud`, `exp` and `nbf`, then the other claims. */
export function createSessionVerifier(options: SessionVerifierOptions): SessionVerifier {
  const { issuer, audience, authorizedParties, claimRules = CLERK } = options;
  const { key, check } = keySource(options);

  return {
    checkKeys: check,

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
      return { userId: claims.sub, ...organizationOf(payload, claimRules) };
    },
  };
}

/** @throws SessionRefused */
function organizationOf(
  claims: Record<string, unknown>,
  rules: ClaimRules,
): Pick<Session, 'organizationId' | 'organizations' | 'role'> {
  try {
    const { organizations, role } = placeNamedBy(claims, rules);
    const [organizationId = null] = organizations;
    const isWorkspace = organizationId === null || WorkspaceId.safeParse(organizationId).success;
    return { organizationId, role, ...(!isWorkspace && { organizations }) };
  } catch (error) {
    if (error instanceof NoRoleNamed) throw new SessionRefused(error.message);
    throw error;
  }
}

/** Each verifier has its own key cache, because key ids are unique per issuer only. */
function keySource({ jwksUrl, caFile = null, localKeys = [] }: SessionVerifierOptions): {
  key: JWTVerifyGetKey;
  check: () => Promise<void>;
} {
  if (jwksUrl === null) {
    if (localKeys.length === 0)
      throw new Error('AUTH_JWKS_URL or AUTH_LOCAL_JWK is required to verify session tokens');
    const keys = localKeys.map((key) => ({ id: key.kid, key: createPublicKey({ key, format: 'jwk' }) }));
    return {
      check: async () => {},
      async key({ kid }) {
        const found = keys.find(({ id }) => id === kid);
        if (!found) throw new SessionRefused('the local issuer has no such key');
        return found.key;
      },
    };
  }
  const remote = createRemoteJWKSet(new URL(jwksUrl), {
    cacheMaxAge: KEYS_KEPT_MS,
    cooldownDuration: KEYS_REFETCH_MS,
    [customFetch]: boundedFetch(MAX_KEYS_BYTES, caFile),
  });
  const unavailable = (cause: unknown): SessionKeysUnavailable =>
    new SessionKeysUnavailable('the keys at AUTH_JWKS_URL cannot be fetched', { cause });
  return {
    async check() {
      await remote.reload().catch((error: unknown) => {
        throw unavailable(error);
      });
    },
    async key(header, token) {
      try {
        return await remote(header, token);
      } catch (error) {
        if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
          throw error;
        if (error instanceof errors.JOSENotSupported) throw error;
        throw unavailable(error);
      }
    },
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
