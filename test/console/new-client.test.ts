import type { Page } from 'playwright-core';
import { beforeAll, expect, test } from 'vitest';
import { eventually, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { signIn } from '#test/support/sessions.ts';
import { openConsole } from './console-tab.ts';

const [OMAR, LENA] = [phone(), phone()];

const tab = openConsole();
let app: TestApp;
let page: Page;
let client: ApiClient;

beforeAll(() => {
  ({ app, page } = tab);
});

const open = (name: string) => page.getByRole('link', { name, exact: true }).click();
const press = (name: string) => page.getByRole('button', { name, exact: true }).click();

async function signInAsAgency(): Promise<void> {
  const agency = await createAgency(app);
  const own = await createWorkspace(app, { name: 'Agency Office', agency_id: agency.id });
  const token = await signIn(app, { userId: agency.ownerId, organizationId: own.id, role: 'org:admin' });
  await tab.signIn(token);
  await page.getByRole('heading', { name: 'Home' }).waitFor();
}

async function createClient(): Promise<void> {
  await open('Agency');
  await press('New client');
  await page.getByLabel('Name', { exact: true }).fill('Night Bakery');
  await press('Create');
  client = apiClient(app.url, await page.getByLabel('First API key').inputValue());
  await press('Done');
  await page.getByRole('tab', { name: 'Billing' }).click();
  await press('Choose the plan of Night Bakery');
  await page.getByLabel('Growth').check();
  await press('Subscribe for $299.00 a month');
  await page.getByText('Night Bakery is on the plan Growth').waitFor();
  await press('Workspace: Agency Office');
  await page.getByRole('menuitem', { name: 'Night Bakery' }).click();
  await page.getByRole('button', { name: 'Workspace: Night Bakery' }).waitFor();
}

async function requestLine(): Promise<void> {
  await open('Lines');
  await page.getByRole('button', { name: 'Request a line' }).first().click();
  await page.getByRole('radio', { name: /Twilio/ }).check();
  await page.getByText('Your plan includes this line').waitFor();
  await page.getByRole('radio', { name: /Simulated carrier/ }).check();
  await page.getByLabel('First name').fill('Nina');
  await page.getByLabel('Last name').fill('Baker');
  await page.getByText('Your plan includes this line').waitFor();
  await page.getByLabel('Channel').selectOption('Email');
  await page.getByText('This line costs $15.00, plus taxes.').waitFor();
  await page.getByLabel('Channel').selectOption('iMessage');
  await press('Set up the line');
  const drawer = page.getByRole('dialog', { name: 'Nina Baker' });
  await drawer.getByRole('button', { name: 'Turn off' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('row', { name: /Nina Baker/ }).waitFor();
}

/** Lets drafts and messages leave without their usual gaps, which take minutes. */
async function removeGaps(): Promise<void> {
  const { body } = await client('GET', '/api/lines/by-user');
  const lineGaps = { minGapSeconds: 0, contactGapSeconds: 0 };
  const copilot = { mode: 'copilot', debounceSeconds: 0 };
  expect(await client('PATCH', `/api/lines/${body.lines[0]._id}`, lineGaps)).toMatchObject({ status: 200 });
  expect(await client('PUT', '/api/knowledge-base', copilot)).toMatchObject({ status: 200 });
}

async function importContacts(): Promise<void> {
  await open('Contacts');
  await page.getByRole('button', { name: 'New list' }).first().click();
  await page.getByLabel('Name').fill('Regulars');
  await press('Create');
  await page.getByRole('button', { name: 'Actions for the list Regulars' }).waitFor();
  await press('Import');
  const buffer = Buffer.from(`First name,Phone\nOmar,${OMAR}\nLena,${LENA}\n`);
  await page.getByLabel('CSV file').setInputFiles({ name: 'regulars.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
  await page.getByText('2 saved · 0 duplicates · 0 rejected').waitFor();
}

async function startCampaign(): Promise<void> {
  await open('Campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  await page.getByLabel('Name').fill('Sunday rolls');
  await page.getByLabel('List').selectOption({ label: 'Regulars' });
  await page.getByRole('textbox', { name: 'Message' }).fill('Hi {{ firstName }}, fresh rolls on Sunday?');
  await press('Create draft');
  await page.getByRole('heading', { name: 'Sunday rolls' }).waitFor();
  await page.getByRole('button', { name: 'Start' }).click();
  await press('Start the campaign');
  await page.getByRole('button', { name: 'Pause' }).waitFor();
}

async function readSentMessages(): Promise<void> {
  await open('Inbox');
  for (const name of ['Omar', 'Lena']) await page.getByText(`Hi ${name}, fresh rolls on Sunday?`).waitFor();
}

async function receiveReply(): Promise<void> {
  const { lineId } = await eventually(async () => (await sentTo(app, OMAR))[0]);
  await writeIn(app, { lineId, from: OMAR, text: 'Six, please!' });
  await page.getByText('Six, please!').first().click();
  await page.getByRole('region', { name: 'Draft', exact: true }).waitFor();
}

async function approveDraft(): Promise<void> {
  await page.getByRole('log').getByText('Six, please!').click();
  await page.locator('[title="a"]').waitFor();
  await page.keyboard.press('a');
  await page.getByRole('region', { name: 'Draft', exact: true }).waitFor({ state: 'detached' });
  await page
    .getByRole('log')
    .getByText(/^Thank you for your message/)
    .waitFor();
  // The first message of the conversation, and the answer.
  await page.getByText('Delivered').nth(1).waitFor();
}

async function readAnalytics(): Promise<void> {
  // The page shows what was so when it was opened.
  await eventually(async () => (await client('GET', '/api/analytics')).body.metrics.sent === 3);
  await open('Analytics');
  const figures = ['Messages sent 3', 'Contacts reached 2', 'Contacts who replied 1', 'Messages received 1'];
  for (const name of figures) await page.getByRole('button', { name, exact: true }).waitFor();
}

test('a new client gets a line, imports contacts, runs a campaign, approves the draft of an answer, and sees it in the analytics', async ({
  annotate,
}) => {
  await signInAsAgency();
  const steps = {
    'The client is created, subscribed and opened': createClient,
    'The line is requested and set up': requestLine,
    'The gaps are removed': removeGaps,
    'The contacts are imported': importContacts,
    'The campaign is written and started': startCampaign,
    'Its messages are in the inbox': readSentMessages,
    'A reply arrives with a draft': receiveReply,
    'The draft is approved and delivered': approveDraft,
    'The analytics show it': readAnalytics,
  };
  for (const [name, step] of Object.entries(steps)) {
    const startedAt = performance.now();
    await step();
    await annotate(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  }
  expect((await sentTo(app, OMAR)).map(({ text }) => text)).toEqual([
    'Hi Omar, fresh rolls on Sunday?',
    expect.stringMatching(/^Thank you for your message/),
  ]);
});
