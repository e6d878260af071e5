import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { WorkflowBundle } from '@temporalio/worker';
import { parseOwnJson } from '#domain/base/own-json.ts';

/** A cached bundle, with all files from which it was built. */
export interface CachedBundle extends WorkflowBundle {
  files: readonly string[];
  hash: string;
}

/** npm writes it at the end of an installation. It names the version of the compiler, which is not a file of the bundle. */
const PACKAGES = fileURLToPath(new URL('../node_modules/.package-lock.json', import.meta.url));

/** Stores a bundle in a file. @throws if it cannot be written. */
export async function cacheBundle(
  file: string,
  { code }: WorkflowBundle,
  files: readonly string[],
): Promise<void> {
  const bundle: CachedBundle = { code, files, hash: await hashOf(files) };
  const next = `${file}.${process.pid}`;
  await writeFile(next, JSON.stringify(bundle));
  await rename(next, file);
}

/**
 * @param entry the first file of the bundle.
 * @returns null if there is none, if one of its files has changed, or if it has another entry.
 */
export async function readCachedBundle(file: string, entry: string): Promise<WorkflowBundle | null> {
  try {
    const { code, files, hash } = parseOwnJson(await readFile(file, 'utf8')) as CachedBundle;
    return files.includes(entry) && (await hashOf(files)) === hash ? { code } : null;
  } catch {
    return null;
  }
}

async function hashOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  const contents = await Promise.all([PACKAGES, ...files].map((file) => readFile(file)));
  for (const content of contents) hash.update(`${content.length}\0`).update(content);
  return hash.digest('hex');
}
