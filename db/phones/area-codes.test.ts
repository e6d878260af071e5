import { expect, test } from 'vitest';
import { STATE_OF_AREA_CODE } from '#domain/base/area-codes.ts';
import { readPhoneData } from './phone-data.ts';

test('area codes are in the states that libphonenumber names', () => {
  expect(Object.fromEntries(STATE_OF_AREA_CODE)).toEqual(
    Object.fromEntries(statesOf(readPhoneData('geocodes', 'en', '1.bson'))),
  );
});

/**
 * The postal codes of states and provinces by area code.
 * @param places the names of places by the first digits of their numbers: `Ontario` of an area code, or `New York, NY` of
 *   one that is a city, and `North York, ON` of the numbers of a city in it. The cities tell the postal code of each name
 *   but that of the capital.
 */
function statesOf(places: Readonly<Record<string, string>>): Map<string, string> {
  const states = new Map<string, string>();
  const names = new Map<string, string>();
  for (const [digits, place] of Object.entries(places)) {
    if (digits.length === 3) names.set(digits, place);
    const code = /, ([A-Z]{2})$/.exec(place)?.[1];
    if (code !== undefined && digits.length >= 3) states.set(digits.slice(0, 3), code);
  }
  const codes = new Map([['Washington D.C.', 'DC']]);
  for (const [areaCode, name] of names) {
    const code = states.get(areaCode);
    if (code !== undefined && !name.includes(',')) codes.set(name, code);
  }
  for (const [areaCode, name] of names) {
    const code = states.get(areaCode) ?? codes.get(name);
    if (code !== undefined) states.set(areaCode, code);
  }
  return states;
}
