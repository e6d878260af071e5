import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  customFetch,
  type CustomFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  type IDToken,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  ResponseBodyError,
  type ServerMetadata,
  tokenRevocation,
} from 'openid-client';
import { decodeJwt } from 'jose';
import { claimAt } from '#domain/accounts/identity-claims.ts';
import { boundedFetch } from './bounded-fetch.ts';

/** The identity provider refuses, or its response is not valid. The message is for logs. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

/** The identity provider refuses `offline_access` to the user or the client. Signing in without it may work. */
export class OfflineAccessRefused extends SignInRefused {}

/** The identity provider does not respond, or responds with an error that is not about the user. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable';

  /** The error that it responds with; null: it does not respond. */
  readonly answer: string | null;

  constructor(message: string, options: { cause: unknown; answer?: string | null }) {
    super(message, options);
    this.answer = options.answer ?? null;
  }
}

/** The data that binds a response to its request, stored in the browser in the meantime. */
export interface SignInChecks {
  state: string;
  nonce: string;
  verifier: string;
}

/** The provider's tokens that a session stores. */
export interface ProviderTokens {
  idToken: string;
  /** null: the provider issues none. */
  refreshToken: string | null;
}

export interface SignedIn {
  /** The claims of the verified ID token, and those that only the provider's user info has. */
  claims: Record<string, unknown>;
  tokens: ProviderTokens;
}

/** OpenID Connect with the authorization code flow and PKCE. */
export interface IdentityProvider {
  /** Reads its configuration anew. @throws IdentityProviderUnavailable */
  check(): Promise<void>;
  /**
   * @param offline whether to ask for `offline_access`, if it is configured and the provider lists it.
   * @throws IdentityProviderUnavailable
   */
  begin(options: { offline: boolean }): Promise<{ url: URL; checks: SignInChecks }>;
  /**
   * Exchanges the code for tokens, and verifies `state`, `iss` of the answer, and of the ID token signature, issuer,
   * audience, expiry and nonce.
   * @param search the query with which the provider sent the browser back.
   * @param offline as the attempt began.
   * @throws SignInRefused, OfflineAccessRefused, IdentityProviderUnavailable
   */
  finish(search: string, checks: SignInChecks, options: { offline: boolean }): Promise<SignedIn>;
  /** @returns the claims, null if they cannot be told now. @throws SignInRefused, IdentityProviderUnavailable */
  renew(
    tokens: ProviderTokens,
  ): Promise<{ claims: Record<string, unknown> | null; tokens: ProviderTokens } | null>;
  /** The URL that also signs out at the provider; null if it has none. @throws IdentityProviderUnavailable */
  signOutUrl(tokens: ProviderTokens): Promise<string | null>;
  /** Revokes the refresh token at the provider, if it supports that. @throws IdentityProviderUnavailable */
  revoke(tokens: ProviderTokens): Promise<void>;
}

export interface IdentityProviderOptions {
  issuer: string;
  clientId: string;
  /** null: the client is public, and PKCE alone protects the code. */
  clientSecret: string | null;
  /** Exactly as it is registered with the provider. */
  redirectUri: string;
  /** The URL to which the provider redirects after signing out. */
  signedOutUri: string;
  scopes: readonly string[];
  /** The claims, or paths in them, that say where a user belongs. Those that the ID token lacks are read from the user info. */
  placeClaims: readonly string[];
  /** PEM file of the provider's certificate authority; null: a public one. */
  caFile: string | null;
  /** Called after each call of the provider. */
  onCall?: (outcome: 'ok' | 'refused' | 'failed') => void;
}

const TIMEOUT_SECONDS = 10;
const MAX_RESPONSE_BYTES = 256 * 1024;
const OFFLINE = 'offline_access';

export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
  const { redirectUri, signedOutUri, onCall } = options;
  let found: Promise<Configuration> | undefined;
  const configuration = (): Promise<Configuration> => {
    found ??= discover(options).catch((error: unknown) => {
      // The next request tries again.
      found = undefined;
      return unreadable(error);
    });
    return found;
  };
  const counted = async <T>(call: () => Promise<T>): Promise<T> => {
    try {
      const result = await call();
      onCall?.('ok');
      return result;
    } catch (error) {
      onCall?.(error instanceof SignInRefused ? 'refused' : 'failed');
      throw error;
    }
  };

  return {
    check: () =>
      counted(async () => {
        const fresh = discover(options).catch(unreadable);
        // Until it is known whether the provider responds, calls go on with what it said before.
        await fresh;
        found = fresh;
      }),

    begin: ({ offline }) =>
      counted(async () => {
        const server = await configuration();
        const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
        const url = buildAuthorizationUrl(server, {
          redirect_uri: redirectUri,
          scope: scopesOf(options, server.serverMetadata(), offline),
          state: checks.state,
          nonce: checks.nonce,
          code_challenge: await calculatePKCECodeChallenge(checks.verifier),
          code_challenge_method: 'S256',
        });
        return { url, checks };
      }),

    finish: (search, { state, nonce, verifier }, { offline }) =>
      counted(async () => {
        const server = await configuration();
        const tokens = await authorizationCodeGrant(server, new URL(redirectUri + search), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        }).catch((error: unknown) => translated(error, offline));
        const claims = tokens.claims();
        if (!claims || tokens.id_token === undefined) throw new SignInRefused('there is no ID token');
        return {
          claims: await withUserInfo(server, claims, tokens.access_token, options),
          tokens: { idToken: tokens.id_token, refreshToken: tokens.refresh_token ?? null },
        };
      }),

    async renew({ idToken, refreshToken }) {
      if (refreshToken === null) return null;
      return counted(async () => {
        const server = await configuration();
        const renewed = await refreshTokenGrant(server, refreshToken).catch(translated);
        const claims = renewed.claims();
        if (claims && claims.sub !== decodeJwt(idToken).sub)
          throw new SignInRefused('the provider names another user');
        return {
          // The tokens have been renewed: without them the next renewal would be refused, whatever becomes of the user info.
          claims: claims
            ? await withUserInfo(server, claims, renewed.access_token, options).catch(() => null)
            : null,
          tokens: {
            idToken: renewed.id_token ?? idToken,
            refreshToken: renewed.refresh_token ?? refreshToken,
          },
        };
      });
    },

    async signOutUrl({ idToken }) {
      const server = await configuration();
      if (server.serverMetadata().end_session_endpoint === undefined) return null;
      return buildEndSessionUrl(server, { id_token_hint: idToken, post_logout_redirect_uri: signedOutUri })
        .href;
    },

    async revoke({ refreshToken }) {
      const server = await configuration();
      if (refreshToken === null || server.serverMetadata().revocation_endpoint === undefined) return;
      await tokenRevocation(server, refreshToken, { token_type_hint: 'refresh_token' }).catch(translated);
    },
  };
}

function unreadable(cause: unknown): never {
  const answer = wrongConfiguration(cause);
  throw new IdentityProviderUnavailable('the configuration of AUTH_ISSUER cannot be read', { cause, answer });
}

/** What AUTH_ISSUER responds that will be the same the next time; null: it may respond something else then. */
function wrongConfiguration(error: unknown): string | null {
  if (error instanceof IncompleteConfiguration) return error.message;
  const { code, cause } = error as { code?: unknown; cause?: unknown };
  const about = cause instanceof Error ? cause.cause : cause;
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    const { body } = about as { body?: { issuer?: unknown } };
    return `its configuration is of the issuer ${String(body?.issuer).slice(0, MAX_ISSUER)}, which is not AUTH_ISSUER`;
  }
  const isRefused =
    about instanceof Response && about.status >= 400 && about.status < 500 && about.status !== 429;
  return isRefused ? `it responds ${about.status} where the configuration of AUTH_ISSUER should be` : null;
}

const MAX_ISSUER = 200;

/** The provider names no place where people sign in, such as that of machines. */
class IncompleteConfiguration extends Error {}

/** What signing in needs. */
const ENDPOINTS = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const;

/** Reads the provider's metadata, whose `issuer` must be the configured one. */
async function discover({
  issuer,
  clientId,
  clientSecret,
  caFile,
}: IdentityProviderOptions): Promise<Configuration> {
  const server = new URL(issuer);
  /** Its type differs in optional fields only. */
  const request = boundedFetch(MAX_RESPONSE_BYTES, caFile) as CustomFetch;
  // Refused in production by the configuration.
  const execute = server.protocol === 'http:' ? [allowInsecureRequests] : [];
  const discovered = await discovery(server, clientId, undefined, None(), {
    execute,
    timeout: TIMEOUT_SECONDS,
    [customFetch]: request,
  });
  const metadata = discovered.serverMetadata();
  const missing = ENDPOINTS.filter((name) => metadata[name] === undefined);
  if (missing.length > 0)
    throw new IncompleteConfiguration(`its configuration names no ${missing.join(' and no ')}`);
  const configuration = new Configuration(
    metadata,
    clientId,
    clientSecret ?? undefined,
    clientSecret === null ? None() : authenticationBy(metadata)(clientSecret),
  );
  configuration.timeout = TIMEOUT_SECONDS;
  configuration[customFetch] = request;
  enableNonRepudiationChecks(configuration);
  for (const change of execute) change(configuration);
  return configuration;
}

/** A provider that names no method supports `client_secret_basic`. */
const authenticationBy = ({ token_endpoint_auth_methods_supported: methods }: ServerMetadata) =>
  methods === undefined || methods.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost;

/** Some providers issue a refresh token only for `offline_access`, and others refuse it as unknown. */
const scopesOf = (
  { scopes }: Pick<IdentityProviderOptions, 'scopes'>,
  { scopes_supported: supported }: ServerMetadata,
  offline: boolean,
): string =>
  scopes.filter((scope) => scope !== OFFLINE || (offline && supported?.includes(OFFLINE))).join(' ');

/** The claims that say who a user is. */
const PROFILE_CLAIMS = ['name', 'email', 'email_verified'];

/**
 * Adds the claims of the user info, where providers put those that the ID token lacks. One whose user info fails still says who the
 * user is, but not where they belong.
 */
async function withUserInfo(
  server: Configuration,
  claims: IDToken,
  accessToken: string,
  { placeClaims }: Pick<IdentityProviderOptions, 'placeClaims'>,
): Promise<Record<string, unknown>> {
  const lacks = (names: readonly string[]): boolean =>
    names.some((name) => claimAt(claims, name) === undefined);
  const isComplete = !lacks([...PROFILE_CLAIMS, ...placeClaims]);
  if (isComplete || server.serverMetadata().userinfo_endpoint === undefined) return claims;
  try {
    return { ...(await fetchUserInfo(server, accessToken, claims.sub)), ...claims };
  } catch (error) {
    return lacks(placeClaims) ? translated(error) : claims;
  }
}

/** Errors of the response itself, as opposed to the provider, the connection or our credential. */
const NOT_VALID = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

/** The provider is overloaded, or broken. */
const OUT_OF_ORDER = new Set(['server_error', 'temporarily_unavailable']);
/** How providers refuse `offline_access`. */
const SCOPE_REFUSED = new Set(['not_allowed', 'invalid_scope']);

/** The body of the response is not of the protocol. It says nothing about the user: a proxy may have given it. */
const isOfAnotherKind = ({ cause }: Error): boolean =>
  cause instanceof Error && typeof cause.cause === 'object' && cause.cause !== null && 'body' in cause.cause;

/** A renewal that fails for another reason than a refusal is retried, so that an outage signs nobody out. */
function translated(error: unknown, offline = false): never {
  const message = error instanceof Error ? error.message : String(error);
  const options = { cause: error };
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError) {
    const answer = [error.error, error.error_description].filter((text) => text !== undefined).join(': ');
    const isDown = error instanceof ResponseBodyError && error.status >= 500;
    if (isDown || OUT_OF_ORDER.has(error.error)) throw new IdentityProviderUnavailable(message, options);
    if (SCOPE_REFUSED.has(error.error) && offline) throw new OfflineAccessRefused(answer, options);
    if (error instanceof AuthorizationResponseError || error.error === 'invalid_grant')
      throw new SignInRefused(answer, options);
    throw new IdentityProviderUnavailable(message, { ...options, answer });
  }
  const isNotValid = error instanceof Error && 'code' in error && NOT_VALID.has(String(error.code));
  if (isNotValid && !isOfAnotherKind(error)) throw new SignInRefused(message, options);
  throw new IdentityProviderUnavailable(message, options);
}
