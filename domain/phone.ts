import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * A normalized number of the plan where every number has ten digits: most of what comes, at a hundredth of the cost of
 * parsing it.
 */
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;

/**
 * Normalizes a phone number to E.164; null if it is not a phone number.
 * @param country ISO 3166-1 alpha-2, for numbers without a country code.
 * @param callingCode for example `+49`; takes precedence over `country`.
 */
export function normalizePhone(text: string, country: string, callingCode?: string): string | null {
  if (NORTH_AMERICAN.test(text)) return text;
  const home: CountryCode = isSupportedCountry(country) ? country : 'US';
  const number = parsePhoneNumberFromString(
    text,
    callingCode === undefined ? home : { defaultCallingCode: callingCode.replace('+', '') },
  );
  return number?.isPossible() ? number.number : null;
}
