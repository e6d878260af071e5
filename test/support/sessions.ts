import type { JWK } from 'jose';
import { signLocalSession } from '#api/auth/session-token.ts';
import type { TestApp } from './app.ts';
import { type ApiClient, apiClient } from './client.ts';

interface SessionClaims {
  userId: string;
  organizationId?: string | null;
  role?: string | null;
  expiresIn?: string;
}

/** @returns a session token signed by the local issuer. */
export function signIn(
  { config }: TestApp,
  { userId, organizationId = null, role = null, expiresIn = '1 hour' }: SessionClaims,
): Promise<string> {
  return signLocalSession(JSON.parse(config.auth.localJwk ?? '{}') as JWK, config.auth.issuer, {
    userId,
    organizationId,
    role,
    expires: expiresIn,
  });
}

/** @returns a client that calls the API with a session. */
export const sessionClient = async (app: TestApp, claims: SessionClaims): Promise<ApiClient> =>
  apiClient(app.url, await signIn(app, claims));
