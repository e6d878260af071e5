import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
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
  await page.getByRole('link', { name: 'New campaign' }).first().click();
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
  await page.getByRole('heading', { name: 'Spring viewings' }).waitFor();
  expect(page.url()).toMatch(/\/console\/campaigns\/[\da-f]{24}$/);
  await page.getByText('No lead has entered yet.').waitFor();
  expect((await api('GET', '/api/campaigns')).body.campaigns).toMatchObject([
    {
      eligibleLineIds: [lineId],
      allowedDaysOfWeek: [1],
      timezone: 'Europe/Paris',
      steps: [{ attachmentUrls: [expect.stringContaining('plan.png')] }],
    },
  ]);
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /Grace/ }).click();
  await page.getByText('Hi Grace').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Start' }).click();
  const check = page.getByRole('region', { name: 'Check' });
  await check.getByText('1 lead gets the first step.').waitFor();
  await check.getByText('From Dana Lee.').waitFor();
  await check.getByText('1 has not consented; it gets messages, too, unless you require consent.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Start the campaign' }).click();
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  expect(await inaccessible(page)).toEqual([]);
});

test('a step is written with variants, each is previewed, and the funnel shows them side by side', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const leads = [{ firstName: 'Grace', phone: '+14155550164' }];
  const { leadIds } = (await api('POST', '/api/leads', { leads })).body;
  await tab.signIn(key, '/campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
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
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.getByText('Variant B · 75% of the leads').waitFor();
  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /Grace/ }).click();
  for (const text of ['Hi Grace', 'Hello Grace', 'This lead gets it'])
    await page.getByText(text, { exact: true }).waitFor();
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
  await page.getByRole('tab', { name: 'Funnel' }).click();
  const figures = page.getByRole('table', { name: 'Messages of step 1' });
  for (const name of ['A', 'B', 'All'])
    await figures.getByRole('columnheader', { name, exact: true }).waitFor();
  expect(await page.getByRole('region', { name: 'Replies to step 1' }).getByRole('listitem').count()).toBe(2);
  expect(await inaccessible(page)).toEqual([]);
});

test('what is written and added while a file is uploaded stays', async () => {
  const { page, app } = tab;
  const { key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  const uploads = await holdResponses(page, 'POST', '**/api/attachments/upload');
  const buffer = Buffer.from(PIXEL, 'base64');
  await page.getByLabel('Files to attach').setInputFiles({ name: 'plan.png', mimeType: 'image/png', buffer });
  await expect.poll(uploads.count).toBe(1);
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill('Here is the plan.');
  const channel = page.getByLabel('Channel', { exact: true });
  await channel.selectOption('sms');
  await page.getByRole('button', { name: 'Add a step' }).click();
  await page.getByRole('menuitem', { name: 'Sends a message' }).click();
  uploads.release();
  await page.getByRole('button', { name: 'Remove plan.png' }).waitFor();
  expect(await message.count()).toBe(2);
  expect(await message.first().inputValue()).toBe('Here is the plan.');
  expect(await channel.last().inputValue()).toBe('sms');
});

test('a campaign that is being edited stays open when it cannot be read again', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const steps = [{ messageType: 'imessage', message: 'Hi', delay: {} }];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Spring', steps })).body;
  await tab.signIn(key, `/campaigns?campaign=${campaign._id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('heading', { name: 'Edit the campaign' }).waitFor();
  await page.getByLabel('Name').fill('Summer');
  let refusals = 0;
  await page.route(`**/api/campaigns/${campaign._id}`, async (route) => {
    refusals += 1;
    await route.fulfill({ status: 403, json: { error: 'Not now', code: 'FORBIDDEN' } });
  });
  // The first one is shown by the time of the second.
  await expect.poll(() => refusals, { timeout: 30_000 }).toBe(2);
  expect(await page.getByLabel('Name').inputValue({ timeout: 5000 })).toBe('Summer');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  expect(tab.takeProblems()).toContainEqual(expect.stringContaining('403'));
});

test('a campaign that is being written is discarded only when asked, and survives a reload and the end of the session', async () => {
  const { page, app } = tab;
  const { key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns');
  const open = () => page.getByRole('link', { name: 'New campaign' }).first().click();
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  const question = page.getByRole('dialog', { name: 'Discard what you have entered?' });
  await open();
  await page.getByLabel('Name').fill('Spring viewings');
  await message.fill('Hi {{ firstName }}');
  await page.getByRole('button', { name: 'Cancel' }).click();
  expect(await inaccessible(page)).toEqual([]);
  await question.getByRole('button', { name: 'Go back' }).click();
  await question.waitFor({ state: 'detached' });
  await tab.go('/campaigns');
  await open();
  await page.getByText('What you wrote before is here again').waitFor();
  await page.reload();
  await page.getByText('What you wrote before is here again').waitFor();
  expect(await message.inputValue()).toBe('Hi {{ firstName }}');
  await page.evaluate(`sessionStorage.removeItem('linepace.session')`);
  await tab.signIn(key, '/campaigns');
  await open();
  expect(await message.inputValue()).toBe('Hi {{ firstName }}');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await question.getByRole('button', { name: 'Discard' }).click();
  await question.waitFor({ state: 'detached' });
  await open();
  expect(await message.inputValue()).toBe('');
  // Nothing is lost, so nothing is asked.
  await page.getByRole('button', { name: 'Cancel' }).click();
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
  await page.getByRole('link', { name: 'New campaign' }).first().click();
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
  const deadline = page.getByLabel('To be finished by');
  await deadline.fill('2020-01-31T09:00');
  await page.getByRole('status', { name: 'Forecast' }).getByText('that is too early').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await deadline.fill('');
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText('“customFields.city” is empty for 1 of 2.').waitFor();
  await page.getByRole('button', { name: 'Go back' }).click();

  await page.getByRole('tab', { name: 'Preview' }).click();
  await page.getByRole('button', { name: /Ada/ }).click();
  await page.getByText('Empty for this lead: customFields.city').waitFor();
  await page.getByRole('button', { name: 'Send a test to me' }).click();
  await page.getByLabel('Your phone number').fill('+14155550179');
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('dialog', { name: 'Send a test' }).getByRole('button', { name: 'Send' }).click();
  await page.getByText('The test is on its way').waitFor();
  const { messages } = (await api('GET', '/api/messages')).body;
  expect(messages).toMatchObject([
    { message: expect.stringMatching(/^Hi Ada, see/), recipientPhone: '+14155550179', campaignId: null },
  ]);

  await page.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: 'Viewings (copy)' }).waitFor();
  const { campaigns } = (await api('GET', '/api/campaigns')).body;
  expect(campaigns.map(({ name, status, listId }: Record<string, string>) => [name, status, listId])).toEqual(
    [
      ['Viewings (copy)', 'draft', list],
      ['Viewings', 'draft', list],
    ],
  );
});

test('the numbers of a campaign open the leads that they count, and it is stopped for one of them', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const list = (await api('POST', '/api/lists', { name: 'Buyers' })).body.list._id;
  const leads = [
    { firstName: 'Grace', phone: '+14155550181' },
    { firstName: 'Ada', phone: '+14155550182' },
  ];
  await api('POST', '/api/leads', { listId: list, leads });
  const steps = [{ message: 'Hi' }, { message: 'Still there?', delay: { days: 2 } }];
  await api('PATCH', '/api/workspace', { minGapSeconds: 0 });
  const finishBy = new Date(Date.now() + 86_400_000).toISOString();
  const fields = { name: 'Viewings', listId: list, steps, finishBy, start: true };
  const { campaign } = (await api('POST', '/api/campaigns', fields)).body;
  const funnel = async () => (await api('GET', `/api/campaigns/${campaign._id}/funnel`)).body.steps;
  await eventually(async () => (await funnel())[0].sent >= 1);
  await tab.signIn(key, `/campaigns/${campaign._id}?part=funnel`);
  await page.getByRole('table', { name: 'Messages of step 1' }).getByRole('link').first().click();
  await page.getByRole('button', { name: 'Step 1: Sent' }).waitFor();
  const rows = page.getByRole('list', { name: 'Leads' }).getByRole('listitem');
  await rows.first().waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Step 1: Sent' }).click();
  await expect.poll(() => rows.count()).toBe(2);
  const ada = rows.filter({ hasText: 'Ada' });
  // Where it is, and why its next message waits.
  await ada.getByText(/At step 2 · Scheduled until /).waitFor();
  await ada.getByRole('button', { name: 'Stop for this lead' }).click();
  const question = page.getByRole('dialog', { name: 'Stop the campaign for Ada?' });
  expect(await inaccessible(page)).toEqual([]);
  await question.getByRole('button', { name: 'Stop for this lead' }).click();
  await ada.getByText('Removed').waitFor();
  await page.getByRole('tab', { name: 'Overview' }).click();
  await page.getByRole('status', { name: 'Forecast' }).getByText('too late for').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('link', { name: '1', exact: true }).last().click();
  await expect.poll(() => rows.count()).toBe(1);
  await rows.getByText('Ada').waitFor();
  expect((await api('GET', `/api/campaigns/${campaign._id}`)).body.progress.stopped).toBe(1);
  await eventually(async () => (await api('GET', '/api/campaigns')).body.campaigns[0].isLate);
  await tab.go('/campaigns');
  await page
    .getByRole('row', { name: /Viewings/ })
    .getByText('Will be late')
    .waitFor();
  // From the contact as well, who may be opted out there.
  const [{ _id: graceId }] = (await api('GET', '/api/leads?search=Grace')).body.leads;
  await tab.go(`/contacts?lead=${graceId}&part=history`);
  const grace = page.getByRole('dialog', { name: 'Grace', exact: true });
  const answer = (title: string) => page.getByRole('dialog', { name: title });
  await grace.getByRole('button', { name: 'Stop for this lead' }).click();
  await answer('Stop the campaign for Grace?').getByRole('button', { name: 'Stop for this lead' }).click();
  await grace
    .getByRole('list', { name: 'Campaigns under way' })
    .getByRole('listitem')
    .waitFor({ state: 'detached' });
  await grace.getByRole('button', { name: 'Opt out' }).click();
  expect(await inaccessible(page)).toEqual([]);
  await answer('Opt Grace out?').getByRole('button', { name: 'Opt out' }).click();
  await page.getByText('Grace is opted out').waitFor();
  expect((await api('GET', '/api/opt-outs')).body.optOuts).toMatchObject([{ address: '+14155550181' }]);
  expect(await inaccessible(page)).toEqual([]);
});

test('steps that wait, decide and act are built by keyboard alone, and shown as a tree', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns/new');
  await page.getByLabel('Name', { exact: true }).fill('Viewings');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Hi');
  const add = async (button: string, kind: string): Promise<void> => {
    await page.getByRole('button', { name: button, exact: true }).press('Enter');
    await page.getByRole('menuitem', { name: kind, exact: true }).press('Enter');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
  };
  await add('Add a step', 'Decides');
  const name = page.getByLabel('Name of branch 1');
  const focused = page.locator(':focus');
  await expect.poll(() => name.and(focused).count()).toBe(1);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Buyers');
  const branch = page.getByRole('group', { name: 'Branch 1' });
  await branch.getByLabel('What is asked').selectOption({ label: 'Tag' });
  await branch.getByLabel('Value, one a line').fill('hot\nwarm');
  await add('Add a step to branch 1', 'Waits');
  await add('Add a step to branch 1', 'Ends');
  await add('Add a step otherwise', 'Changes the contact');
  await page.getByLabel('Tags to add, one a line').fill('cold');
  expect(await inaccessible(page)).toEqual([]);
  // The end of the first branch comes into the other one, past its step, and out of it. The focus stays with it.
  await page.getByRole('button', { name: 'Move step 4 down' }).press('Enter');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Enter');
  expect(await page.getByRole('button', { name: 'Move step 5 down' }).and(focused).count()).toBe(1);
  await add('Insert a step after step 1', 'Waits until something happens');
  await page.getByRole('button', { name: 'Create draft' }).press('Enter');
  await page.getByRole('heading', { name: 'Viewings' }).waitFor();
  const [campaign] = (await api('GET', '/api/campaigns')).body.campaigns;
  expect(campaign.steps).toMatchObject([
    { message: 'Hi' },
    { kind: 'wait_until', any: [{ field: 'replied' }], atMost: { days: 3 }, else: 'continue' },
    {
      kind: 'branch',
      branches: [
        {
          name: 'Buyers',
          when: [{ field: 'tag', op: 'eq', value: ['hot', 'warm'] }],
          steps: [{ kind: 'wait', for: { days: 1 } }],
        },
      ],
      else: [{ kind: 'do', addTags: ['cold'] }],
    },
    { kind: 'end' },
  ]);
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.getByText('Tag is “hot” or “warm”').waitFor();
  await page.getByText('Waits at most 3 days until: Reply comes.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('group', { name: 'Branch 1' }).waitFor();
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('button', { name: 'Cancel' }).click();
  const { leadIds } = (await api('POST', '/api/leads', { leads: [{ phone: '+14155550191' }] })).body;
  await api('POST', `/api/campaigns/${campaign._id}/start`);
  await api('POST', `/api/campaigns/${campaign._id}/leads`, { leadId: leadIds[0] });
  await page.getByRole('tab', { name: 'Funnel' }).click();
  await page.getByRole('table', { name: 'Messages of step 1' }).waitFor();
  await page.getByText('Tag is “hot” or “warm”').waitFor();
  expect(await inaccessible(page)).toEqual([]);
});

test('a campaign that decides loses nothing when it is edited or copied', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const listId = (await api('POST', '/api/lists', { name: 'Later' })).body.list._id;
  const steps = [
    { message: 'Hi', delay: { hours: 2 }, smsFallbackEnabled: true, smsFallbackMessage: 'Hi by SMS' },
    {
      kind: 'wait_until',
      any: [
        { field: 'replied', op: 'contains', value: ['yes', 'sure'] },
        { field: 'no_reply_for', value: { hours: 30 } },
        { field: 'createdAt', op: 'gt_date', value: { days: -30 } },
        { field: 'contacted_within_days', value: 7, campaign: 'this' },
        { field: 'customFields.rooms', op: 'gte', value: 3 },
        { field: 'has_consent', value: 'sms' },
        { field: 'read' },
      ],
      atMost: { days: 2, minutes: 30 },
      else: 'end',
    },
    {
      kind: 'branch',
      branches: [
        {
          name: 'Gold',
          when: [{ field: 'customFields.plan', op: 'eq', value: 'gold' }],
          steps: [
            {
              kind: 'branch',
              branches: [
                { name: 'Rome', when: [{ field: 'notes', op: 'exists' }], steps: [{ kind: 'end' }] },
              ],
              else: [{ messageType: 'sms', message: 'Gold' }],
            },
          ],
        },
        { name: 'Empty', when: [{ field: 'tag', value: 'x' }], steps: [] },
      ],
      else: [
        {
          kind: 'do',
          addTags: ['a, b', 'c'],
          removeTags: ['d'],
          setFields: { 'customFields.seen': 'yes', notes: 'Later' },
          moveToListId: listId,
          assign: null,
        },
      ],
    },
    { kind: 'wait', for: { hours: 5 }, stopWhen: [{ field: 'tag', value: 'sold' }] },
    { message: 'Bye' },
  ];
  const kept = {
    onReply: 'pause',
    stopWhen: [{ field: 'tag', op: 'eq', value: 'sold' }, { field: 'failed' }],
    finishBy: new Date(Date.UTC(new Date().getUTCFullYear() + 1, 4, 12, 9)).toISOString(),
  };
  const made = await api('POST', '/api/campaigns', { name: 'Deciding', steps, ...kept });
  expect([made.status, made.body.issues]).toEqual([201, undefined]);
  const { campaign } = made.body;
  await tab.signIn(key, `/campaigns/${campaign._id}?edit=yes`);
  await page.getByLabel('Name', { exact: true }).fill('Decided');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Decided' }).waitFor();
  const saved = (await api('GET', `/api/campaigns/${campaign._id}`)).body.campaign;
  const withoutZeros = (value: unknown) =>
    JSON.parse(JSON.stringify(value, (_, one) => (one === 0 ? undefined : one)));
  expect(withoutZeros(saved.steps)).toEqual(withoutZeros(campaign.steps));
  expect(saved).toMatchObject(kept);
  await page.getByText('Tag is “sold” or Last message failed').waitFor();
  await page.getByRole('button', { name: 'Duplicate' }).click();
  await page.getByRole('heading', { name: 'Decided (copy)' }).waitFor();
  const copy = (await api('GET', '/api/campaigns')).body.campaigns[0];
  expect(withoutZeros(copy.steps)).toEqual(withoutZeros(campaign.steps));
  expect(copy).toMatchObject(kept);
});

test('what stops a campaign for a lead, and by when it is to be finished, is written in its form', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app, { workspace: { timezone: 'Asia/Tokyo' } });
  await tab.signIn(key, '/campaigns/new');
  await page.getByLabel('Name', { exact: true }).fill('Viewings');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Hi');
  await page.getByLabel('When a lead replies').selectOption({ label: 'The campaign goes on' });
  const reasons = page.getByRole('group', { name: 'Stop for a lead' });
  await reasons.getByText('always stops for a lead that opts out, is not reachable or is removed').waitFor();
  await reasons.getByRole('button', { name: 'Add a reason to stop' }).click();
  await reasons.getByLabel('What is asked').selectOption({ label: 'Tag' });
  await reasons.getByLabel('Value, one a line').fill('sold');
  await page.getByLabel('To be finished by').fill('2100-05-12T09:00');
  await page.getByText('Nothing is cut off then').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByText('Tag is “sold”').waitFor();
  expect((await api('GET', '/api/campaigns')).body.campaigns).toMatchObject([
    {
      onReply: 'continue',
      stopWhen: [{ field: 'tag', op: 'eq', value: 'sold' }],
      finishBy: '2100-05-12T00:00:00.000Z',
    },
  ]);
  await page.getByRole('button', { name: 'Edit' }).click();
  expect(await page.getByLabel('To be finished by').inputValue()).toBe('2100-05-12T09:00');
});

test('a campaign that asks about replies goes on after one, and the history of a lead says what it waits for', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns/new');
  await page.getByLabel('Name', { exact: true }).fill('Reactivation');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Still looking?');
  for (const kind of ['Waits until something happens', 'Sends a message']) {
    await page.getByRole('button', { name: 'Add a step' }).press('Enter');
    await page.getByRole('menuitem', { name: kind, exact: true }).press('Enter');
    await page.getByRole('menuitem').first().waitFor({ state: 'detached' });
  }
  await page.getByRole('textbox', { name: 'Message', exact: true }).last().fill('Good to hear');
  expect(await page.getByLabel('When a lead replies').inputValue()).toBe('continue');
  await page
    .getByRole('group', { name: 'Condition 1' })
    .getByText('A reply no longer stops the campaign, because this step asks about it.')
    .waitFor();
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByRole('heading', { name: 'Reactivation' }).waitFor();
  const [campaign] = (await api('GET', '/api/campaigns')).body.campaigns;
  expect(campaign).toMatchObject({
    onReply: 'continue',
    steps: [{}, { kind: 'wait_until' }, { message: 'Good to hear', delay: { days: 0 } }],
  });

  const from = phone();
  const { leadIds } = (await api('POST', '/api/leads', { leads: [{ phone: from }] })).body;
  await tab.go(`/campaigns/${campaign._id}?part=preview&lead=${leadIds[0]}`);
  await page.getByText('What comes next depends on: Reply comes.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await api('POST', `/api/campaigns/${campaign._id}/start`);
  await api('POST', `/api/campaigns/${campaign._id}/leads`, { leadId: leadIds[0] });
  await eventually(async () => (await sentTo(app, from)).length === 1);
  await tab.signIn(key, `/contacts?lead=${leadIds[0]}&part=history`);
  await page.getByText('At step 2: Waits at most 3 days until: Reply comes.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await writeIn(app, { lineId, from, text: 'Yes' });
  await page.getByText('Reactivation: what it waited for has happened').waitFor();
});

test('the preview of a campaign that decides shows the way that a lead takes for what it does', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const lead = { firstName: 'Ada', phone: phone() };
  const { leadIds } = (await api('POST', '/api/leads', { leads: [lead] })).body;
  const says = (value: string) => [{ field: 'replied', op: 'contains', value }];
  const steps = [
    { message: 'Still looking?' },
    { kind: 'wait_until', any: [{ field: 'replied' }], atMost: { days: 3 }, else: 'continue' },
    {
      kind: 'branch',
      branches: [
        { name: 'Interested', when: says('yes'), steps: [{ message: 'Great, {{ firstName }}!' }] },
        { name: 'Curious', when: [{ field: 'clicked' }], steps: [{ message: 'Any questions?' }] },
      ],
      else: [{ message: 'One last time, {{ firstName }}' }],
    },
  ];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Ways', steps })).body;
  await tab.signIn(key, `/campaigns/${campaign._id}?part=preview&lead=${leadIds[0]}`);
  const rest = page.getByRole('list', { name: 'What follows then' });
  await rest.getByText('One last time, Ada').waitFor();
  await rest.getByText('It has waited long enough, and goes on').waitFor();
  const answer = page.getByLabel('After the first message, the contact');
  await answer.selectOption('Replies “yes”');
  await rest.getByText('Great, Ada!').waitFor();
  await rest.getByText('It takes the branch “Interested”').waitFor();
  await answer.selectOption('Replies something else');
  await rest.getByText('One last time, Ada').waitFor();
  await rest.getByText('What it waited for has happened').waitFor();
  await page.getByLabel('Opens a link').press('Space');
  await rest.getByText('Any questions?').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.reload();
  await rest.getByText('Any questions?').waitFor();
  await api('PATCH', `/api/campaigns/${campaign._id}`, { onReply: 'pause' });
  await page.reload();
  await rest.getByText('The reply pauses the campaign for this lead').waitFor();
  await rest.getByText('No further message is sent.').waitFor();
  await answer.selectOption('Does not reply');
  await rest.getByText('Any questions?').waitFor();
});

test('a step of a campaign that runs is corrected for whoever has not got it, and a refusal is shown', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const steps = [{ message: 'Hi' }, { message: 'Stil there?', delay: { days: 2 } }];
  const { campaign } = (await api('POST', '/api/campaigns', { name: 'Viewings', steps, start: true })).body;
  const entered = await api('POST', `/api/campaigns/${campaign._id}/leads`, {
    lead: { firstName: 'Ada', phone: '+14155550192' },
  });
  const saved = async () => (await api('GET', `/api/campaigns/${campaign._id}`)).body.campaign;
  await tab.signIn(key, `/campaigns/${campaign._id}`);
  await page.getByRole('button', { name: 'Edit' }).click();
  const second = page.getByRole('region', { name: 'Step 2' });
  const message = second.getByRole('textbox', { name: 'Message', exact: true });
  await message.fill('Still there?');
  expect(await page.getByLabel('When a lead replies').count()).toBe(0);
  expect(await inaccessible(page)).toEqual([]);
  await second.getByLabel('Channel').selectOption({ label: 'Email' });
  await page.getByRole('button', { name: 'Review changes' }).click();
  await page.getByRole('alert').getByText('no active line for email').waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await second.getByLabel('Channel').selectOption({ label: 'iMessage' });
  await page.getByRole('button', { name: 'Review changes' }).click();
  const review = page.getByRole('dialog', { name: 'Save these changes?' });
  await review.getByText('1 lead has steps ahead of it.').waitFor();
  await review.getByText('Step 2: changed').waitFor();
  await review.getByText('1 lead that has not got it gets it as it is now.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  expect((await saved()).version).toBe(1);
  await review.getByRole('button', { name: 'Save the changes' }).click();
  await page.getByRole('tab', { name: 'Steps' }).click();
  await page.getByText('Still there?').waitFor();
  expect(await saved()).toMatchObject({
    version: 2,
    status: 'active',
    steps: [{}, { message: 'Still there?' }],
  });
  await eventually(async () => {
    const { messages } = (await api('GET', `/api/messages?campaignId=${campaign._id}`)).body;
    return messages.some(({ message: text }: { message: string }) => text === 'Still there?');
  });

  // Another name is no new version.
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Spring viewings');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('heading', { name: 'Spring viewings' }).waitFor();
  expect((await saved()).version).toBe(2);

  await api('PATCH', `/api/leads/${entered.body.leadId}/campaigns/${campaign._id}`, { resumesAt: null });
  await page.getByRole('tab', { name: 'Leads' }).click();
  const ada = page.getByRole('list', { name: 'Leads' }).getByRole('listitem');
  expect(await inaccessible(page)).toEqual([]);
  await ada.getByRole('button', { name: 'Let it go on' }).click();
  await ada.getByText('Running').waitFor();
});

test('an edit says whom it concerns before it is saved, and what was sent is corrected for those who got it', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app, { line: { min_gap_seconds: 0 } });
  const list = (await api('POST', '/api/lists', { name: 'Buyers' })).body.list._id;
  const [ada, grace] = [phone(), phone()];
  const leads = [
    { firstName: 'Ada', phone: ada },
    { firstName: 'Grace', phone: grace },
  ];
  await api('POST', '/api/leads', { listId: list, leads });
  const steps = [
    { id: 'one', message: 'Friday, {{ firstName }}?' },
    { id: 'two', message: 'Still there?', delay: { days: 2 } },
    { id: 'three', message: 'Bye', delay: { days: 2 } },
  ];
  const fields = { name: 'Viewings', listId: list, steps, start: true };
  const { campaign } = (await api('POST', '/api/campaigns', fields)).body;
  const texts = async (): Promise<string[]> =>
    (await api('GET', `/api/messages?campaignId=${campaign._id}&status=delivered`)).body.messages
      .map(({ message }: { message: string }) => message)
      .toSorted();
  await eventually(async () => (await texts()).length === 2);
  await tab.signIn(key, `/campaigns/${campaign._id}?edit=yes`);
  const first = page.getByRole('region', { name: 'Step 1' });
  await first.getByRole('textbox', { name: 'Message', exact: true }).fill('Monday, {{ firstname }}?');
  await first.getByRole('button', { name: 'Insert a step after step 1' }).click();
  await page.getByRole('menuitem', { name: 'Sends a message' }).click();
  const added = page.getByRole('region', { name: 'Step 2' });
  await added.getByRole('textbox', { name: 'Message', exact: true }).fill('Bring your papers');
  await page.getByRole('button', { name: 'Remove step 4' }).click();
  // A name that no contact has is refused before anything else is said.
  await page.getByRole('button', { name: 'Review changes' }).click();
  await first.locator('[aria-invalid=true]').waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await first.getByRole('textbox', { name: 'Message', exact: true }).fill('Monday, {{ firstName }}?');
  await page.getByRole('button', { name: 'Review changes' }).click();
  const review = page.getByRole('dialog', { name: 'Save these changes?' });
  const changes = review.getByRole('list', { name: 'Changes' }).getByRole('listitem');
  await changes.first().waitFor();
  expect(await changes.allInnerTexts()).toEqual([
    expect.stringMatching(
      /^Step 1: changed\s+Nobody waits for it\.\s+2 leads have got it, and do not get it again\.$/,
    ),
    expect.stringMatching(/^Step 2: new\s/),
    expect.stringMatching(
      /^Former step 3: removed\s+2 leads that have not got it go on with the next step\.$/,
    ),
  ]);
  await review.getByText('you can correct the text').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await review.getByRole('button', { name: 'Save the changes' }).click();

  const corrections = page.getByRole('region', { name: 'Corrections' });
  await corrections.getByText('Step 1 has changed. 2 leads got the former text.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await corrections.getByRole('button', { name: 'Correct it' }).click();
  const dialog = page.getByRole('dialog', { name: 'Correct step 1 for those who got the former text?' });
  await dialog.getByText('2 messages are edited where they are.').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await dialog.getByRole('button', { name: 'Correct it for 2 leads' }).click();
  await page.getByText('The correction is on its way to 2 leads').waitFor();
  await corrections.waitFor({ state: 'detached' });
  await expect.poll(texts).toEqual(['Monday, Ada?', 'Monday, Grace?']);

  // The second step is now the third, and is called so everywhere.
  const waits = page.getByRole('list', { name: 'Leads' }).getByRole('listitem').filter({ hasText: 'Ada' });
  await page.getByRole('tab', { name: 'Leads' }).click();
  await waits.getByText('At step 2').waitFor();
  await page.getByRole('tab', { name: 'Funnel' }).click();
  await page
    .getByRole('table', { name: 'Messages of step 3' })
    .getByRole('row', { name: 'At an earlier step' })
    .getByRole('link')
    .click();
  await page.getByRole('button', { name: 'Step 3: At an earlier step' }).waitFor();
  const second = (await api('GET', `/api/messages?campaignId=${campaign._id}`)).body.messages.find(
    ({ message }: { message: string }) => message === 'Still there?',
  );
  await tab.go(`/messages?message=${second._id}`);
  await page.getByRole('dialog').getByRole('definition').getByText('3', { exact: true }).waitFor();
});

test('a segment is made with conditions, counted exactly, and sent to by a campaign', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const leads = ['Rome', 'Rome', 'Paris'].map((city, index) => ({
    firstName: `Lead ${index}`,
    phone: `+1415555019${index}`,
    customFields: { city },
  }));
  await api('POST', '/api/leads', { leads });
  await tab.signIn(key, '/contacts');
  await page.getByRole('link', { name: 'Segments' }).click();
  await page.getByRole('button', { name: 'New segment' }).click();
  const form = page.getByRole('dialog', { name: 'New segment' });
  await form.getByLabel('Name', { exact: true }).fill('Romans');
  await form.getByLabel('What is asked').selectOption({ label: 'Own field' });
  await form.getByLabel('Name of the field').fill('city');
  await form.getByRole('button', { name: 'Add a condition' }).click();
  await form
    .getByRole('group', { name: 'Condition 2' })
    .getByLabel('How it is compared')
    .selectOption({ label: 'has no value' });
  await form.getByLabel('Value, one a line').fill('rome');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Create' }).click();
  const row = page.getByRole('list', { name: 'Segments' }).getByRole('listitem');
  await row.getByText('city is “rome” and Reply has no value').waitFor();
  await row.getByRole('button', { name: '2 leads: Romans' }).click();
  const drawer = page.getByRole('dialog', { name: 'Romans' });
  await drawer.getByText('Lead 1').waitFor();
  expect(await drawer.getByRole('listitem').count()).toBe(2);
  expect(await inaccessible(page)).toEqual([]);
  await page.keyboard.press('Escape');
  const [segment] = (await api('GET', '/api/segments')).body.segments;
  expect(segment).toMatchObject({
    count: 2,
    when: [
      { field: 'customFields.city', op: 'eq', value: 'rome' },
      { field: 'replied', op: 'not_exists' },
    ],
  });
  await tab.go('/campaigns/new');
  await page.getByLabel('Name', { exact: true }).fill('To Romans');
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Ave');
  await page.getByLabel('Segment', { exact: true }).selectOption({ label: 'Romans (2)' });
  await page.getByLabel('Who of the segment').selectOption('live');
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByText('Segment, live').waitFor();
  expect((await api('GET', '/api/campaigns')).body.campaigns).toMatchObject([
    { listId: null, segmentId: segment._id, audience: 'live' },
  ]);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByRole('region', { name: 'Check' }).getByText('2 leads get the first step.').waitFor();
});

test('a name that no lead has is refused at its field, with the name that was meant', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  await tab.signIn(key, '/campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Viewings');
  await page.getByLabel('List').selectOption({ label: 'Quick Sends' });
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill('Hallo {{ firstname }}');
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page
    .getByText('No contact has a field firstname, so it is always empty. Do you mean firstName?')
    .waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  expect(await inaccessible(page)).toEqual([]);
  expect((await api('GET', '/api/campaigns')).body.campaigns).toEqual([]);
  await page.getByRole('button', { name: 'Write firstName' }).click();
  const message = page.getByRole('textbox', { name: 'Message', exact: true });
  expect(await message.inputValue()).toBe('Hallo {{ firstName }}');
  await expect.poll(() => message.getAttribute('aria-invalid')).toBe('false');
  await page.getByRole('button', { name: 'Create draft' }).click();
  await page.getByText('The campaign was created as a draft').waitFor();
  const { campaigns } = (await api('GET', '/api/campaigns')).body;
  expect(campaigns).toMatchObject([{ steps: [{ message: 'Hallo {{ firstName }}' }] }]);
});
