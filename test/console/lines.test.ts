import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { newUserId } from '#domain/base/ids.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  createLine,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { coveredButtons, inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;

beforeAll(async () => {
  workspace = await createWorkspaceWithLine(tab.app, { line: { first_name: 'Dana', last_name: 'Lee' } });
  const { api, key, lineId } = workspace;
  await api('PATCH', `/api/lines/${lineId}`, { dailyTotalMessagesLimit: 1 });
  for (const message of ['Now', 'Later'])
    await api('POST', '/api/messages', { message, recipientPhone: phone(), fromLineId: lineId });
  await tab.signIn(key, '/lines');
});

const line = async () => (await workspace.api('GET', '/api/lines/by-user')).body.lines[0];

describe('the lines', () => {
  it('show their usage, the next messages and why those wait', async () => {
    const { page } = tab;
    await page.getByRole('row', { name: /Dana Lee/ }).press('Enter');
    const drawer = page.getByRole('dialog');
    await drawer.getByText('One message waits.').waitFor();
    await drawer.getByRole('meter', { name: 'Messages' }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('show a refusal of the API at the field, and can undo a saved change', async () => {
    const { page } = tab;
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Limits' }).click();
    const field = drawer.getByLabel('Messages a day');
    await field.fill('99999');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await drawer.getByText(/10000/).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await field.fill('200');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await eventually(async () => (await line()).dailyTotalMessagesLimit === 200);
    const undo = page.getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    for (const width of [1280, 1024, 390]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await coveredButtons(page), `at ${width} pixels`).toEqual([]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    await undo.click();
    await eventually(async () => (await line()).dailyTotalMessagesLimit === 1);
    const before = (await line()).lineDownNotifications;
    await drawer.getByRole('checkbox', { name: 'Send an email when this line is down' }).click();
    await eventually(async () => (await line()).lineDownNotifications === !before);
  });

  it('explain how a line is judged, and change what follows from it', async () => {
    const { page } = tab;
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Reputation' }).click();
    await drawer.getByText(/^\d+ of 100 points/).waitFor();
    await drawer.getByText('too few to judge it').waitFor();
    await drawer.getByText(/The line sent \d messages?, and 0 people opted out/).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('combobox', { name: 'Policy' }).selectOption('observe');
    await eventually(async () => (await line()).reputationPolicy === 'observe');
    await drawer.getByText('changes nothing about its pace').waitFor();
  });

  it('offer a form made from the schema of the carrier', async () => {
    const { page } = tab;
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Carrier' }).click();
    await drawer.getByRole('combobox', { name: 'Carrier' }).selectOption('bluebubbles');
    const names = await drawer
      .getByRole('combobox', { name: 'Carrier' })
      .getByRole('option')
      .allTextContents();
    expect(names).toContain('BlueBubbles');
    await drawer.getByLabel('URL', { exact: true }).fill('http://mac.example');
    expect(await drawer.getByLabel('Password').getAttribute('type')).toBe('password');
    await drawer.getByLabel('Method (optional)').selectOption('private-api');
    expect(await inaccessible(page)).toEqual([]);
  });

  it('have a contact card, and say when contacts get it', async () => {
    const { page } = tab;
    const drawer = page.getByRole('dialog');
    await drawer.getByRole('tab', { name: 'Contact card' }).click();
    await drawer.getByLabel('Address of a picture').fill('http://example.test/dana.png');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await drawer.getByText(/URL/).waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await drawer.getByLabel('Address of a picture').fill('https://example.test/dana.png');
    await drawer.getByLabel('Organization').fill('Lee & Co');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The contact card was saved').waitFor();
    const { body } = await workspace.api('GET', `/api/lines/${workspace.lineId}/contact-card`);
    expect(body.contactCard).toMatchObject({
      firstName: 'Dana',
      lastName: 'Lee',
      organization: 'Lee & Co',
      photoUrl: 'https://example.test/dana.png',
    });
    await drawer.getByLabel('Contacts get the card').selectOption('Never');
    await eventually(async () => (await line()).shareContactCard === 'never');
    expect(await inaccessible(page)).toEqual([]);
  });

  it('pause a line with a reason, and resume it', async () => {
    const { page } = tab;
    const drawer = page.getByRole('dialog', { name: /Dana Lee/ });
    await drawer.getByRole('tab', { name: 'Overview' }).click();
    await drawer.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog', { name: 'Pause Dana Lee' });
    await dialog.getByLabel('Reason (optional)').fill('Holidays');
    expect(await inaccessible(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Pause line' }).click();
    await drawer.getByText('This line is paused.').waitFor();
    expect(await line()).toMatchObject({ isPaused: true });
    await drawer.getByRole('button', { name: 'Resume' }).click();
    await drawer.getByRole('button', { name: 'Pause' }).waitFor();
    expect(await line()).toMatchObject({ isPaused: false });
  });
});

test('only the limits of a line that were changed are saved', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app, { line: { first_name: 'Ada' } });
  await tab.signIn(key, `/lines?line=${lineId}`);
  const drawer = page.getByRole('dialog');
  await drawer.getByRole('tab', { name: 'Limits' }).click();
  const limits = async () => (await api('GET', '/api/lines/by-user')).body.lines[0];
  const save = async (perDay: string): Promise<void> => {
    await drawer.getByLabel('Messages a day').fill(perDay);
    const refetch = page.waitForResponse('**/api/lines/by-user');
    await drawer.getByRole('button', { name: 'Save' }).click();
    await (await refetch).finished();
    await eventually(async () => (await limits()).dailyTotalMessagesLimit === Number(perDay));
  };
  await api('PATCH', `/api/lines/${lineId}`, { firstName: 'Bea' });
  await save('201');
  await page.getByRole('dialog', { name: /Bea/ }).waitFor();
  await save('202');
  expect(await limits()).toMatchObject({ firstName: 'Bea' });
});

test('a workspace that stops sending says so on every page, in words', async () => {
  const { page, app } = tab;
  const { id, key } = await createWorkspaceWithLine(app, { line: { first_name: 'Rosa', last_name: 'Paz' } });
  await tab.signIn(key, '/lines');
  await page.getByRole('row', { name: /Rosa Paz/ }).press('Enter');
  const drawer = page.getByRole('dialog');
  await drawer.getByRole('tab', { name: 'Limits' }).click();
  await drawer.getByLabel('Messages a day').fill('99999');
  await drawer.getByRole('button', { name: 'Save' }).click();
  await drawer.getByText('This must be at most 10000.').waitFor();
  await app.pools.system.query(
    sql.unsafe`update workspaces set subscription_status = 'past_due' where id = ${id}`,
  );
  await drawer.getByLabel('Messages a day').fill('200');
  await drawer.getByRole('button', { name: 'Save' }).click();
  await drawer.getByText('The subscription is past due. Nothing can be changed until it is paid.').waitFor();
  expect(tab.takeProblems()).toEqual([expect.stringContaining('400'), expect.stringContaining('402')]);
  await page.keyboard.press('Escape');
  await page.getByText(/A payment is past due: nothing is sent/).waitFor();
  await tab.go('/contacts');
  await page.getByRole('heading', { name: 'Contacts' }).waitFor();
  await page.getByText(/A payment is past due: nothing is sent/).waitFor();
  expect(await inaccessible(page)).toEqual([]);
});

test('members, who may not pause a line, have no button for it', async () => {
  const { page, app } = tab;
  const { id, lineId } = await createWorkspaceWithLine(app);
  const userId = newUserId();
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Lena' });
  await insertRow(app, 'workspace_members', { workspace_id: id, user_id: userId, role: 'org:member' });
  const member = { userId, organizationId: id, role: 'org:member' };
  await tab.signIn(await signIn(app, member), `/lines?line=${lineId}`);
  const drawer = page.getByRole('dialog');
  await drawer.getByRole('button', { name: 'Check now' }).waitFor();
  expect(await drawer.getByRole('button', { name: 'Pause' }).count()).toBe(0);
});

test('many lines are searched by name and state, and one that reputation slows down is healthy nowhere', async () => {
  const { page, app } = tab;
  const { id, key } = await createWorkspaceWithLine(app, {
    line: { first_name: 'Robin', last_name: 'Öhman', health_status: 'healthy' },
  });
  for (let index = 0; index < 9; index += 1)
    await createLine(app, id, 'sms', { first_name: 'Dana', last_name: `No. ${index}` });
  await app.pools.system.query(
    sql.unsafe`update lines set reputation_state = 'watch', reputation_since = now() where workspace_id = ${id} and first_name = 'Robin'`,
  );
  await tab.signIn(key, '/lines');
  const rows = page.getByRole('row');
  const robin = rows.filter({ hasText: 'Robin Öhman' });
  await robin.getByText('Watch', { exact: true }).waitFor();
  await page.getByRole('searchbox', { name: 'Search lines' }).fill('ohman');
  await rows.filter({ hasText: 'Dana' }).first().waitFor({ state: 'detached' });
  await page.getByRole('searchbox', { name: 'Search lines' }).fill('');
  await page.getByLabel('State').selectOption('watch');
  await rows.filter({ hasText: 'Dana' }).first().waitFor({ state: 'detached' });
  expect(await robin.getByText('Healthy').count()).toBe(0);
  expect(await inaccessible(page)).toEqual([]);
  await robin.press('Enter');
  await page.getByRole('dialog').getByText('Watch', { exact: true }).first().waitFor();
  await page.keyboard.press('Escape');
  await tab.go('/');
  const today = page.getByRole('listitem').filter({ hasText: 'Robin Öhman' });
  await today.getByText('Watch', { exact: true }).waitFor();
  expect(await today.getByText('Healthy').count()).toBe(0);

  await tab.go('/campaigns');
  await page.getByRole('link', { name: 'New campaign' }).first().click();
  const lines = page.getByRole('group', { name: 'Lines' });
  await lines.getByRole('checkbox').nth(9).waitFor();
  expect((await lines.boundingBox())?.height).toBeLessThan(450);
  await lines.getByRole('searchbox', { name: 'Search lines' }).fill('ohman');
  await expect.poll(() => lines.getByRole('checkbox').count()).toBe(1);
});
