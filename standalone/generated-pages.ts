import { readFile, writeFile } from 'node:fs/promises';
import { apiChangelog } from './api-changelog.ts';
import { carrierReference } from './carrier-reference.ts';
import { configurationReference } from './configuration-reference.ts';
import { errorReference } from './error-reference.ts';
import { scopeReference } from './scope-reference.ts';

/** `npm run docs` writes them, and `npm run check` compares them. */
const PAGES: Record<string, () => string | Promise<string>> = {
  'docs/api-changelog.md': apiChangelog,
  'docs/carriers.md': carrierReference,
  'docs/configuration.md': configurationReference,
  'docs/errors.md': errorReference,
  'docs/scopes.md': scopeReference,
};

export async function writeGeneratedPages(): Promise<void> {
  for (const [page, generate] of Object.entries(PAGES)) await writeFile(page, await generate());
}

/** The pages that no longer match the code. */
export async function outdatedPages(): Promise<string[]> {
  const outdated: string[] = [];
  for (const [page, generate] of Object.entries(PAGES))
    if ((await readFile(page, 'utf8').catch(() => '')) !== (await generate())) outdated.push(page);
  return outdated;
}
