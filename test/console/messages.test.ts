import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test('messages can be filtered, explain what they wait for, and can be canceled', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const { body: message } = await api('POST', '/api/messages', {
    message: 'See you tomorrow',
    recipientPhone: phone(),
    scheduledDate: new Date(Date.now() + 86_400_000).toISOString(),
    correlationId: 'visit-7',
  });
  const to = phone();
  await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', lastName: 'Lee', phone: to }] });
  const { body: sent } = await api('POST', '/api/messages', {
    message: 'It is open today',
    recipientPhone: to,
  });
  await eventually(async () => (await api('GET', `/api/messages/${sent._id}`)).body.sentAt !== null);
  const { body: timeline } = await api('GET', `/api/messages/${message._id}/timeline`);
  await tab.signIn(key, '/messages?status=failed');
  await page.getByText('No message matches').waitFor();
  const statuses = page.getByRole('combobox', { name: 'Status' });
  await statuses.selectOption('Latest sent');
  await page.getByRole('row', { name: /Ada Lee.*It is open today/ }).waitFor();
  expect(await page.getByRole('row', { name: /See you tomorrow/ }).count()).toBe(0);
  await statuses.selectOption('Waits to be sent');
  await page.getByRole('row', { name: /See you tomorrow/ }).waitFor();
  expect(await page.getByRole('row', { name: /It is open today/ }).count()).toBe(0);
  await statuses.selectOption('scheduled');
  await page.getByLabel('Correlation ID').fill('visit-7');
  await page.keyboard.press('Enter');
  const row = page.getByRole('row', { name: /See you tomorrow/ });
  await row.waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await row.press('Control+k');
  await page.getByRole('combobox', { name: /Search/ }).waitFor();
  await page.keyboard.press('Escape');
  await row.press('Enter');
  const drawer = page.getByRole('dialog', { name: /^To / });
  await drawer.getByText(timeline.waitingFor.text).waitFor();
  expect(page.url()).toContain(`message=${message._id}`);
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Cancel the message' }).click();
  const question = page.getByRole('dialog', { name: 'Cancel this message?' });
  await question.getByRole('button', { name: 'Cancel the message' }).click();
  await drawer.getByText('Canceled before it was sent.').waitFor();
  await page.keyboard.press('Escape');
  await page.getByText('No message matches').waitFor();
});
