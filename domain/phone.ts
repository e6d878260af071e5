import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * Normalizes a phone number to E.164; null if it is not a phone number.
 * @param country ISO 3166-1 alpha-2, for numbers without a country code.
 * @param callingCode for example `+49`; takes precedence over `country`.
 */
export function normalizePhone(text: string, country: string, callingCode?: string): string | null {
  const home: CountryCode = isSupportedCountry(country) ? country : 'US';
  const number = parsePhoneNumberFromString(
    text,
    callingCode === undefined ? home : { defaultCallingCode: callingCode.replace('+', '') },
  );
  return number?.isPossible() ? number.number : null;
}
