import { randomUUID } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';

/** Writes a file atomically, readable by its owner only. */
export async function writeSecretFile(file: string, text: string): Promise<void> {
  const partial = `${file}.${randomUUID()}`;
  await writeFile(partial, text, { mode: 0o600 });
  await rename(partial, file);
}
