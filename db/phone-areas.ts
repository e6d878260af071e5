import { statesOf } from '#domain/phone-area.ts';
import { readPhoneData } from './phone-data.ts';

let states: ReadonlyMap<string, string> | null = null;

/** The states and provinces of North American area codes. Read at the first use. */
export function statesByAreaCode(): ReadonlyMap<string, string> {
  return (states ??= statesOf(readPhoneData('geocodes', 'en', '1.bson')));
}
