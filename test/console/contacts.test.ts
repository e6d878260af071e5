import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app);
  await tab.signIn(workspace.key, '/contacts');
});

describe('the contacts', () => {
  it('are imported from a file, with progress', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'New list' }).first().click();
    await page.getByLabel('Name').fill('Spring viewings');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('button', { name: 'Actions for the list Spring viewings' }).waitFor();
    await page.getByRole('searchbox', { name: 'Search leads' }).fill('Nobody');
    await page.getByText('No leads found').waitFor();
    await page.getByRole('button', { name: 'Import' }).click();
    const buffer = Buffer.from('Who,Phone,Flat,Secret\nAda,+14155550161,12b,s3cr3t\nBob,,3,\n');
    await page.getByLabel('CSV file').setInputFiles({ name: 'leads.csv', mimeType: 'text/csv', buffer });
    expect(await page.getByLabel('Column Phone').inputValue()).toBe('phone');
    expect(await page.getByLabel('Column Flat').inputValue()).toBe('custom');
    await page.getByLabel('Column Who').selectOption('First name');
    await page.getByLabel('Column Secret').selectOption('Leave out');
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await page.getByText('1 saved · 0 duplicates · 1 rejected').waitFor();
    await page.getByRole('button', { name: 'Rejected rows' }).waitFor();
    await page.getByRole('row', { name: /Ada/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
  });

  it('are imported into a new list, unless a list is open, which is created once however often it is tried', async () => {
    const { page } = tab;
    const dialog = page.getByRole('dialog', { name: 'Import leads' });
    const target = dialog.getByLabel('List', { exact: true });
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    expect(await target.locator('option:checked').textContent()).toBe('Spring viewings');
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'All leads' }).click();
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    expect(await target.locator('option:checked').textContent()).toBe('New list');
    const buffer = Buffer.from('First name,Phone\nEve,+19995550163\n');
    await page.getByLabel('CSV file').setInputFiles({ name: 'Summer.csv', mimeType: 'text/csv', buffer });
    await expect.poll(() => dialog.getByLabel('Name of the new list').inputValue()).toBe('Summer');
    await dialog.getByLabel('Name of the new list').fill('Summer fair');
    await dialog.getByLabel('Country code').fill('4x');
    await dialog.getByRole('button', { name: 'Import' }).click();
    await dialog.getByLabel('Country code').and(page.locator('[aria-invalid=true]')).waitFor();
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    expect(await target.locator('option:checked').textContent()).toBe('Summer fair');
    expect(await inaccessible(page)).toEqual([]);
    // As people write it.
    await dialog.getByLabel('Country code').fill('0049');
    await dialog.getByRole('button', { name: 'Import' }).click();
    await page.getByText('1 saved · 0 duplicates · 0 rejected').waitFor();
    await page.getByText('1 lead has a number that its country does not have').waitFor();
    await page.getByRole('row', { name: /Eve/ }).waitFor();
    const { lists } = (await workspace.api('GET', '/api/lists')).body;
    const names = lists.map(({ name }: { name: string }) => name);
    expect(names.filter((name: string) => name === 'Summer fair')).toHaveLength(1);
    await page.getByRole('button', { name: 'All leads' }).click();
  });

  it('show what a form refuses, wherever it was scrolled to', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Import', exact: true }).click();
    const header = ['Phone', ...Array.from({ length: 30 }, (_, number) => `Column ${number}`)].join(',');
    await page.getByLabel('CSV file').setInputFiles({
      name: 'wide.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`${header}\n+14155550160\n`),
    });
    const code = page.getByLabel('Country code');
    await code.fill('4x');
    await page.getByLabel('CSV file').scrollIntoViewIfNeeded();
    await page.getByRole('dialog').getByRole('button', { name: 'Import' }).click();
    await code.and(page.locator('[aria-invalid=true]:focus')).waitFor();
    const box = await code.boundingBox();
    expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(page.viewportSize()?.height ?? 0);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('400')]);
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  it('are found by a search, changed, undone and erased', async () => {
    const { page } = tab;
    await page.getByRole('searchbox', { name: 'Search leads' }).fill('0161');
    await page.getByRole('row', { name: /Ada/ }).press('Enter');
    const drawer = page.getByRole('dialog', { name: 'Ada' });
    await drawer.getByText('12b', { exact: true }).waitFor();
    expect(await drawer.getByText('s3cr3t').count()).toBe(0);
    expect(await inaccessible(page)).toEqual([]);
    const tags = async () => (await workspace.api('GET', '/api/leads?search=0161')).body.leads[0].tags;
    await drawer.getByRole('button', { name: 'Add a tag' }).click();
    await drawer.getByLabel('New tag').fill('no-show');
    await drawer.getByLabel('New tag').press('Enter');
    await drawer.getByRole('button', { name: 'Remove the tag no-show' }).click();
    await eventually(async () => (await tags()).length === 0);
    await page.getByRole('button', { name: 'Undo' }).click();
    await drawer.getByRole('button', { name: 'Remove the tag no-show' }).waitFor();
    expect(await tags()).toEqual(['no-show']);
    const [{ phone: address }] = (await workspace.api('GET', '/api/leads?search=0161')).body.leads;
    await workspace.api('POST', '/api/consents', {
      address,
      status: 'granted',
      evidence: 'Signed at the fair',
    });
    await drawer.getByRole('tab', { name: 'History' }).click();
    await drawer.getByText('Consent given').waitFor();
    await drawer.getByText('Signed at the fair').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('tab', { name: 'Edit' }).click();
    await drawer.getByLabel('Company').fill('Engines Ltd');
    await drawer.getByRole('tab', { name: 'History' }).click();
    await drawer.getByText('Consent given').waitFor();
    await drawer.getByRole('tab', { name: 'Edit' }).click();
    await drawer.getByText('What you wrote before is here again').waitFor();
    await drawer.getByRole('button', { name: 'Save' }).click();
    const company = async () =>
      (await workspace.api('GET', '/api/leads?search=0161')).body.leads[0]?.companyName;
    await eventually(async () => (await company()) === 'Engines Ltd');
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(async () => (await company()) === '');
    await drawer.getByRole('button', { name: 'Erase' }).click();
    await page.getByRole('button', { name: 'Erase the contact' }).click();
    await page.getByText('No leads found').waitFor();
    await eventually(async () => (await company()) === undefined);
  });

  it('are changed several at a time, with an undo, and deleted once it is said how many', async () => {
    const { page } = tab;
    const names = ['Fay', 'Gil', 'Hal'];
    const listIds = await Promise.all(
      ['Open day', 'Brunch'].map(async (name) => (await workspace.api('POST', '/api/lists', { name })).body),
    );
    const listId = listIds[0].list._id;
    const leads = names.map((firstName, index) => ({ firstName, phone: `+1415555017${index}` }));
    await workspace.api('POST', '/api/leads', { listId, leads });
    await tab.signIn(workspace.key, `/contacts?list=${listId}`);
    const row = (name: string) => page.getByRole('row', { name: new RegExp(name) });
    await row('Fay').getByRole('checkbox').check();
    expect(await page.getByRole('dialog').count()).toBe(0);
    await row('Gil').focus();
    await page.keyboard.press(' ');
    const bar = page.getByRole('group', { name: 'Selected leads' });
    await bar.getByText('2 selected').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    const countOf = async (name: string) =>
      (await workspace.api('GET', '/api/lists')).body.lists.find(
        (list: { name: string }) => list.name === name,
      ).leadCount;
    await bar.getByRole('button', { name: 'Add to a list' }).click();
    await page.getByRole('menuitem', { name: 'Brunch' }).click();
    await page.getByText('Added to Brunch: 2').waitFor();
    expect(await countOf('Brunch')).toBe(2);
    await bar.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('Undone: 2').waitFor();
    expect(await countOf('Brunch')).toBe(0);
    await row('Hal').getByRole('checkbox').check();
    await bar.getByRole('button', { name: 'Select all of them' }).click();
    await bar.getByRole('button', { name: 'Delete' }).click();
    const question = page.getByRole('dialog', { name: 'Delete these leads?' });
    await question.getByText('3 leads are concerned.').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await question.getByRole('button', { name: 'Delete the leads' }).click();
    await page.getByText('No leads yet').waitFor();
    expect(await countOf('Open day')).toBe(0);
    await page.getByRole('button', { name: 'All leads' }).click();
  });

  it('are loaded as the list is scrolled, in few requests, and later when the API asks to wait', async () => {
    const { page } = tab;
    // With the one that was imported.
    const leads = Array.from({ length: 259 }, (_, index) => ({ phone: `+1415556${1000 + index}` }));
    expect(await workspace.api('POST', '/api/leads', { leads })).toMatchObject({ status: 201 });
    await tab.signIn(workspace.key, '/contacts');
    await page.getByRole('table', { name: 'Leads' }).getByRole('row').nth(1).waitFor();
    let requests = 0;
    await page.route(/\/api\/leads\?/, (route) => {
      requests += 1;
      return requests === 2
        ? route.fulfill({
            status: 429,
            headers: { 'Retry-After': '1' },
            json: { error: 'Too many requests' },
          })
        : route.continue();
    });
    await page.getByRole('searchbox', { name: 'Search leads' }).fill('');
    const table = page.getByRole('table', { name: 'Leads' });
    await table.getByRole('row').nth(1).focus();
    await eventually(async () => {
      await page.keyboard.press('End');
      return (await table.getAttribute('aria-rowcount')) === '261';
    });
    // The first rows, those that were refused, and all others.
    expect(requests).toBeLessThanOrEqual(4);
    expect(tab.takeProblems()).toEqual([expect.stringContaining('429')]);
    await page.unroute(/\/api\/leads\?/);
  });

  it('are opted out and in again', async () => {
    const { page } = tab;
    await page.getByRole('button', { name: 'Opt-outs' }).click();
    await page.getByRole('button', { name: 'Opt an address out' }).click();
    await page.getByLabel('Phone number or email address').fill('+14155550162');
    await page.getByRole('button', { name: 'Opt out', exact: true }).click();
    await page.getByRole('row', { name: /415 555 0162/ }).waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Opt in +1 415 555 0162 again' }).click();
    await page.getByText('No opt-outs').waitFor();
  });
});
