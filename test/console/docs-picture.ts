import path from 'node:path';
import type { Page } from 'playwright-core';

const DOCS = path.join(import.meta.dirname, '../../docs/console');

/** Takes pictures for the documentation, in light, in dark and on a phone, with `RENEW_PICTURES=1`. */
export async function docsPicture(page: Page, name: string): Promise<void> {
  if (process.env['RENEW_PICTURES'] !== '1') return;
  const take = (suffix: string) =>
    page.screenshot({ path: path.join(DOCS, `${name}${suffix}.png`), caret: 'hide', animations: 'disabled' });
  await take('');
  await page.emulateMedia({ colorScheme: 'dark' });
  await take('-dark');
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 390, height: 844 });
  await take('-phone');
  await page.setViewportSize({ width: 1280, height: 800 });
}
