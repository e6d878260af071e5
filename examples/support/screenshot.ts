import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Disables everything that makes network requests in the background. */
const FLAGS = [
  '--headless',
  '--disable-gpu',
  '--no-sandbox',
  '--no-first-run',
  '--hide-scrollbars',
  '--disable-sync',
  '--disable-background-networking',
  '--disable-component-update',
];

/**
 * Saves a screenshot of a page as PNG, taken by Chromium with a temporary profile.
 * @param flags additional flags, for example `--virtual-time-budget=20000` for a page that loads data.
 */
export function takeScreenshot(
  chromium: string,
  url: string,
  file: string,
  { width, height, flags = [] }: { width: number; height: number; flags?: readonly string[] },
): void {
  const profile = mkdtempSync(join(tmpdir(), 'linepace-chromium-'));
  const args = [`--user-data-dir=${profile}`, `--window-size=${width},${height}`, `--screenshot=${file}`];
  try {
    execFileSync(chromium, [...FLAGS, ...args, ...flags, url], {
      stdio: 'ignore',
      timeout: 60_000,
      killSignal: 'SIGKILL',
    });
  } finally {
    rmSync(profile, { recursive: true, force: true });
  }
  console.log(file);
}
