import type { JWK } from 'jose';
import { signLocalSession } from '#api/auth/session-token.ts';
import type { TestApp } from './app.ts';

/** The token of somebody who is signed in, as the local issuer makes it. */
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
    expiresIn,
  });
}
