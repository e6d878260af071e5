import { statesOf } from '#domain/base/phone-area.ts';
import { readPhoneData } from './phone-data.ts';

/** The states and provinces of North American area codes. Read when the process starts, as it takes some 10 ms. */
export const STATES_BY_AREA_CODE: ReadonlyMap<string, string> = statesOf(
  readPhoneData('geocodes', 'en', '1.bson'),
);
