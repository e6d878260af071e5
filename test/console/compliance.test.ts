import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { outbound } from '#test/support/message-rows.ts';
import { signIn } from '#test/support/sessions.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: WorkspaceWithLine;

const ask = async (method: string, path: string, body?: object) => {
  const answer = await workspace.api(method, path, body);
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body;
};

beforeAll(async () => {
  workspace = await createWorkspaceWithLine(tab.app);
  // Midnight in New York or an hour before, three days ago.
  const night = `${new Date(Date.now() - 3 * 86_400_000).toISOString().slice(0, 10)}T04:30:00Z`;
  const { campaign } = await ask('POST', '/api/campaigns', { name: 'Spring', steps: [{ message: 'Hi' }] });
  await outbound(tab.app, workspace.id, '+12125550123', night, {
    source: 'campaign',
    campaign_id: campaign._id,
  });
  await ask('POST', `/api/campaigns/${campaign._id}/start`);
  await tab.signInAsOwner(workspace, '/compliance');
});

describe('the page Compliance', () => {
  it('shows what is on and what quiet hours would have held, and saves them', async () => {
    const { page } = tab;
    await page.getByText('1 of 1').first().waitFor();
    const waited = page.getByRole('region', { name: 'What would have waited' });
    await waited.getByText('US-NY: America/New York').waitFor();
    await page.getByText('Sends without consent').waitFor();
    await page.getByText('UNSUBSCRIBE').waitFor();
    await page.locator('canvas').waitFor();
    expect(await inaccessible(page)).toEqual([]);

    // What is proposed is counted before it is saved.
    const form = page.getByRole('form', { name: 'Quiet hours' });
    await form.getByLabel('Send from').fill('00:00');
    await form.getByLabel('Send until').fill('00:00');
    await waited.getByText('0 of 1').waitFor();
    await form.getByLabel('State').selectOption({ label: 'On' });
    await form.getByLabel('Send from').fill('22:00');
    await form.getByLabel('Send until').fill('06:00');
    await form.getByLabel('Law').selectOption('us');
    await waited.getByText('leaves no time that the law').waitFor();
    // The refusal is in the browser's console.
    tab.takeProblems();
    await form.getByLabel('Send from').fill('09:00');
    await form.getByLabel('Send until').fill('20:00');
    await form.getByLabel('Drips').press('Space');
    await waited.getByText('1 of 1', { exact: true }).waitFor();
    // Neither another page, another tab nor a reload loses what is not saved.
    const isKept = async () => {
      await form.getByLabel('Send until').waitFor();
      expect(await form.getByLabel('Send until').inputValue()).toBe('20:00');
      expect(await form.getByLabel('Law').inputValue()).toBe('us');
      expect(await form.getByLabel('Drips').isChecked()).toBe(true);
    };
    await page.getByRole('link', { name: 'Contacts' }).click();
    await page.getByRole('heading', { name: 'Contacts' }).waitFor();
    await page.goBack();
    await isKept();
    await page.getByRole('tab', { name: 'Opt-in links' }).click();
    await page.getByText('No links yet').waitFor();
    await page.getByRole('tab', { name: 'Rules' }).click();
    await isKept();
    await page.reload();
    await isKept();
    await tab.signInAsOwner(workspace, '/compliance');
    await isKept();
    await form.getByLabel('Send until').press('Enter');
    await page.getByText('The quiet hours were saved').waitFor();
    expect((await ask('GET', '/api/workspace/quiet-hours')).quietHours).toEqual({
      enabled: true,
      start: '09:00',
      end: '20:00',
      law: 'us',
      appliesTo: ['campaign', 'drip'],
    });
    await page.getByText('In the last 30 days', { exact: true }).waitFor();
  });

  it('caps how often campaigns write to a person', async () => {
    const { page } = tab;
    const form = page.getByRole('form', { name: 'Frequency cap' });
    const cap = async () => (await ask('GET', '/api/workspace/frequency-cap')).frequencyCap;
    await form.getByLabel('Messages at most').fill('2');
    await form.getByLabel('In how many days').fill('0');
    await form.getByRole('button', { name: 'Save the cap' }).click();
    await form.getByText(/1 or more|at least 1|>= ?1/).waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    // What was refused is not red once it is corrected, and not lost on another tab.
    await form.getByLabel('In how many days').fill('7');
    expect(await form.locator('[aria-invalid=true]').count()).toBe(0);
    await page.getByRole('tab', { name: 'Opt-in links' }).click();
    await page.getByRole('tab', { name: 'Rules' }).click();
    expect(await form.getByLabel('Messages at most').inputValue()).toBe('2');
    await form.getByRole('button', { name: 'Save the cap' }).click();
    await page.getByText('The cap was saved').waitFor();
    expect(await cap()).toEqual({ messages: 2, days: 7 });
    await page.getByLabel('Campaigns wait while a member is in conversation').click();
    await eventually(async () => (await ask('GET', '/api/workspace')).workspace.contactBusy === false);
    expect(await inaccessible(page)).toEqual([]);
  });

  it('lists opt-outs with their words, decides about suspected ones by keyboard, and exports them', async () => {
    const { page, app } = tab;
    const { lineId } = workspace;
    const [stopped, suspected, other] = [phone(), phone(), phone()];
    const lead = { firstName: 'Luis', lastName: 'Moreno', phone: suspected };
    await workspace.api('POST', '/api/leads', { leads: [lead] });
    await writeIn(app, { lineId, from: stopped, text: 'Stop!' });
    await writeIn(app, { lineId, from: suspected, text: 'Please take me off your list' });
    await writeIn(app, { lineId, from: other, text: 'I think you have the wrong number' });
    await eventually(async () => (await ask('GET', '/api/opt-outs/suspected')).suspicions.length === 2);
    await page.getByRole('tab', { name: 'Opt-outs (2 to decide)' }).click();
    const waiting = page.getByRole('list', { name: 'Suspected opt-outs' });
    await waiting.getByText('Please take me off your list').waitFor();
    const history = page.getByRole('table', { name: 'Opt-outs and opt-ins' });
    await history.getByText('“Stop!”').waitFor();
    expect(await inaccessible(page)).toEqual([]);

    const row = (text: string) => waiting.getByRole('listitem').filter({ hasText: text });
    await row('take me off').getByRole('link', { name: 'Luis Moreno' }).waitFor();
    await row('take me off')
      .getByRole('button', { name: /^Opt out/ })
      .focus();
    await page.keyboard.press('Enter');
    await history.getByText('“Please take me off your list”').waitFor();
    await row('wrong number')
      .getByRole('button', { name: /^Dismiss/ })
      .focus();
    await page.keyboard.press('Enter');
    await page.getByText('Nothing to decide').waitFor();
    expect((await ask('GET', `/api/opt-outs/${encodeURIComponent(suspected)}`)).optedOut).toBe(true);
    expect((await ask('GET', `/api/opt-outs/${encodeURIComponent(other)}`)).optedOut).toBe(false);
    const weeks = page.getByRole('table', { name: 'Opt-outs by week' });
    await weeks.getByRole('row').nth(1).getByText('2', { exact: true }).waitFor();

    await page.getByLabel('Show').selectOption('opted_in');
    await page.getByText('None in this period').waitFor();
    await page.getByLabel('Show').selectOption('opted_out');
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export CSV' }).click();
    const file = await saving;
    expect(file.suggestedFilename()).toMatch(/^opt-outs-.*\.csv$/);
    const lines = (await readFile(await file.path(), 'utf8')).trim().split('\r\n');
    expect(lines).toHaveLength(3);
  });

  it('fits the screen of a phone', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 390, height: 844 });
    for (const [path, name] of [
      ['/compliance', 'Rules'],
      ['/compliance?tab=opt-outs', 'Opt-outs'],
    ] as const) {
      await tab.go(path);
      await page.getByRole('tabpanel', { name }).waitFor();
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBeLessThanOrEqual(390);
      expect(await inaccessible(page)).toEqual([]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it('shows a member the quiet hours, and lets only admins change them', async () => {
    const { page, app } = tab;
    await tab.signIn(
      await signIn(app, { userId: workspace.ownerId, organizationId: workspace.id, role: 'org:member' }),
      '/compliance',
    );
    await page.getByText('Only an owner or admin of the workspace changes this.').waitFor();
    expect(await page.getByRole('button', { name: 'Save' }).count()).toBe(0);
  });
});

describe('a campaign that is written', () => {
  it('shows who of its list consented, warns, and says what requiring it does', async () => {
    const { page } = tab;
    const list = (await ask('POST', '/api/lists', { name: 'Prospects' })).list._id;
    const [yes, no] = ['+12125550198', '+14155550199'];
    await ask('POST', '/api/leads', { listId: list, leads: [{ phone: yes }, { phone: no }] });
    await ask('POST', '/api/consents', { address: yes, status: 'granted' });
    await tab.signInAsOwner(workspace, '/campaigns');
    await page.getByRole('link', { name: 'New campaign' }).first().click();
    await page.getByLabel('Name').fill('Summer');
    await page.getByLabel('List').selectOption({ label: 'Prospects' });
    await page.getByRole('textbox', { name: 'Message' }).fill('Hi');
    const consent = page.getByRole('status', { name: 'Consent to iMessage' });
    await consent.getByText('1 of 2 leads have consented to iMessage; the other one gets').waitFor();
    await page.getByText('Quiet hours: messages leave from 09:00 to 20:00').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByLabel('Send only to leads who consented').check();
    await consent.getByText('the other one will be skipped').waitFor();
    await page.getByRole('button', { name: 'Create draft' }).click();
    await page.getByText('The campaign was created as a draft').waitFor();
    const { campaigns } = await ask('GET', '/api/campaigns?status=draft');
    expect(campaigns[0]).toMatchObject({ name: 'Summer', requireConsent: true });

    await page.getByRole('tab', { name: 'Preview' }).click();
    await page.getByRole('button', { name: `+1 ${no.slice(2, 5)}` }).click();
    await page.getByText('the campaign requires consent, and the lead has not given it').waitFor();
    await page.getByText(/09:00 to 20:00 in America/).waitFor();
  });
});

describe('opt-in links', () => {
  it('are created, shown with their code and how many used them, copied and deleted', async () => {
    const { page } = tab;
    await tab.signInAsOwner(workspace, '/compliance?tab=opt-in-links');
    await page.getByText('No links yet').waitFor();
    await page.getByRole('button', { name: 'Create a link' }).click();
    const form = page.getByRole('dialog', { name: 'Create a link' });
    await form.getByLabel('Name').fill('Shop window');
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByLabel('What they write').and(page.locator('[aria-invalid=true]')).waitFor();
    tab.takeProblems();
    await form.getByLabel('What they write').fill('Keep me posted');
    await form.getByLabel('What they consent to').fill('News about flats, once a week.');
    await form.getByLabel('Tags to add, one a line').fill('window');
    expect(await inaccessible(page)).toEqual([]);
    await form.getByRole('button', { name: 'Create' }).click();
    const row = page.getByRole('list', { name: 'Opt-in links' }).getByRole('listitem');
    await row.getByText('Shop window').waitFor();
    const [link] = (await ask('GET', '/api/opt-in-links')).optInLinks;
    expect(link).toMatchObject({ text: 'Keep me posted', tags: ['window'], poolId: null });
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row.getByRole('button', { name: 'Copy the link of Shop window' }).click();
    await row.getByRole('button', { name: 'Copied the link of Shop window' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(link.url);
    await row.getByRole('button', { name: 'QR code of Shop window' }).click();
    const code = page.getByRole('img', { name: 'QR code' });
    await expect.poll(() => code.evaluate((image) => Reflect.get(image, 'naturalWidth'))).toBeGreaterThan(0);
    expect(await inaccessible(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await row.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete the link' }).click();
    await page.getByText('No links yet').waitFor();
  });
});
