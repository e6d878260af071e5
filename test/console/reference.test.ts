import { expect, test } from 'vitest';
import { sharedApp } from '#test/support/app.ts';
import { openTab, sharedBrowser } from './browser.ts';

test('the reference page shows a call in curl, TypeScript, Python and the command line, and keeps the choice', async () => {
  const app = await sharedApp({ worker: false });
  const { page, takeProblems } = await openTab(await sharedBrowser());
  // The page has more than a hundred endpoints, whose schemas take a while on a busy machine.
  page.setDefaultTimeout(60_000);
  await page.goto(`${app.url}/docs`);
  const samplesOf = async (id: string) => {
    const operation = page.locator(`[id$="-${id}"]`);
    await operation.locator('.opblock-summary-control').click();
    return operation.locator('.code-samples');
  };
  const send = await samplesOf('sendMessage');
  await expect
    .poll(() => send.getByRole('tab').allTextContents(), { timeout: 30_000 })
    .toEqual(['curl', 'TypeScript', 'Python', 'CLI']);
  await expect
    .poll(() => send.locator('code').textContent(), { timeout: 30_000 })
    .toContain('curl "$LINEPACE_URL/api/messages"');
  await send.getByRole('tab', { name: 'Python' }).click();
  expect(await send.locator('code').textContent()).toContain('linepace.messages.send(');
  const list = await samplesOf('listMessages');
  expect(await list.locator('code').textContent()).toContain('linepace.messages.list(');
  expect(takeProblems()).toEqual([]);
  await page.close();
});
