import type { JWK } from 'jose';
import { signLocalSession } from '#api/auth/session-token.ts';
import type { AuditEntry } from '#domain/accounts/audit.ts';
import type { TestApp } from './app.ts';
import { type ApiClient, apiClient } from './client.ts';
import type { TestWorkspace } from './factories.ts';

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

/** The audit log of a workspace, oldest entry first, as an admin reads it. */
export async function auditLogOf(
  app: TestApp,
  { id: organizationId, ownerId: userId }: Pick<TestWorkspace, 'id' | 'ownerId'>,
  query: { action?: AuditEntry['action']; targetId?: string },
): Promise<AuditEntry[]> {
  const admin = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
  const { body } = await admin('GET', `/api/audit-log?${new URLSearchParams({ limit: '200', ...query })}`);
  return (body.entries as AuditEntry[]).toReversed();
}
