import { beforeAll, expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;

const rules = async () => (await workspace.api('GET', '/api/rules')).body.rules;

beforeAll(async () => {
  workspace = await createWorkspaceWithLine(tab.app);
  await tab.signInAsOwner(workspace, '/settings?tab=rules');
});

test('a rule is tried on the past, created, changed and deleted', async () => {
  const { page } = tab;
  const { api, lineId } = workspace;
  await callBack(tab.app, lineId, replyEvent(phone(), 'What does it cost?'));
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
  await page.getByText('No rules yet').waitFor();
  await page.getByRole('button', { name: 'New rule' }).click();
  const form = page.getByRole('dialog', { name: 'New rule' });
  await form.getByRole('button', { name: 'Create' }).click();
  await form.getByText('at least one action is required').waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await form.getByLabel('Name').fill('Prices');
  await form.getByRole('button', { name: 'Add a condition' }).click();
  await form.getByLabel('How it is compared').selectOption('contains');
  await form.getByLabel('Value, one a line').fill('cost');
  await form.getByLabel('Text to the contact').selectOption('A text');
  await form.getByLabel('Text', { exact: true }).fill('We will call you.');
  await form.getByLabel('Only outside the opening hours').check();
  await form.getByLabel('Tags to add, one a line').fill('price');
  await form.getByLabel('The conversation', { exact: true }).selectOption('Is snoozed');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Try it on the last 30 days' }).click();
  await form.getByText('It happened once. The conditions held once.').waitFor();
  await form.getByText(/somebody was there: 1 time/).waitFor();
  expect(await inaccessible(page)).toEqual([]);
  expect(await rules()).toEqual([]);
  await form.getByRole('button', { name: 'Create' }).click();
  await page.getByText(/^A contact replies, if Reply contains “cost” → adds tags, sends a text/).waitFor();
  const written = {
    name: 'Prices',
    on: 'reply',
    when: [{ field: 'replied', op: 'contains', value: 'cost' }],
    do: [
      {
        addTags: ['price'],
        reply: { text: 'We will call you.', outsideHoursOnly: true },
        snooze: { days: 1, hours: 0, minutes: 0 },
      },
    ],
  };
  expect(await rules()).toMatchObject([written]);

  await page.getByRole('button', { name: 'Edit Prices' }).click();
  const edited = page.getByRole('dialog', { name: 'Edit the rule' });
  await edited.getByLabel('When', { exact: true }).selectOption('Nobody has answered for a while');
  await edited.getByLabel('Send an email to whoever the contact belongs to').check();
  await edited.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Nobody has answered for a while: 1 hour, if/).waitFor();
  expect(await rules()).toMatchObject([
    { ...written, on: 'no_answer_for', after: { minutes: 60 }, do: [{ ...written.do[0], notify: true }] },
  ]);
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete the rule' }).click();
  await page.getByText('No rules yet').waitFor();
  expect(await rules()).toEqual([]);
});

test('the opening hours are set, with an undo, and say whether somebody is there', async () => {
  const { page } = tab;
  const hours = page.getByRole('form', { name: 'Opening hours' });
  const saved = async () => (await workspace.api('GET', '/api/workspace/opening-hours')).body.openingHours;
  await page.getByText('Open now').waitFor();
  await hours.getByRole('button', { name: 'Add hours' }).click();
  await hours.getByLabel('Sunday').check();
  await hours.getByLabel('Opens at').fill('08:30');
  await hours.getByLabel('Days on which nobody is there').fill('2030-02-30');
  await hours.getByRole('button', { name: 'Save' }).click();
  await hours.getByText(/must be a date as YYYY-MM-DD/).waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
  await hours.getByLabel('Days on which nobody is there').fill('2030-12-25\n2030-12-26');
  await hours.getByRole('button', { name: 'Save' }).click();
  await page.getByText('The opening hours were saved').waitFor();
  const days = [1, 2, 3, 4, 5, 0];
  expect(await saved()).toEqual({
    hours: [{ days, start: '08:30', end: '17:00' }],
    closedOn: ['2030-12-25', '2030-12-26'],
  });
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('button', { name: 'Undo' }).click();
  await eventually(async () => (await saved()).hours.length === 0);
});

test('linking a chat says why it cannot be done', async () => {
  const { page } = tab;
  await page.getByRole('tab', { name: 'AI copilot' }).click();
  await page.getByRole('button', { name: 'Link a chat' }).click();
  const form = page.getByRole('dialog', { name: 'Link a chat' });
  await form.getByLabel('What it is told').selectOption('All other drafts of the workspace');
  expect(await inaccessible(page)).toEqual([]);
  await form.getByRole('button', { name: 'Continue' }).click();
  await form.getByText('is not configured in this installation').waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
});
