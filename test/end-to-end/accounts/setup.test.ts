import { beforeAll, expect, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, insertRow } from '#test/support/factories.ts';
import { newUserId } from '#domain/base/ids.ts';

let app: TestApp;
beforeAll(async () => {
  app = await sharedApp();
});

const setupOf = async (api: ApiClient) => (await api('GET', '/api/workspace/setup')).body.setup;
const doneBy = async (api: ApiClient): Promise<string[]> =>
  (await setupOf(api)).steps.flatMap(({ step, done }: { step: string; done: boolean }) =>
    done ? [step] : [],
  );

test('each first step is done once what it leads to exists, and no earlier', async () => {
  const workspace = await createWorkspace(app);
  const api = apiClient(app.url, workspace.key);
  const { steps } = await setupOf(api);
  const names = steps.map(({ step }: { step: string }) => step);
  expect(names).toEqual(['line', 'message', 'reply', 'webhook', 'contacts', 'team']);
  expect(await doneBy(api)).toEqual([]);

  await createLine(app, workspace.id, 'imessage', { provisioning_status: 'provisioning' });
  expect(await doneBy(api)).toEqual([]);
  const fromLineId = await createLine(app, workspace.id);
  expect(await doneBy(api)).toEqual(['line']);

  // The simulated recipient answers at once.
  const message = { message: 'Hello', recipientPhone: '+14155550005', fromLineId };
  expect((await api('POST', '/api/messages', message)).status).toBe(201);
  await eventually(async () => (await doneBy(api)).length === 3);
  // The contact that sending has made is in Quick Sends.
  expect(await doneBy(api)).toEqual(['line', 'message', 'reply']);

  await api('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['message.sent'] });
  const { list } = (await api('POST', '/api/lists', { name: 'Regulars' })).body;
  expect(await doneBy(api)).toEqual(['line', 'message', 'reply', 'webhook']);
  await api('POST', '/api/leads', { listId: list._id, leads: [{ phone: '+14155550123' }] });
  expect(await doneBy(api)).toEqual(['line', 'message', 'reply', 'webhook', 'contacts']);

  const userId = newUserId();
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.com` });
  await insertRow(app, 'workspace_members', {
    workspace_id: workspace.id,
    user_id: userId,
    role: 'org:member',
  });
  expect(await setupOf(api)).toMatchObject({ complete: true, dismissed: false });
});

test('an email that its server has taken is a first message: nothing reports its delivery', async () => {
  const { id, key } = await createWorkspace(app);
  const api = apiClient(app.url, key);
  const message = { status: 'sent', address: 'ada@example.com', scheduled_at: new Date(), source: 'api' };
  await insertRow(app, 'messages', { ...message, workspace_id: id, id: 'a'.repeat(24), channel: 'sms' });
  expect(await doneBy(api)).toEqual([]);
  await insertRow(app, 'messages', { ...message, workspace_id: id, id: 'b'.repeat(24), channel: 'email' });
  expect(await doneBy(api)).toEqual(['message']);
});

test('the first steps can be hidden and shown again', async () => {
  const api = apiClient(app.url, (await createWorkspace(app)).key);
  for (const setupDismissed of [true, false]) {
    expect((await api('PATCH', '/api/workspace', { setupDismissed })).status).toBe(200);
    expect((await setupOf(api)).dismissed).toBe(setupDismissed);
  }
});
