import { beforeAll, expect, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let api: ApiClient;
let workspaceId: string;

beforeAll(async () => {
  app = await sharedApp();
  const workspace = await createWorkspace(app);
  workspaceId = workspace.id;
  api = apiClient(app.url, workspace.key);
});

test.each([
  ['hourlyNewConversationsLimit', 'hourly_new_cap'],
  ['dailyNewConversationsLimit', 'daily_new_cap'],
  ['dailyTotalMessagesLimit', 'daily_total_cap'],
])('messages beyond %s are moved, and sent at once when the limit is raised', async (limit, holdReason) => {
  const lineId = await createLine(app, workspaceId);
  const set = (most: number) => api('PATCH', `/api/lines/${lineId}`, { [limit]: most });
  await set(1);
  for (const message of ['first', 'second', 'third']) {
    await api('POST', '/api/messages', { message, recipientPhone: phone(), fromLineId: lineId });
  }
  const messages = async () =>
    (await api('GET', `/api/messages?lineId=${lineId}`)).body.messages.toReversed();
  const moved = await eventually(async () => {
    const waiting = (await messages()).filter(
      (message: { holdReason: string }) => message.holdReason === holdReason,
    );
    return waiting.length === 2 && waiting;
  });
  const now = new Date();
  for (const { status, scheduledDate } of moved) {
    expect(status).toBe('scheduled');
    expect(new Date(scheduledDate).getTime()).toBeGreaterThan(now.getTime());
    expect(scheduledDate).toMatch(/:00:00\.000Z$/);
  }
  await set(2);
  await eventually(
    async () =>
      (await messages()).filter(({ sentAt }: { sentAt: string | null }) => sentAt !== null).length === 2,
  );
  const texts = (await messages()).filter(({ sentAt }: { sentAt: string | null }) => sentAt !== null);
  expect(texts.map(({ message }: { message: string }) => message)).toEqual(['first', 'second']);
});
