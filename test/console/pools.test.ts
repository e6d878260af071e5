import { expect, test } from 'vitest';
import { createLine, createWorkspaceWithLine } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test('a pool is created, changed and chosen for a campaign, which is forecast', async () => {
  const { page, app } = tab;
  const limits = { daily_new_limit: 1, daily_total_limit: 10 };
  const { id, api, key, lineId } = await createWorkspaceWithLine(app, {
    line: { first_name: 'Dana', last_name: 'Lee', ...limits },
  });
  const second = await createLine(app, id, 'imessage', { first_name: 'Sam', last_name: 'Roe', ...limits });
  const leads = Array.from({ length: 20 }, (_, index) => ({ phone: `+14155550${200 + index}` }));
  await api('POST', '/api/leads', { leads });
  await tab.signIn(key, '/settings?tab=pools');
  await page.getByText('No pools yet').waitFor();
  await page.getByRole('button', { name: 'Create a pool' }).first().click();
  const dialog = page.getByRole('dialog', { name: 'Create a pool' });
  await dialog.getByLabel('Name').fill('Sales');
  await dialog.getByRole('checkbox', { name: /Dana Lee/ }).check();
  await dialog.getByRole('checkbox', { name: /Sam Roe/ }).check();
  await dialog.getByLabel('Weight of Sam Roe').fill('3');
  expect(await inaccessible(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('button', { name: 'Edit Sales' }).click();
  const edited = page.getByRole('dialog', { name: 'Edit the pool' });
  await edited.getByLabel('After how many minutes').fill('30');
  await edited.getByRole('button', { name: 'Save' }).click();
  await page.getByText('move after 30 minutes').waitFor();
  expect((await api('GET', '/api/pools')).body.pools).toMatchObject([
    {
      name: 'Sales',
      lines: [
        { lineId, weight: 1 },
        { lineId: second, weight: 3 },
      ],
      failoverAfterMinutes: 30,
    },
  ]);

  await page.goto(page.url().replace(/\/console\/.*/, '/console/campaigns'));
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Spring');
  await page.getByLabel('List').selectOption({ label: 'Quick Sends' });
  await page.getByRole('textbox', { name: 'Message' }).fill('Hello');
  await page.getByLabel('Pool').selectOption({ label: 'Sales' });
  const forecast = page.getByRole('status', { name: 'Forecast' });
  await forecast.getByText('limited by new conversations per day').waitFor();
  await forecast.getByText('more line').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByRole('heading', { name: 'Spring' }).waitFor();
  const [campaign] = (await api('GET', '/api/campaigns')).body.campaigns;
  expect(campaign.poolId).toBe((await api('GET', '/api/pools')).body.pools[0]._id);
});
