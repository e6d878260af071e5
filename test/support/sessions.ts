import type { JWK } from 'jose';
import { signLocalSession } from '#api/auth/session-token.ts';
import type { TestApp } from './app.ts';

/** @returns a session token signed by the local issuer. */
export function signIn(
  { config }: TestApp,
  {
    userId,
    organizationId = null,
    role = null,
    expiresIn = '1 hour',
  }: { userId: string; organizationId?: string | null; role?: string | null; expiresIn?: string },
): Promise<string> {
  return signLocalSession(JSON.parse(config.auth.localJwk ?? '{}') as JWK, config.auth.issuer, {
    userId,
    organizationId,
    role,
    expires: expiresIn,
  });
}
