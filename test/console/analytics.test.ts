import { expect, test } from 'vitest';
import { eventually } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { inaccessible } from './browser.ts';
import { openConsole } from './console-tab.ts';

const tab = openConsole();

test('analytics show the metrics of the period in the address, over time, and export them', async () => {
  const { page, app } = tab;
  const { api, key, lineId } = await createWorkspaceWithLine(app);
  await writeIn(app, { lineId, from: phone(), text: 'Hello' });
  await eventually(async () => (await api('GET', '/api/conversations')).body.conversations.length === 1);
  await tab.signIn(key, `/analytics?period=7&metric=replied&line=${lineId}`);
  const received = page.getByRole('button', { name: /^Messages received/ });
  await received.getByText(/[1-9]/).waitFor();
  expect(await received.getAttribute('aria-pressed')).toBe('true');
  await page.getByRole('heading', { name: 'Messages received by day' }).waitFor();
  const table = page.getByRole('table', { name: 'Metrics of each interval' });
  expect(await table.getAttribute('aria-rowcount')).toBe('8');
  await page.locator('canvas').waitFor();
  // The system turns dark, and light again, while the page is open.
  const drawn = () => page.evaluate(`document.querySelector('canvas').toDataURL()`);
  const light = await drawn();
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(drawn).not.toBe(light);
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(drawn).toBe(light);
  expect(await inaccessible(page)).toEqual([]);
  await page.getByLabel('Period').selectOption('1');
  await page.getByRole('heading', { name: 'Messages received by hour' }).waitFor();
  expect(page.url()).toContain('period=1');
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Export CSV' }).click();
  expect((await saving).suggestedFilename()).toMatch(/^analytics-.*\.csv$/);

  // Nothing is told of a period in which nothing happened, not even zeros for each day.
  await tab.go('/analytics?period=custom&from=2020-01-01&to=2020-01-20');
  await page.getByText('No messages in this period').waitFor();
  expect(await table.count()).toBe(0);
  await tab.go(`/analytics?period=7&line=${lineId}`);
  await table.waitFor();

  // As Chromium has it where `LANG` is `C`.
  await page.addInitScript(
    `Object.defineProperty(navigator, 'language', { value: 'en-US@posix', configurable: true })`,
  );
  await page.reload();
  await page.locator('canvas').waitFor();
});
