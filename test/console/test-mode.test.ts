import { beforeAll, expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { openTestMode } from '#test/support/test-mode.ts';
import { inaccessible, TAB } from './browser.ts';
import { openConsole } from './console-tab.ts';
import { docsPicture } from './docs-picture.ts';

const tab = openConsole();
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app, { name: 'Sunny Rentals' });
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
  // On a phone, the notification about the turned clock leaves the buttons of the band free.
  await page.setViewportSize({ width: 390, height: 844 });
  await page.getByRole('button', { name: 'Turn the clock' }).click();
  await page.getByRole('menuitem', { name: 'An hour' }).click();
  const toast = page.getByRole('region', { name: 'Notifications' }).getByText(/^The clock shows/);
  await toast.waitFor();
  const [shown, button] = await Promise.all([
    toast.locator('xpath=ancestor::*[@role="dialog"]').boundingBox(),
    page.getByRole('button', { name: 'Phone', exact: true }).boundingBox(),
  ]);
  expect((shown?.y ?? Infinity) + (shown?.height ?? 0)).toBeLessThan(button?.y ?? 0);
  await page.setViewportSize(TAB.viewport);
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
  const held = page.getByRole('complementary', { name: 'Phone of a contact' });
  await held.getByText('Nothing from').waitFor();
  await held.getByLabel('Write as the contact').fill('Is it still free?');
  await held.getByLabel('Write as the contact').press('Enter');
  await held.getByRole('log').getByText('Is it still free?').waitFor();
  const row = page.getByRole('list', { name: 'Conversations' }).getByRole('listitem').first();
  await row.getByText('Is it still free?').click();
  await page.getByRole('textbox', { name: 'Reply' }).fill('It is.');
  await page.getByRole('textbox', { name: 'Reply' }).press('Control+Enter');
  await held.getByRole('log').getByText('It is.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await held.getByRole('button', { name: 'Read it all' }).click();
  await page
    .getByRole('log', { name: 'Messages' })
    .getByText(/^Read /)
    .waitFor();
  await held.getByRole('button', { name: 'Love the last message' }).click();
  await page.getByRole('list', { name: 'Reactions', exact: true }).waitFor();

  const before = Date.parse((await api('GET', '/api/test/clock')).body.now);
  await page.getByRole('button', { name: 'Turn the clock' }).click();
  await page.getByRole('menuitem', { name: 'Three days' }).click();
  await page.getByText(/^The clock shows .*, .*\.$/).waitFor();
  expect(Date.parse((await api('GET', '/api/test/clock')).body.now)).toBeGreaterThanOrEqual(
    before + 72 * 3_600_000,
  );
  await page.getByRole('button', { name: 'Put the phone away' }).click();
  await held.waitFor({ state: 'detached' });

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

test('one plays with the phone of a contact: it shows what was done with messages, and does it', async () => {
  const { page } = tab;
  const { api } = await openTestMode(tab.app, workspace);
  await api('POST', '/api/test/reset', {});
  const { name } = (await api('GET', '/api/workspace')).body.workspace;
  const from = phone();
  const write = async (text: string) => (await api('POST', '/api/test/inbound', { from, text })).body;
  const { replyId, lineId } = await write('Is it still free?');
  await write('And is it quiet?');
  await api('PATCH', `/api/lines/${lineId}`, { readReceipts: 'on_reply' });
  const path = `/api/conversations/${encodeURIComponent(from)}`;
  const said = async (text: string) =>
    (await api('GET', path)).body.messages.find(({ message }: { message: string }) => message === text);
  await account('Test mode');
  await tab.go(`/inbox/${encodeURIComponent(from)}`);
  await page.getByRole('button', { name: 'Phone' }).click();
  const held = page.getByRole('complementary', { name: 'Phone of a contact' });
  const shown = held.getByRole('log');
  await shown.getByText('And is it quiet?').waitFor();
  await shown.getByText('Delivered').waitFor();

  // What the line does.
  await api('POST', `${path}/typing`, { state: 'on' });
  await shown.getByText(`${name} types`).waitFor();
  await api('POST', `/api/messages/${replyId}/reactions`, { reaction: 'like' });
  await shown.getByRole('list', { name: 'Reactions on the phone' }).getByText(name).waitFor();
  const answer = { phone: from, message: 'It is free.', replyToMessageId: replyId, effect: 'slam' };
  const { _id } = (await api('POST', '/api/inbox/send-reply', answer)).body;
  await shown.getByText('It is free.').waitFor();
  await shown.getByText('Answers').locator('..').getByText('Is it still free?').waitFor();
  await shown.getByText('Sent with Slam').waitFor();
  await shown.getByText(`${name} types`).waitFor({ state: 'detached' });
  await shown.getByText(/Read \d/).waitFor();
  await api('PATCH', `/api/messages/${_id}`, { message: 'It is free now.' });
  await shown.getByText('It is free now.').waitFor();
  await shown.getByText('Edited').waitFor();
  expect(await inaccessible(page)).toEqual([]);

  // What the person does, by keyboard.
  const hold = async (text: string, entry: string): Promise<void> => {
    const bubble = shown.locator('.group\\/item').filter({ hasText: text });
    await bubble.getByRole('button', { name: 'Hold this message' }).last().press('Enter');
    await page.locator('[role=menu]:focus, [role=menu] :focus').waitFor();
    await page.keyboard.type(entry.toLowerCase());
    await page.getByRole('menuitem', { name: entry }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Enter');
  };
  const field = held.getByLabel('Write as the contact');
  await hold('It is free now.', 'Laugh');
  await expect.poll(async () => (await said('It is free now.')).reactions[0]?.reaction).toBe('laugh');
  await hold('It is free now.', 'Answer this message');
  await held.getByText('Answering:').waitFor();
  await field.and(page.locator(':focus')).waitFor();
  await page.keyboard.type('How much?');
  await page.keyboard.press('Enter');
  await shown.getByText('How much?').waitFor();
  expect(await said('How much?')).toMatchObject({ replyToMessageId: _id });
  await held.getByText('Answering:').waitFor({ state: 'detached' });
  await hold('How much?', 'Edit');
  await expect.poll(() => field.inputValue()).toBe('How much?');
  await page.keyboard.type(' Per week');
  await page.keyboard.press('Enter');
  await expect.poll(async () => (await said('How much? Per week'))?.editedAt ?? null).not.toBeNull();
  await shown.getByText('How much? Per week').waitFor();
  // Pictures for docs/console.md: RENEW_PICTURES=1 npm run test:system -- test/console/test-mode.test.ts
  await docsPicture(page, 'test-mode-phone');
  await page.setViewportSize({ width: 390, height: 844 });
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
  await hold('How much? Per week', 'Unsend');
  await shown.getByText('You unsent a message').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('group', { name: 'What was said' }).getByText('Removed by the contact').waitFor();
  await api('POST', `/api/messages/${_id}/unsend`);
  await shown.getByText(`${name} unsent a message`).first().waitFor();
  await page.getByRole('button', { name: 'Leave test mode' }).click();
  await page.getByText('Test mode: nothing').waitFor({ state: 'detached' });
});
