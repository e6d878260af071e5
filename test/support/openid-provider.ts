import { createServer } from 'node:http';
import { exportJWK, generateKeyPair } from 'jose';
import Provider from 'oidc-provider';

/** An identity provider that people sign in at, over HTTP. */
export interface OpenIdProvider {
  issuer: string;
  /** What it says of each account, by `sub`. Others cannot sign in, and their refresh tokens are refused. */
  accounts: Map<string, Record<string, unknown>>;
  /** false: every request fails, as during an outage. */
  isUp: boolean;
  /** Whether it gives nobody `offline_access`: it says so when the code is exchanged, as Keycloak does. */
  refusesOffline: boolean;
  /** The error with which it refuses to exchange a code; null: none. */
  tokenError: { error: string; error_description: string } | null;
  /** How often it was asked for tokens. */
  asked: number;
  stop(): Promise<void>;
}

export const CLIENT = { id: 'linepace-console', secret: 'a secret of the client' };

/**
 * @param port where it listens. Under `127.0.0.1`, so that the product at `localhost` is another site.
 * @param appUrl the `PUBLIC_URL` of the client.
 */
export async function startOpenIdProvider(port: number, appUrl: string): Promise<OpenIdProvider> {
  const issuer = `http://127.0.0.1:${port}`;
  const accounts = new Map<string, Record<string, unknown>>();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [`${appUrl}/auth/callback`],
        post_logout_redirect_uris: [`${appUrl}/console`],
        grant_types: ['authorization_code', 'refresh_token'],
        // As providers have it whose organizations are claims of their own.
        id_token_signed_response_alg: 'RS256',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'provider' }] },
    cookies: { keys: ['cookies of a test'] },
    claims: {
      openid: ['sub', 'org_id', 'org_role', 'organization', 'realm_access'],
      email: ['email', 'email_verified'],
      profile: ['name'],
    },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      revocation: { enabled: true, allowedPolicy: async () => true },
    },
    ttl: { Session: 3600, Grant: 3600, Interaction: 600, AccessToken: 600, IdToken: 600, RefreshToken: 3600 },
    findAccount: async (_context, sub) => {
      const claims = accounts.get(sub);
      return claims && { accountId: sub, claims: async () => ({ sub, ...claims }) };
    },
    // Nobody is asked for a consent that their organization has given.
    loadExistingGrant: async ({ oidc }) => {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope('openid profile email offline_access');
      await grant.save();
      return grant;
    },
  });
  const handle = provider.callback();
  let asksOffline = false;
  const running: OpenIdProvider = {
    issuer,
    accounts,
    isUp: true,
    refusesOffline: false,
    tokenError: null,
    asked: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const server = createServer((request, response) => {
    if (!running.isUp) return void response.writeHead(503).end();
    const url = new URL(request.url ?? '/', issuer);
    if (url.pathname === '/token') running.asked += 1;
    if (url.pathname === '/auth' && url.searchParams.has('scope'))
      asksOffline = url.searchParams.get('scope')?.includes('offline_access') ?? false;
    const refusal =
      running.refusesOffline && asksOffline
        ? { error: 'not_allowed', error_description: 'Offline tokens not allowed for the user or client' }
        : running.tokenError;
    if (url.pathname === '/token' && refusal)
      return void response
        .writeHead(400, { 'content-type': 'application/json' })
        .end(JSON.stringify(refusal));
    void handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return running;
}
