import { eventually, type TestApp } from './app.ts';
import { type ApiClient, apiClient } from './client.ts';
import type { TestWorkspace } from './factories.ts';
import { sessionClient } from './sessions.ts';

/** Test mode of a workspace. */
export interface TestMode {
  /** The id of the twin. */
  id: string;
  key: string;
  api: ApiClient;
  /** The session of the owner in the live workspace. */
  admin: ApiClient;
}

/** Makes a key for test mode, and with it the twin of the workspace. */
export async function openTestMode(app: TestApp, workspace: TestWorkspace): Promise<TestMode> {
  const { ownerId: userId, id: organizationId } = workspace;
  const admin = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
  const { body } = await admin('POST', '/api/keys', { name: 'Tests', mode: 'test' });
  const api = apiClient(app.url, body.key);
  const { body: own } = await api('GET', '/api/workspace');
  return { id: own.workspace._id, key: body.key, api, admin };
}

/** Moves the clock, and waits until it has arrived. @throws if it stops before. */
export async function advanceClock(api: ApiClient, advanceSeconds: number): Promise<void> {
  const { status, body } = await api('POST', '/api/test/clock', { advanceSeconds });
  if (status === 200) return;
  if (status !== 202) throw new Error(`the clock has not moved: ${JSON.stringify(body)}`);
  const arrived = await eventually(async () => {
    const clock = (await api('GET', '/api/test/clock')).body;
    return clock.movingTo === null && clock;
  }, 120_000);
  if (arrived.problem !== null) throw new Error(arrived.problem);
}
