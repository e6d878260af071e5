import { expect, test } from 'vitest';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test('webhooks are added with a secret that is shown once, tested, and deliver again on request', async () => {
  const { page, app } = tab;
  const [endpoint, { key }] = await Promise.all([startTestEndpoint(), createWorkspace(app)]);
  await tab.signIn(key, '/webhooks');
  await page.getByText('No webhooks yet').waitFor();
  await page.getByRole('button', { name: 'Add a webhook' }).first().click();
  const form = page.getByRole('dialog', { name: 'Add a webhook' });
  await form.getByLabel('URL').fill(endpoint.url);
  await form.getByLabel('Name (optional)').fill('Our CRM');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Add' }).click();
  expect(await page.getByLabel('Signing secret').inputValue()).toMatch(/^whsec_/);
  await page.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('row', { name: /Our CRM/ }).press('Enter');
  const drawer = page.getByRole('dialog', { name: 'Our CRM' });
  await drawer.getByRole('button', { name: 'Send a test event' }).click();
  await drawer.getByRole('button', { name: /webhook\.ping/ }).click();
  await drawer.getByText('204').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Replay' }).click();
  await drawer.getByRole('button', { name: /webhook\.ping Replay/ }).waitFor();
  expect(endpoint.received.map(({ headers }) => headers['x-svc-replay'])).toEqual([undefined, 'true']);
  await drawer.getByRole('tab', { name: 'Settings' }).click();
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the webhook' }).click();
  await page.getByText('No webhooks yet').waitFor();
});
