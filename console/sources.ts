import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CONSOLE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = join(CONSOLE, '..');
export const DIST = join(CONSOLE, 'dist');
/** In the build: the hash of what it was made from. */
export const STAMP = 'source.sha256';
/** The rules that are part of the build. */
const SHARED = join(ROOT, 'domain/shared');

/**
 * The hash of the console's sources, of the rules that it shares with the API, and of the versions of its packages. All
 * else that it imports are types, which leave no trace in the build.
 */
export async function sourceHash(): Promise<string> {
  const hash = createHash('sha256');
  const sources = (await filesIn(CONSOLE)).filter((file) => !relative(CONSOLE, file).startsWith('dist'));
  for (const file of [...sources, ...(await filesIn(SHARED)), join(ROOT, 'package-lock.json')]) {
    hash.update(`${relative(ROOT, file)}\0`).update(await readFile(file));
  }
  return hash.digest('hex');
}

/** Whether `console/dist` is what the sources say. */
export async function isBuilt(hash?: string): Promise<boolean> {
  const stamp = join(DIST, STAMP);
  return existsSync(stamp) && (await readFile(stamp, 'utf8')) === (hash ?? (await sourceHash()));
}

/** All files below a folder, in a fixed order. */
export async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
