import { beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();
let workspace: TestWorkspace;

beforeAll(async () => {
  workspace = await createWorkspace(tab.app);
  const { api } = workspace;
  await api('GET', '/api/leads/6742f1c09b1e8a00d4c3b2a1', undefined, { 'x-request-id': 'lost-1' });
  await api('POST', '/api/webhooks', {});
  await api('GET', '/api/webhooks');
  await eventually(async () => (await api('GET', '/api/requests')).body.requests.length >= 3);
  await tab.signInAsOwner(workspace, '/requests');
});

describe('the log of requests', () => {
  it('finds what failed, and tells of one request', async () => {
    const { page } = tab;
    const rows = page.getByRole('row');
    await page.getByText('GET /api/webhooks').first().waitFor();
    await page.getByLabel('Status').selectOption('Refused (4xx)');
    await page.getByText('GET /api/webhooks').waitFor({ state: 'detached' });
    expect(await inaccessible(page)).toEqual([]);
    await rows.filter({ hasText: 'GET /api/leads/{id}' }).click();
    const drawer = page.getByRole('dialog', { name: 'GET /api/leads/{id}' });
    await drawer.getByText('lost-1').waitFor();
    await drawer.getByText('NOT_FOUND').waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await drawer.getByRole('button', { name: 'All requests by Test' }).click();
    await page.getByText('GET /api/webhooks').first().waitFor();
    expect(new URL(page.url()).searchParams.get('actorId')).toMatch(/^[0-9a-f]{24}$/);
    // Not those of the person who looks at it.
    expect(await rows.filter({ hasText: 'Owner' }).count()).toBe(0);
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await rows.filter({ hasText: 'Owner' }).first().waitFor();
  });

  it('shows those of programs, of one key, of an endpoint, and with a code', async () => {
    const { page } = tab;
    const rows = page.getByRole('row');
    const ofPeople = rows.filter({ hasText: 'Owner' });
    const lost = rows.filter({ hasText: 'GET /api/leads/{id}' });
    const invalid = rows.filter({ hasText: 'POST /api/webhooks' });
    const by = page.getByLabel('By', { exact: true });
    await by.selectOption('Programs');
    await ofPeople.first().waitFor({ state: 'detached' });
    await lost.waitFor();
    await by.selectOption('People');
    await lost.waitFor({ state: 'detached' });
    await ofPeople.first().waitFor();
    await by.selectOption('Test');
    await lost.waitFor();
    await page.getByLabel('Path').fill('/api/webhooks');
    await page.getByLabel('Path').press('Enter');
    await lost.waitFor({ state: 'detached' });
    await invalid.waitFor();
    await page.getByRole('button', { name: 'Clear the filters' }).click();
    await ofPeople.first().waitFor();
    await page.getByLabel('Code of the error').fill('NOT_FOUND');
    await page.getByLabel('Code of the error').press('Enter');
    await invalid.waitFor({ state: 'detached' });
    await lost.waitFor();
    expect(await inaccessible(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear the filters' }).click();
  });

  it('fits a phone', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(await inaccessible(page)).toEqual([]);
  });
});
