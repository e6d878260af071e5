import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { inaccessible, PIXEL } from './browser.ts';
import { openConsole } from './console-tab.ts';
import { holdResponses } from './held-responses.ts';

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
  const check = page.getByRole('region', { name: 'Check' });
  await check.getByText('1 lead gets the first step.').waitFor();
  await check.getByText('From Dana Lee.').waitFor();
  await check.getByText('1 has not consented.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Start the campaign' }).click();
  await drawer.getByRole('button', { name: 'Pause' }).click();
  await drawer.getByRole('tab', { name: 'Overview' }).click();
  await drawer.getByRole('button', { name: 'Resume' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
});

test('a step is written with variants, each is previewed, and the funnel shows them side by side', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const leads = [{ firstName: 'Grace', phone: '+14155550164' }];
  const { leadIds } = (await api('POST', '/api/leads', { leads })).body;
  await tab.signIn(key, '/campaigns');
  await page.getByRole('button', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Two openings');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Hi {{ firstName }}');
  // By the keyboard alone.
  await page.getByRole('button', { name: 'Test another text' }).press('Enter');
  await page.getByRole('button', { name: 'Add a variant' }).press('Enter');
  await page.getByRole('button', { name: 'Remove variant C' }).press('Enter');
  expect(await page.getByRole('textbox', { name: 'Message A', exact: true }).inputValue()).toBe(
    'Hi {{ firstName }}',
  );
  await page.getByRole('textbox', { name: 'Message B', exact: true }).fill('Hello {{ firstName');
  await page.getByRole('spinbutton', { name: 'Weight B', exact: true }).fill('3');
  await page.getByText('75% of the leads').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create draft' }).click();
  const second = page.getByRole('textbox', { name: 'Message B', exact: true });
  await second.and(page.locator('[aria-invalid=true]')).waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await second.fill('Hello {{ firstName }}');
  await page.getByRole('button', { name: 'Create draft' }).click();
  const drawer = page.getByRole('dialog', { name: 'Two openings' });
  await drawer.getByRole('tab', { name: 'Steps' }).click();
  await drawer.getByText('Variant B · 75% of the leads').waitFor();
  await drawer.getByRole('tab', { name: 'Preview' }).click();
  await drawer.getByRole('button', { name: /Grace/ }).click();
  for (const text of ['Hi Grace', 'Hello Grace', 'This lead gets it'])
    await drawer.getByText(text, { exact: true }).waitFor();
  expect(await inaccessible(page)).toEqual([]);

  const [campaign] = (await api('GET', '/api/campaigns')).body.campaigns;
  expect(campaign.steps[0].variants).toEqual([
    { body: 'Hi {{ firstName }}', weight: 1 },
    { body: 'Hello {{ firstName }}', weight: 3 },
  ]);
  await api('POST', `/api/campaigns/${campaign._id}/start`);
  await api('POST', `/api/campaigns/${campaign._id}/leads`, { leadId: leadIds[0] });
  await eventually(
    async () => (await api('GET', `/api/campaigns/${campaign._id}/funnel`)).body.steps[0].sent === 1,
  );
  await drawer.getByRole('tab', { name: 'Funnel' }).click();
  const figures = drawer.getByRole('table', { name: 'Messages of step 1' });
  for (const name of ['A', 'B', 'All'])
    await figures.getByRole('columnheader', { name, exact: true }).waitFor();
  expect(await drawer.getByRole('region', { name: 'Replies to step 1' }).getByRole('listitem').count()).toBe(
    2,
  );
  expect(await inaccessible(page)).toEqual([]);
});

test('what is written and added while a file is uploaded stays', async () => {
  const { page, app } = tab;
  const { key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns');
  await page.getByRole('button', { name: 'New campaign' }).first().click();
  const uploads = await holdResponses(page, 'POST', '**/api/attachments/upload');
  const buffer = Buffer.from(PIXEL, 'base64');
  await page.getByLabel('Files to attach').setInputFiles({ name: 'plan.png', mimeType: 'image/png', buffer });
  await expect.poll(uploads.count).toBe(1);
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill('Here is the plan.');
  await page.getByRole('button', { name: 'Add a step' }).click();
  uploads.release();
  await page.getByRole('button', { name: 'Remove plan.png' }).waitFor();
  expect(await message.count()).toBe(2);
  expect(await message.first().inputValue()).toBe('Here is the plan.');
});

test('a campaign that is being edited stays open when it cannot be read again', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const steps = [{ messageType: 'imessage', message: 'Hi', delay: {} }];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Spring', steps })).body;
  await tab.signIn(key, `/campaigns?campaign=${campaign._id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const form = page.getByRole('dialog', { name: 'Edit the campaign' });
  await form.getByLabel('Name').fill('Summer');
  let refusals = 0;
  await page.route(`**/api/campaigns/${campaign._id}`, async (route) => {
    refusals += 1;
    await route.fulfill({ status: 403, json: { error: 'Not now', code: 'FORBIDDEN' } });
  });
  // The first one is shown by the time of the second.
  await expect.poll(() => refusals, { timeout: 30_000 }).toBe(2);
  expect(await form.getByLabel('Name').inputValue({ timeout: 5000 })).toBe('Summer');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  expect(tab.takeProblems()).toContainEqual(expect.stringContaining('403'));
});

test('a campaign that is being written is discarded only when asked, and survives a reload and the end of the session', async () => {
  const { page, app } = tab;
  const { key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns');
  const open = () => page.getByRole('button', { name: 'New campaign' }).first().click();
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  const question = page.getByRole('dialog', { name: 'Discard what you have entered?' });
  await open();
  await page.getByLabel('Name').fill('Spring viewings');
  await message.fill('Hi {{ firstName }}');
  await page.keyboard.press('Escape');
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await question.waitFor({ state: 'detached' });
  // Beside it.
  await page.mouse.click(300, 400);
  expect(await inaccessible(page)).toEqual([]);
  await question.getByRole('button', { name: 'Keep editing' }).click();
  await page.reload();
  await open();
  await page.getByText('What you wrote before is here again').waitFor();
  expect(await message.inputValue()).toBe('Hi {{ firstName }}');
  await page.evaluate(`sessionStorage.removeItem('linepace.session')`);
  await tab.signIn(key, '/campaigns');
  await open();
  expect(await message.inputValue()).toBe('Hi {{ firstName }}');
  await page.keyboard.press('Escape');
  await question.getByRole('button', { name: 'Discard' }).click();
  await question.waitFor({ state: 'detached' });
  await open();
  expect(await message.inputValue()).toBe('');
  // Nothing is lost, so nothing is asked.
  await page.keyboard.press('Escape');
  await message.waitFor({ state: 'detached' });
});

test('fields that the list has are inserted where the cursor is, and those that are empty are named before anything leaves', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const list = (await api('POST', '/api/lists', { name: 'Buyers' })).body.list._id;
  const leads = [
    { firstName: 'Grace', phone: '+14155550171', customFields: { city: 'Rome' } },
    { firstName: 'Ada', phone: '+14155550172' },
  ];
  await api('POST', '/api/leads', { listId: list, leads });
  await tab.signIn(key, '/campaigns');
  await page.getByRole('button', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Viewings');
  await page.getByLabel('List').selectOption({ label: 'Buyers' });
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill('Hi , see ');
  await message.press('Home');
  for (const _ of 'Hi ') await message.press('ArrowRight');
  const fields = page.getByRole('list', { name: 'Insert a field' });
  await fields.getByRole('button', { name: 'firstName' }).click();
  await expect.poll(() => message.inputValue()).toBe('Hi {{ firstName }}, see ');
  await message.press('End');
  await fields.getByRole('button', { name: 'city' }).click();
  await expect.poll(() => message.inputValue()).toBe('Hi {{ firstName }}, see {{ customFields.city }}');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create draft' }).click();
  const drawer = page.getByRole('dialog', { name: 'Viewings' });
  await drawer.getByRole('button', { name: 'Start' }).click();
  await page.getByText('“customFields.city” is empty for 1 of 2.').waitFor();
  await page.getByRole('button', { name: 'Go back' }).click();

  await drawer.getByRole('tab', { name: 'Preview' }).click();
  await drawer.getByRole('button', { name: /Ada/ }).click();
  await drawer.getByText('Empty for this lead: customFields.city').waitFor();
  await drawer.getByRole('button', { name: 'Send a test to me' }).click();
  await page.getByLabel('Your phone number').fill('+14155550179');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('dialog', { name: 'Send a test' }).getByRole('button', { name: 'Send' }).click();
  await page.getByText('The test is on its way').waitFor();
  const { messages } = (await api('GET', '/api/messages')).body;
  expect(messages).toMatchObject([
    { message: expect.stringMatching(/^Hi Ada, see/), recipientPhone: '+14155550179', campaignId: null },
  ]);

  await drawer.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('dialog', { name: 'Viewings (copy)' }).waitFor();
  const { campaigns } = (await api('GET', '/api/campaigns')).body;
  expect(campaigns.map(({ name, status, listId }: Record<string, string>) => [name, status, listId])).toEqual(
    [
      ['Viewings (copy)', 'draft', list],
      ['Viewings', 'draft', list],
    ],
  );
});
