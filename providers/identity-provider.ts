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
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  refreshTokenGrant,
  ResponseBodyError,
  type ServerMetadata,
  tokenRevocation,
} from 'openid-client';
import { boundedFetch } from './bounded-fetch.ts';

/** The identity provider refuses, or its response is not valid. The message is for logs. */
export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

/** The identity provider does not respond, or responds unexpectedly. */
export class IdentityProviderUnavailable extends Error {
  override readonly name = 'IdentityProviderUnavailable';
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
  /** The claims of the verified ID token. */
  claims: Record<string, unknown>;
  tokens: ProviderTokens;
}

/** OpenID Connect with the authorization code flow and PKCE. */
export interface IdentityProvider {
  /** @throws IdentityProviderUnavailable */
  begin(): Promise<{ url: URL; checks: SignInChecks }>;
  /**
   * Exchanges the code for tokens, and verifies `state`, `iss` of the answer, and of the ID token signature, issuer,
   * audience, expiry and nonce.
   * @param search the query with which the provider sent the browser back.
   * @throws SignInRefused, IdentityProviderUnavailable
   */
  finish(search: string, checks: SignInChecks): Promise<SignedIn>;
  /** @returns the claims of the new ID token, null if there is none. @throws SignInRefused, IdentityProviderUnavailable */
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
}

const TIMEOUT_SECONDS = 10;
/** Its type differs in optional fields only. */
const request = boundedFetch(256 * 1024) as CustomFetch;
const SCOPES = ['openid', 'profile', 'email'];

export function createIdentityProvider(options: IdentityProviderOptions): IdentityProvider {
  const { redirectUri, signedOutUri } = options;
  let found: Promise<Configuration> | undefined;
  const configuration = (): Promise<Configuration> => {
    found ??= discover(options).catch((error: unknown) => {
      // The next request tries again.
      found = undefined;
      throw new IdentityProviderUnavailable('the configuration of AUTH_ISSUER cannot be read', {
        cause: error,
      });
    });
    return found;
  };

  return {
    async begin() {
      const server = await configuration();
      const checks = { state: randomState(), nonce: randomNonce(), verifier: randomPKCECodeVerifier() };
      const url = buildAuthorizationUrl(server, {
        redirect_uri: redirectUri,
        scope: scopesOf(server.serverMetadata()),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await calculatePKCECodeChallenge(checks.verifier),
        code_challenge_method: 'S256',
      });
      return { url, checks };
    },

    async finish(search, { state, nonce, verifier }) {
      const server = await configuration();
      const tokens = await authorizationCodeGrant(server, new URL(redirectUri + search), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      }).catch(translated);
      const claims = tokens.claims();
      if (!claims || tokens.id_token === undefined) throw new SignInRefused('there is no ID token');
      return { claims, tokens: { idToken: tokens.id_token, refreshToken: tokens.refresh_token ?? null } };
    },

    async renew({ idToken, refreshToken }) {
      if (refreshToken === null) return null;
      const renewed = await refreshTokenGrant(await configuration(), refreshToken).catch(translated);
      return {
        claims: renewed.claims() ?? null,
        tokens: {
          idToken: renewed.id_token ?? idToken,
          refreshToken: renewed.refresh_token ?? refreshToken,
        },
      };
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

/** Reads the provider's metadata, whose `issuer` must be the configured one. */
async function discover({ issuer, clientId, clientSecret }: IdentityProviderOptions): Promise<Configuration> {
  const server = new URL(issuer);
  // Refused in production by the configuration.
  const execute = server.protocol === 'http:' ? [allowInsecureRequests] : [];
  const discovered = await discovery(server, clientId, undefined, None(), {
    execute,
    timeout: TIMEOUT_SECONDS,
    [customFetch]: request,
  });
  const metadata = discovered.serverMetadata();
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
const scopesOf = ({ scopes_supported: supported }: ServerMetadata): string =>
  [...SCOPES, ...(supported?.includes('offline_access') ? ['offline_access'] : [])].join(' ');

/** Errors of the response itself, as opposed to the provider, the connection or our credential. */
const NOT_VALID = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
]);

/** A renewal that fails for another reason than a refusal is retried, so that an outage signs nobody out. */
function translated(error: unknown): never {
  const isRefused =
    error instanceof AuthorizationResponseError ||
    (error instanceof ResponseBodyError && error.error === 'invalid_grant') ||
    (error instanceof Error && 'code' in error && NOT_VALID.has(String(error.code)));
  const message = error instanceof Error ? error.message : String(error);
  throw new (isRefused ? SignInRefused : IdentityProviderUnavailable)(message, { cause: error });
}
