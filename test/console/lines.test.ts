import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { newUserId } from '#domain/base/ids.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  createLine,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { signIn } from '#test/support/sessions.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { coveredButtons, inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;
let twilio: TwilioStandIn;
beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
});
afterAll(() => twilio.stop());

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
    await drawer.getByText(workspace.lineId).waitFor();
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
    for (const width of [1280, 1180, 1100, 1024, 390]) {
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

describe('a further line of one’s own', () => {
  const field = (label: string) => tab.page.getByRole('dialog').getByLabel(label, { exact: true });
  const press = (name: string) => tab.page.getByRole('button', { name, exact: true }).click();
  const fillSettings = async (address: string, authToken: string) => {
    await field('Base URL (optional)').fill(twilio.url);
    await field('Phone number').fill(address);
    await field('Account SID').fill(TWILIO_ACCOUNT.sid);
    await field('Auth token').fill(authToken);
  };

  it('is connected step by step like the first, and nothing that was written is lost', async () => {
    const { page, app } = tab;
    const owned = await createWorkspaceWithLine(app);
    await tab.signInAsOwner(owned, '/lines');
    const twilioChoice = page.getByRole('radio', { name: /Twilio/ });
    const request = async () => {
      await page.getByRole('button', { name: 'Request a line' }).first().click();
      await twilioChoice.waitFor();
    };
    await request();
    // By keyboard alone.
    await twilioChoice.focus();
    await page.keyboard.press('Space');
    await page.getByText(/copy the Account SID and the Auth Token/).waitFor();
    await fillSettings('+1 415 555 0139', 'mistyped');
    await field('First name').fill('Lee');
    const checks = page.getByRole('list', { name: 'Checks' });
    await checks.getByText(/Twilio refuses the credentials/).waitFor();
    expect(await field('Auth token').getAttribute('aria-invalid')).toBe('true');
    expect(await page.getByRole('button', { name: 'Connect the line' }).isDisabled()).toBe(true);
    expect(await inaccessible(page)).toEqual([]);

    // Looking at another carrier, closing it and a reload: only a secret has to be entered again.
    await page.getByRole('radio', { name: /Simulated carrier/ }).check();
    await twilioChoice.check();
    expect(await field('Auth token').inputValue()).toBe('mistyped');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('mistyped');
    await page.reload();
    await request();
    await page.getByText('What you wrote before is here again').waitFor();
    expect(await twilioChoice.isChecked()).toBe(true);
    expect(await field('Phone number').inputValue()).toBe('+1 415 555 0139');
    expect(await field('First name').inputValue()).toBe('Lee');
    expect(await field('Auth token').inputValue()).toBe('');

    twilio.numbers.set('+14155550139', { smsUrl: '', sms: true });
    await field('Auth token').fill(TWILIO_ACCOUNT.authToken);
    await field('Last name').fill('Wong');
    await checks.getByText(/has the number/).waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('The line is connected.').waitFor();
    expect(await field('Callback URL').inputValue()).toMatch(/^http/);
    expect(await inaccessible(page)).toEqual([]);
    await press('Show the line');
    await page.getByRole('dialog', { name: 'Lee Wong' }).waitFor();
    const { lines } = (await owned.api('GET', '/api/lines/by-user')).body;
    expect(lines).toHaveLength(2);
    expect(lines).toContainEqual(
      expect.objectContaining({ firstName: 'Lee', phone: '+14155550139', provisioningStatus: 'active' }),
    );
    await page.keyboard.press('Escape');
    await request();
    expect(await page.getByRole('radio', { checked: true }).count()).toBe(0);

    // The next one costs extra: that is said before it is requested, and it is paid for before it is connected.
    await twilioChoice.check();
    twilio.numbers.set('+14155550142', { smsUrl: '', sms: true });
    await field('First name').fill('Kim');
    await field('Last name').fill('Wong');
    await fillSettings('+1 415 555 0142', TWILIO_ACCOUNT.authToken);
    await page.getByText(/^This line costs \$\d+\.\d\d, plus taxes/).waitFor();
    await press('Test the settings');
    await checks.getByText(/has the number/).waitFor();
    await press('Connect the line');
    const pay = page.getByRole('link', { name: 'Pay for the line' });
    await pay.waitFor();
    expect(await inaccessible(page)).toEqual([]);
    // It is paid for in another tab, while the secret waits in this one, which does not store it.
    expect(await pay.getAttribute('target')).toBe('_blank');
    await app.pools.system.query(
      sql.unsafe`update lines set provisioning_status = 'provisioning' where workspace_id = ${owned.id} and first_name = 'Kim'`,
    );
    await page.getByText('The line is paid for.').waitFor();
    expect(await page.getByRole('button', { name: 'Connect the line' }).isEnabled()).toBe(true);
    expect(await field('Auth token').inputValue()).toBe(TWILIO_ACCOUNT.authToken);
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain(TWILIO_ACCOUNT.authToken);
    await page.keyboard.press('Escape');
    await request();
    expect(await field('First name').inputValue()).toBe('Kim');
  });

  it('that was paid for is connected in the same steps, under its own name', async () => {
    const { page, app } = tab;
    const owned = await createWorkspaceWithLine(app);
    const lineId = await createLine(app, owned.id, 'sms', {
      first_name: 'Mia',
      last_name: 'Paid',
      phone: null,
      line_type: 'byo',
      carrier: 'none',
      provisioning_status: 'provisioning',
    });
    // As where no carrier sets up lines of one's own.
    await page.route('**/api/lines/carriers', async (route) => {
      const response = await route.fetch();
      const { carriers, ...rest } = (await response.json()) as { carriers: object[] };
      const json = { ...rest, carriers: carriers.map((one) => ({ ...one, provisionsOwnLines: false })) };
      await route.fulfill({ response, json });
    });
    await tab.signInAsOwner(owned, `/lines?line=${lineId}`);
    await page.getByRole('tab', { name: 'Carrier' }).click();
    await page.getByRole('radio', { name: /Twilio/ }).check();
    expect(await page.getByRole('radio', { name: /Simulated carrier/ }).count()).toBe(0);
    twilio.numbers.set('+14155550140', { smsUrl: '', sms: true });
    await fillSettings('+1 415 555 0140', TWILIO_ACCOUNT.authToken);
    expect(await page.getByLabel('First name').count()).toBe(0);
    await press('Test the settings');
    await page
      .getByRole('list', { name: 'Checks' })
      .getByText(/has the number/)
      .waitFor();
    await press('Connect the line');
    await page.getByText('The line is connected.').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await press('Show the line');
    await page.getByRole('dialog').getByRole('button', { name: 'Check now' }).waitFor();
    // The settings of a line that is connected are a form.
    await page.getByRole('tab', { name: 'Carrier' }).click();
    expect(await page.getByRole('combobox', { name: 'Carrier' }).inputValue()).toBe('twilio');
    await field('Phone number').fill('+1 415 555 0141');
    await page.getByRole('tab', { name: 'Limits' }).click();
    await page.getByRole('tab', { name: 'Carrier' }).click();
    expect(await field('Phone number').inputValue()).toBe('+1 415 555 0141');
    await press('Discard');
    expect(await field('Phone number').inputValue()).toBe('+14155550140');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
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

test('what is written in a tab of a line is there again after another one, and after a reload', async () => {
  const { page, app } = tab;
  const { key, lineId } = await createWorkspaceWithLine(app);
  await tab.signIn(key, `/lines?line=${lineId}`);
  const drawer = page.getByRole('dialog');
  const open = (name: string) => drawer.getByRole('tab', { name }).click();
  await open('Limits');
  await drawer.getByLabel('Messages a day').fill('42');
  await open('Contact card');
  await drawer.getByLabel('Organization').fill('Lee & Co');
  await open('Limits');
  expect(await drawer.getByLabel('Messages a day').inputValue()).toBe('42');
  await page.reload();
  await open('Contact card');
  expect(await drawer.getByLabel('Organization').inputValue()).toBe('Lee & Co');
  await drawer.getByRole('button', { name: 'Discard' }).click();
  expect(await drawer.getByLabel('Organization').inputValue()).toBe('');
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
  for (const [change, banner, state] of [
    [
      sql.fragment`subscription_status = 'canceled'`,
      /The subscription has ended: nothing is sent/,
      'No subscription',
    ],
    [sql.fragment`suspended_at = now()`, /Suspended by the operator: nothing is sent/, 'Suspended'],
  ] as const) {
    await app.pools.system.query(sql.unsafe`update workspaces set ${change} where id = ${id}`);
    await tab.signIn(key);
    await page.getByText(banner).waitFor();
    await page.getByRole('listitem').filter({ hasText: 'Rosa Paz' }).getByText(state).waitFor();
    await page.getByRole('link', { name: /The (workspace is suspended|subscription has ended)/ }).waitFor();
    await tab.go('/lines');
    await page.getByRole('row', { name: new RegExp(`Rosa Paz.*${state}`) }).waitFor();
  }
});

test('an invoice is paid in a tab of its own', async () => {
  const { page, app } = tab;
  const { api, key } = await createWorkspaceWithLine(app);
  const request = { channelType: 'email', firstName: 'Kim', lastName: 'Wong' };
  const { line, paymentUrl } = (await api('POST', '/api/line-requests', request)).body;
  await tab.signIn(key, `/lines?line=${line._id}`);
  const drawer = page.getByRole('dialog', { name: 'Kim Wong' });
  const [opened] = await Promise.all([
    page.waitForEvent('popup'),
    drawer.getByRole('button', { name: 'Pay', exact: true }).click(),
  ]);
  await opened.waitForURL(paymentUrl);
  await opened.close();
  expect(await drawer.count()).toBe(1);
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
  await page.getByRole('tab', { name: 'Limits' }).click();
  await page.getByText(/^Today \d+: its reputation is “watch”/).waitFor();
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
