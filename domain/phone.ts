import { type CountryCode, isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * A phone number in E.164, or null when it is none.
 * @param country ISO 3166-1 alpha-2: the country of a number without a country code.
 * @param callingCode goes before the country where it is given: `+49`.
 */
export function normalizePhone(text: string, country: string, callingCode?: string): string | null {
  const home: CountryCode = isSupportedCountry(country) ? country : 'US';
  const number = parsePhoneNumberFromString(
    text,
    callingCode === undefined ? home : { defaultCallingCode: callingCode.replace('+', '') },
  );
  return number?.isPossible() ? number.number : null;
}
