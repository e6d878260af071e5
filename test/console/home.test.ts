import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createLead, createWorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test("Home lists what needs attention, with links and times in the workspace's zone", async () => {
  const { page, app } = tab;
  const { key, api, lineId } = await createWorkspaceWithLine(app, {
    workspace: { timezone: 'Asia/Tokyo' },
    line: { first_name: 'Dana', last_name: 'Lee' },
  });
  await writeIn(app, { lineId, from: phone(), text: 'Is the flat still free?' });
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
  await tab.signIn(key);
  await page.getByText('Dana Lee').waitFor();
  const zone = { timeZone: 'Asia/Tokyo', weekday: 'long' } as const;
  await page.getByText(new Intl.DateTimeFormat('en-US', zone).format(new Date())).first().waitFor();
  // Whoever is elsewhere would take them for their own.
  await page.getByText('Times of Asia/Tokyo').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await page.getByRole('link', { name: /1 conversation is unanswered/ }).click();
  await page.getByRole('heading', { name: 'Inbox' }).waitFor();
});

test('every page can be reached by keyboard', async () => {
  const { page } = tab;
  await page.keyboard.press('g');
  await page.keyboard.press('l');
  await page.getByRole('heading', { name: 'Lines', exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /Search/ }).waitFor();
  await page.keyboard.type('hom');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Home' }).waitFor();
});

test('the shortcuts are listed, and can be turned off', async () => {
  const { page } = tab;
  await page.keyboard.press('?');
  const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await help.getByText('Approve the draft').waitFor();
  expect(await inaccessible(page)).toEqual([]);
  await help.getByRole('checkbox', { name: /Single keys/ }).uncheck();
  await page.keyboard.press('Escape');
  await help.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  expect(await help.count()).toBe(0);
  await page.evaluate('localStorage.clear()');
});

test('the menu of a phone leads to pages that fit its screen', async () => {
  const { page } = tab;
  await page.setViewportSize({ width: 390, height: 844 });
  for (const name of ['Lines', 'Home']) {
    await page.getByRole('button', { name: 'Open the menu' }).click();
    await page.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, exact: true }).waitFor();
    await page.getByText('Dana Lee').waitFor();
    // What is wider would be cut off.
    const tooWide = await page.evaluate(
      "[...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 391).length",
    );
    expect(tooWide, name).toBe(0);
  }
  await page.getByRole('button', { name: 'Open the menu' }).click();
  expect(await inaccessible(page)).toEqual([]);
});

test('Home counts only open conversations as unanswered', async () => {
  const { page, app } = tab;
  const { key, api, lineId } = await createWorkspaceWithLine(app);
  const closed = phone();
  for (const from of [closed, phone()]) await writeIn(app, { lineId, from, text: 'Is the flat still free?' });
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 2);
  await api('PATCH', `/api/conversations/${encodeURIComponent(closed)}`, { status: 'closed' });
  await page.setViewportSize({ width: 1280, height: 800 });
  await tab.signIn(key);
  await page.getByRole('link', { name: /is unanswered|are unanswered/ }).waitFor();
  expect(await page.getByText('1 conversation is unanswered').count()).toBe(1);
});

test('Ctrl K finds contacts, conversations, campaigns, lines and settings, without case and accents', async () => {
  const { page, app } = tab;
  const { key, id, api, lineId } = await createWorkspaceWithLine(app, {
    line: { first_name: 'Zoë', last_name: 'Åkesson' },
  });
  const contact = phone();
  await createLead(app, id, { first_name: 'Renée', last_name: 'Łukasz', phones: [contact] });
  await writeIn(app, { lineId, from: contact, text: 'Is the Café still open?' });
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
  const campaign = { name: 'Für Gärtner', steps: [{ message: 'Hi' }] };
  expect((await api('POST', '/api/campaigns', campaign)).status).toBe(201);
  await tab.signIn(key);
  await page.getByRole('heading', { name: 'Home' }).waitFor();

  const find = async (text: string, option: RegExp): Promise<void> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: /Search/ }).fill(text);
    await page.getByRole('option', { name: option }).first().waitFor();
    if (text === 'cafe') expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('option', { name: option }).click();
  };
  await find('cafe', /Renée Łukasz.*Conversation/);
  await page.getByText('Is the Café still open?').last().waitFor();
  await find('renee lukasz', /^Renée Łukasz(?!.*Conversation)/);
  await page.getByRole('dialog', { name: 'Renée Łukasz' }).waitFor();
  await page.keyboard.press('Escape');
  await find('GARTNER', /Für Gärtner/);
  await page.getByRole('heading', { name: 'Für Gärtner' }).waitFor();
  await find('zoe ake', /Zoë Åkesson/);
  await page.getByRole('dialog', { name: 'Zoë Åkesson' }).waitFor();
  await page.keyboard.press('Escape');
  await find('audit', /Audit log/);
  await page.getByRole('tab', { name: 'Audit log', selected: true }).waitFor();
  // What can be done is found by what it does, and can be undone.
  await find('time zone', /Team/);
  await page.getByRole('tab', { name: 'Team', selected: true }).waitFor();
  await find('invite', /Invite somebody/);
  await page.getByRole('tab', { name: 'Team', selected: true }).waitFor();
  await find('pause zoe', /Pause Zoë Åkesson/);
  await page.getByText('Zoë Åkesson is paused').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await eventually(async () => !(await api('GET', '/api/lines/by-user')).body.lines[0].isPaused);
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: /Search/ }).fill('nobody has this name');
  await page.getByText('Nothing matches “nobody has this name”.').waitFor();
  await page.keyboard.press('Escape');
});
