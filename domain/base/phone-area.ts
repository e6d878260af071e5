import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { STATE_OF_AREA_CODE } from './area-codes.ts';

/** The area of a number, from its digits; null: unknown. */
export interface PhoneArea {
  country: string | null;
  /** In the United States and Canada: the postal code of the state or province, for example `NY`. */
  state: string | null;
  /** The area code of a North American number; null for others. */
  areaCode: string | null;
}

/** @param phone in E.164. */
export function phoneArea(phone: string): PhoneArea {
  const country = parsePhoneNumberFromString(phone)?.country ?? null;
  const areaCode = /^\+1(\d{3})/.exec(phone)?.[1] ?? null;
  return { country, areaCode, state: (areaCode !== null && STATE_OF_AREA_CODE.get(areaCode)) || null };
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
