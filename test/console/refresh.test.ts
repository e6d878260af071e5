import { expect, test } from 'vitest';
import { createWorkspace } from '#test/support/factories.ts';
import { openConsole } from './console-tab.ts';
import { countRequestsAfter } from './held-responses.ts';

const tab = openConsole();

test('a list that was being read while something was added shows it', async () => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app);
  const added = page.waitForResponse((response) => response.url().endsWith('/api/team/invite'));
  let reads = 0;
  await page.route('**/api/team/invitations?*', async (route) => {
    // Read before the invitation, and received after it.
    const response = await route.fetch();
    reads += 1;
    if (reads === 1) await (await added).finished();
    await route.fulfill({ response });
  });
  await tab.signInAsOwner(workspace, '/settings?tab=team');
  await page.getByLabel('Email address').fill('kim@example.test');
  await expect.poll(() => reads).toBe(1);
  await page.getByRole('button', { name: 'Invite' }).click();
  await page.getByRole('button', { name: 'Revoke the invitation of kim@example.test' }).waitFor();
});

test('limits are read again after what counts towards them is added', async () => {
  const { page, app } = tab;
  const workspace = await createWorkspace(app);
  await tab.signInAsOwner(workspace, '/contacts');
  await page.getByRole('button', { name: 'New list' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'New list' });
  await dialog.getByLabel('Name').fill('Regulars');
  const reads = countRequestsAfter(page, 'POST', '/api/workspace/limits');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect.poll(reads).toBeGreaterThan(0);
});
