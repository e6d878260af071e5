import { expect, test } from 'vitest';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

/** A PNG of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const tab = openConsole();

test('campaigns are written as a draft, previewed for a lead, started and paused', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app, {
    line: { first_name: 'Dana', last_name: 'Lee' },
  });
  await api('POST', '/api/leads', { leads: [{ firstName: 'Grace', phone: '+14155550163' }] });
  await tab.signIn(key, '/campaigns');
  await page.getByRole('button', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Spring viewings');
  await page.getByLabel('List').selectOption({ label: 'Quick Sends' });
  await page.getByLabel('Days', { exact: true }).first().fill('1');
  await page.getByLabel('Files to attach').setInputFiles({
    name: 'plan.png',
    mimeType: 'image/png',
    buffer: Buffer.from(PIXEL, 'base64'),
  });
  await page.getByRole('button', { name: 'Remove plan.png' }).waitFor();
  await page.getByRole('checkbox', { name: /Dana Lee/ }).check();
  await page.getByRole('button', { name: 'Monday' }).click();
  await page.getByLabel('Time zone').selectOption('Europe/Paris');
  await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByRole('textbox', { name: 'Message' }).and(page.locator('[aria-invalid=true]')).waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName }}');
  await page.getByRole('button', { name: 'Create draft' }).click();
  const drawer = page.getByRole('dialog', { name: 'Spring viewings' });
  await drawer.getByText('No lead has entered yet.').waitFor();
  expect((await api('GET', '/api/campaigns')).body.campaigns).toMatchObject([
    {
      eligibleLineIds: [lineId],
      allowedDaysOfWeek: [1],
      timezone: 'Europe/Paris',
      steps: [{ attachmentUrls: [expect.stringContaining('plan.png')] }],
    },
  ]);
  await drawer.getByRole('tab', { name: 'Preview' }).click();
  await drawer.getByRole('button', { name: /Grace/ }).click();
  await drawer.getByText('Hi Grace').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await drawer.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('button', { name: 'Start the campaign' }).click();
  await drawer.getByRole('button', { name: 'Pause' }).click();
  await drawer.getByRole('tab', { name: 'Overview' }).click();
  await drawer.getByRole('button', { name: 'Resume' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
});
