import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  isSupportedCountry,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';

/**
 * A normalized number of the plan in which every number has ten digits: the most frequent case, at a hundredth of the cost of
 * parsing it.
 */
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;

const CALLING_CODES = new Set(getCountries().map((country) => `+${getCountryCallingCode(country)}`));

/** Whether a country has this calling code, for example `+49`. */
export const isCallingCode = (code: string): boolean => CALLING_CODES.has(code);

/**
 * Normalizes a phone number to E.164; null if it is not a phone number.
 * @param country ISO 3166-1 alpha-2, for numbers without a country code.
 * @param callingCode for example `+49`; takes precedence over `country`.
 */
export function normalizePhone(text: string, country: string, callingCode?: string): string | null {
  if (NORTH_AMERICAN.test(text)) return text;
  if (!mayBeNumber(text)) return null;
  const number = parsePhoneNumberFromString(text, defaultCountryOf(country, callingCode));
  return number?.isPossible() ? number.number : null;
}

/** The digits, and the +, of a searched text in the format in which numbers are displayed, `(415) 555-0123`; null if it has another. */
export const digitsSearched = (text: string): string | null =>
  /^[+\d().\s-]{3,}$/.test(text) && /\d/.test(text) ? text.replaceAll(/[^+\d]/g, '') : null;

/** More than a number with its extension and a word about it; the parser searches a longer text for one. */
const MAX_LENGTH = 80;
/** The digits of the shortest national numbers, in any script. */
const FOUR_DIGITS = /(?:\p{Nd}\P{Nd}*){4}/u;

/** Refuses what cannot be a number, at a hundredth of the cost of parsing it. */
const mayBeNumber = (text: string): boolean => text.length <= MAX_LENGTH && FOUR_DIGITS.test(text);

/** Undefined if no country has the calling code: numbers need one of their own then. */
function defaultCountryOf(
  country: string,
  callingCode?: string,
): CountryCode | { defaultCallingCode: string } | undefined {
  if (callingCode === undefined) return isSupportedCountry(country) ? country : 'US';
  return isCallingCode(callingCode) ? { defaultCallingCode: callingCode.replace('+', '') } : undefined;
}
