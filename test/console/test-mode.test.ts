import { beforeAll, expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app);
  await tab.signInAsOwner(workspace);
});

const account = async (item: string): Promise<void> => {
  await tab.page.getByRole('button', { name: /Account/ }).click();
  await tab.page.getByRole('menuitem', { name: item }).click();
};

test('the account menu enters and leaves test mode, which every page marks', async () => {
  const { page } = tab;
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  expect(await page.getByText('Test mode').count()).toBe(0);
  await account('Test mode');
  await page.getByRole('status').getByText('Test mode: nothing here is sent to anybody.').waitFor();
  await tab.go('/lines');
  await page.getByText('Test Line').first().waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Leave test mode' }).click();
  await page.getByText('Test mode: nothing').waitFor({ state: 'detached' });
});

test('the band empties test mode, after a question', async () => {
  const { page } = tab;
  const { api } = await openTestMode(tab.app, workspace);
  await api('POST', '/api/test/lines', { channelType: 'sms', firstName: 'Front', lastName: 'Desk' });
  await account('Test mode');
  await tab.go('/lines');
  await page.getByText('Front Desk').first().waitFor();
  await page.getByRole('button', { name: 'Delete test data' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete everything in test mode?' });
  expect(await inaccessible(page)).toEqual([]);
  // Home is shown first, and is loaded anew when the data are gone.
  const reloaded = page.waitForEvent('load');
  await dialog.getByRole('button', { name: 'Delete test data' }).click();
  await reloaded;
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await eventually(async () => (await api('GET', '/api/lines/by-user')).body.lines.length === 3);
  await tab.go('/lines');
  await page.getByText('Test Line').first().waitFor();
  expect(await page.getByText('Front Desk').count()).toBe(0);
  await page.getByRole('button', { name: 'Leave test mode' }).click();
  await page.getByText('Test mode: nothing').waitFor({ state: 'detached' });
});

test('the band shows the time of a clock that is not the real one, and Home its day', async () => {
  const { page } = tab;
  const { api } = await openTestMode(tab.app, workspace);
  await api('POST', '/api/test/reset', { startsAt: new Date(Date.now() - 40 * 86_400_000) });
  await account('Test mode');
  await page.getByText(/^The clock shows /).waitFor();
  const day = new Date(Date.now() - 40 * 86_400_000).toLocaleDateString('en-US', {
    month: 'long',
    day: 'numeric',
    timeZone: 'UTC',
  });
  await page.getByText(`${day} in`).waitFor();
  await page.getByRole('button', { name: 'Leave test mode' }).click();
  await page.getByText('Test mode: nothing').waitFor({ state: 'detached' });
});

test('a key for test mode is made in live mode', async () => {
  const { page } = tab;
  await tab.go('/settings?tab=keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByLabel('Name').fill('Our tests');
  await page.getByLabel('Mode').selectOption('Test');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'The key Our tests' });
  const key = await dialog.getByLabel('API key').inputValue();
  await dialog.getByRole('button', { name: 'Done' }).click();
  const { body } = await apiClient(tab.app.url, key)('GET', '/api/workspace');
  expect(body.workspace).toMatchObject({ mode: 'test', liveWorkspaceId: workspace.id });
});

test('the phone of a contact gets what is sent, answers, reacts and reads, and the clock is turned', async () => {
  const { page } = tab;
  const { api } = await openTestMode(tab.app, workspace);
  await api('POST', '/api/test/reset', {});
  await account('Test mode');
  await tab.go('/inbox');
  await page.getByRole('button', { name: 'Phone' }).click();
  const phone = page.getByRole('complementary', { name: 'Phone of a contact' });
  await phone.getByText('Nothing from').waitFor();
  await phone.getByLabel('Write as the contact').fill('Is it still free?');
  await phone.getByLabel('Write as the contact').press('Enter');
  await phone.getByRole('log').getByText('Is it still free?').waitFor();
  const row = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem').first();
  await row.getByText('Is it still free?').click();
  await page.getByRole('textbox', { name: 'Reply' }).fill('It is.');
  await page.getByRole('textbox', { name: 'Reply' }).press('Control+Enter');
  await phone.getByRole('log').getByText('It is.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await phone.getByRole('button', { name: 'Read it all' }).click();
  await page
    .getByRole('log', { name: 'Messages' })
    .getByText(/^Read /)
    .waitFor();
  await phone.getByRole('button', { name: 'Love the last message' }).click();
  await page.getByRole('list', { name: 'Reactions' }).waitFor();

  const before = Date.parse((await api('GET', '/api/test/clock')).body.now);
  await page.getByRole('button', { name: 'Turn the clock' }).click();
  await page.getByRole('menuitem', { name: 'Three days' }).click();
  await page.getByText(/^The clock shows .*, .*\.$/).waitFor();
  expect(Date.parse((await api('GET', '/api/test/clock')).body.now)).toBeGreaterThanOrEqual(
    before + 72 * 3_600_000,
  );
  await page.getByRole('button', { name: 'Put the phone away' }).click();
  await phone.waitFor({ state: 'detached' });

  // The live workspace knows nothing of the conversation that is open.
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.headers()['x-workspace-id'] === workspace.id) asked.push(request.url());
  });
  await page.getByRole('button', { name: 'Leave test mode' }).click();
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  await page.getByText('Test mode: nothing').waitFor({ state: 'detached' });
  expect(asked.filter((url) => url.includes('/api/conversations/%2B'))).toEqual([]);
});
