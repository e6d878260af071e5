import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/** The area of a number, from its digits; null: unknown. */
export interface PhoneArea {
  country: string | null;
  /** In the United States and Canada: the postal code of the state or province, for example `NY`. */
  state: string | null;
  /** The area code of a North American number; null for others. */
  areaCode: string | null;
}

/**
 * @param phone in E.164.
 * @param states postal codes by area code.
 */
export function phoneArea(phone: string, states: ReadonlyMap<string, string>): PhoneArea {
  const country = parsePhoneNumberFromString(phone)?.country ?? null;
  const areaCode = /^\+1(\d{3})/.exec(phone)?.[1] ?? null;
  return { country, areaCode, state: (areaCode !== null && states.get(areaCode)) || null };
}

/** The calling codes of countries whose mobile numbers begin with an area code, as libphonenumber lists them. */
const MOBILE_AREAS = new Set(['52', '54', '55', '62', '86']);

/**
 * Whether the first digits of a number tell its place. Those of mobile numbers tell nothing in most countries, and those of
 * others, such as toll-free ones, nowhere.
 * @param phone in E.164.
 */
export function isGeographic(phone: string): boolean {
  const number = parsePhoneNumberFromString(phone);
  const type = number?.getType();
  if (type === 'FIXED_LINE' || type === 'FIXED_LINE_OR_MOBILE') return true;
  return type === 'MOBILE' && MOBILE_AREAS.has(number?.countryCallingCode ?? '');
}

/** The calling code of a number in E.164, without the +; null if no country has it. */
export const callingCodeOf = (phone: string): string | null =>
  parsePhoneNumberFromString(phone)?.countryCallingCode ?? null;

/** How close two numbers are: 3 for the same area code, 2 for the state, 1 for the country, 0 otherwise. */
export function proximity(a: PhoneArea, b: PhoneArea): 0 | 1 | 2 | 3 {
  if (a.areaCode !== null && a.areaCode === b.areaCode) return 3;
  if (a.state !== null && a.state === b.state) return 2;
  return a.country !== null && a.country === b.country ? 1 : 0;
}

/**
 * The postal codes of states and provinces by area code.
 * @param places the names of places by the first digits of their numbers: `Ontario` of an area code, or `New York, NY` of
 *   one that is a city, and `North York, ON` of the numbers of a city in it. The cities tell the postal code of each name
 *   but that of the capital.
 */
export function statesOf(places: Readonly<Record<string, string>>): Map<string, string> {
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
