import { newId } from '#domain/base/ids.ts';
import { hashSessionToken } from '#domain/accounts/user-session.ts';
import { sealTokens } from '#api/auth/user-sessions.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import type { TestApp } from './app.ts';
import { insertRow, type TestWorkspace } from './factories.ts';

/** Inserts a session of the workspace's owner, as signing in at an identity provider starts it. @returns its id. */
export async function plantSession(
  app: TestApp,
  { id: workspaceId, ownerId }: Pick<TestWorkspace, 'id' | 'ownerId'>,
): Promise<string> {
  const id = newId();
  const secrets = createSecretBox(app.config.encryptionKeys);
  await insertRow(app, 'user_sessions', {
    workspace_id: workspaceId,
    id,
    hash: hashSessionToken(id),
    user_id: ownerId,
    user_agent: 'secret browser',
    expires_at: new Date(Date.now() + 3_600_000),
    tokens_sealed: sealTokens(secrets, { place: workspaceId, id }, { idToken: '', refreshToken: null }),
  });
  return id;
}
