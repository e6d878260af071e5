import {
  type CountryCode,
  getCountries,
  getCountryCallingCode,
  isSupportedCountry,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/max';
import { contactKey } from './contact-key.ts';
import { normalize } from './text.ts';

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
  if (NORTH_AMERICAN.test(text)) return hasOneDigit(text.slice(2)) ? null : text;
  const trimmed = text.trim();
  // Before any pattern, which may not be linear. Keyboards of East Asia write `＋` and digits twice as wide.
  const readable = trimmed.length <= MAX_LENGTH ? normalize(trimmed, 'NFKC', MAX_LENGTH) : null;
  const written = readable === null ? null : wholeNumber(readable);
  if (written === null || !mayBeNumber(written) || LETTER_AS_DIGIT.test(written)) return null;
  // Unlike a country, a calling code says nothing of what is dialled before the code of another.
  const abroad = callingCode === undefined ? null : fromAbroad(written, callingCode);
  if (abroad !== null) return abroad;
  const defaultCountry = defaultCountryOf(country, callingCode);
  const national = parsePhoneNumberFromString(written, defaultCountry);
  const number = national && (withoutPlus(written, national) ?? national);
  if (!number || hasOneDigit(number.nationalNumber)) return null;
  if (number.isPossible()) return number.number;
  return (
    formerForm(number.number) ?? fromAbroad(written) ?? (written === readable ? null : ofQuantity(written))
  );
}

/** Longer than a national number with a digit too many. */
const MIN_INTERNATIONAL = 12;

/** A number that a program took for a quantity, and so without its +: `4915112345678.0` in a list of Americans. */
function ofQuantity(text: string): string | null {
  const digits = text.replaceAll(/\D/g, '');
  return digits.length >= MIN_INTERNATIONAL && isLikelyNumber(`+${digits}`) ? `+${digits}` : null;
}

/**
 * Most of the world dials `00` before the code of a country, and writes numbers so, also for readers who dial something else.
 * @param callingCode behind which also a number counts that its plan does not contain: it would have the code twice otherwise.
 */
function fromAbroad(text: string, callingCode?: string): string | null {
  const [, rest] = /^[^\p{Nd}+]*00(\p{Nd}.*|\s.*)$/su.exec(text) ?? [];
  const phone = rest === undefined ? null : normalizePhone(`+${rest.trimStart()}`, 'US');
  if (phone === null) return null;
  const isExpected = callingCode !== undefined && phone.startsWith(callingCode);
  return isExpected || isLikelyNumber(phone) ? phone : null;
}

/** Prefixes of trunks and of mobile numbers that people and exports keep behind the country code. */
const TRUNKS: readonly [form: RegExp, number: string][] = [
  [/^\+52(?:01|044|045)(\d{10})$/, '+52$1'],
  [/^\+549([1-3]\d{11})$/, '+54$1'],
];

/** A number that the numbering plan of today does not contain, but another form of which it does. @param number E.164. */
function formerForm(number: string): string | null {
  const key = contactKey(number);
  if (key !== number) return parsePhoneNumberFromString(key)?.isPossible() ? number : null;
  const trunk = TRUNKS.find(([form]) => form.test(number));
  const parsed = trunk && parsePhoneNumberFromString(number.replace(trunk[0], trunk[1]));
  return parsed?.isPossible() && parsed.number !== number ? parsed.number : null;
}

/**
 * The number of a text that begins with the calling code of its country but lacks the +, such as 4915112345678. Exports write
 * numbers so. National numbers that begin with the same digits are rare, and people write them with the prefix 0.
 */
function withoutPlus(text: string, { countryCallingCode }: PhoneNumber): PhoneNumber | null {
  // Exports write `="4915112345678"`, so that spreadsheets take it for a text.
  const digits = text.replace(/^[^\p{Nd}+]+/u, '');
  if (!digits.startsWith(countryCallingCode)) return null;
  const international = parsePhoneNumberFromString(`+${digits}`);
  return international?.isValid() ? international : null;
}

/** Whether a number can exist, as far as is known of the numbering plan of its country. @param phone E.164. */
export const isLikelyNumber = (phone: string): boolean =>
  parsePhoneNumberFromString(contactKey(phone))?.isValid() ?? false;

/** The digits that all forms of a number have in common: without a country code, or with a prefix that a carrier adds. */
const COMMON_DIGITS = 8;

/**
 * Whether two forms of numbers, as carriers and phones write them, may belong to one subscriber. Those with a country code are compared as
 * a whole, others by their ends: whoever takes two messages for one, or one for two, loses a message or sends it twice.
 */
export function mayBeSameNumber(a: string, b: string): boolean {
  const [endOfA, endOfB] = [a, b].map((number) => number.replaceAll(/\D/g, '').slice(-COMMON_DIGITS));
  if (endOfA === '' || endOfA !== endOfB) return false;
  const [ofA, ofB] = [a, b].map((number) => {
    const whole = number.startsWith('+') ? normalizePhone(number, 'US') : null;
    return whole && { key: contactKey(whole), isLikely: isLikelyNumber(whole) };
  });
  if (!ofA || !ofB || ofA.key === ofB.key) return true;
  // A prefix makes a number longer.
  return ofA.key.length !== ofB.key.length && !(ofA.isLikely && ofB.isLikely);
}

/** The address of a contact if it is a phone number. */
export const phoneOf = (address: string): string | null => (/^\+\d+$/.test(address) ? address : null);

/** A placeholder such as 000-0000. */
const hasOneDigit = (national: string): boolean => /^(\d)\1*$/.test(national);

/** A number as a spreadsheet or a data frame writes a quantity: with a fraction, or as a power of ten. */
const FRACTION = /^\s*(\+?[\d ()-]{7,})\.(0+|\d{1,2})\s*$/;
/** A number in groups of thousands. */
const GROUPED = /^\s*\d{1,3}(?:[.,' ]\d{3}){2,}(?:[.,]0+)?\s*$/;
const POWER = /^\s*(\d)[.,](\d+)e\+?(\d{1,2})\s*$/i;

/** The text of a number before a program took it for a quantity; null if digits are lost. */
function wholeNumber(text: string): string | null {
  const [, first = '', digits = '', exponent = ''] = POWER.exec(text) ?? [];
  if (first !== '') return digits.length === Number(exponent) ? first + digits : null;
  if (GROUPED.test(text)) return text.replace(/[.,]0{1,2}\s*$/, '').replaceAll(/\D/g, '');
  const [, whole, fraction] = FRACTION.exec(text) ?? [];
  if (whole === undefined) return text;
  return Number(fraction) === 0 ? whole : null;
}

/** The digits, and the +, of a searched text in the format in which numbers are displayed, `(415) 555-0123`; null if it has another. */
export const digitsSearched = (text: string): string | null =>
  /^[+\d().\s-]{3,}$/.test(text) && /\d/.test(text) ? text.replaceAll(/[^+\d]/g, '') : null;

/** More than a number with its extension and a word about it; the parser searches a longer text for one. */
const MAX_LENGTH = 80;
/** The digits of the shortest national numbers, in any script. */
const FOUR_DIGITS = /(?:\p{Nd}\P{Nd}*){4}/u;

/** Without it, the number would be another one. */
const LETTER_AS_DIGIT = /\p{Nd}[OoIl](?!\p{L})/u;

/** Refuses what cannot be a number, at a hundredth of the cost of parsing it. */
const mayBeNumber = (text: string): boolean => FOUR_DIGITS.test(text);

/** Whether a code names a country that has telephone numbers. */
export const isCountry = (code: string): boolean => isSupportedCountry(code);

/** Undefined if no country has the calling code: numbers need one of their own then. */
function defaultCountryOf(
  country: string,
  callingCode?: string,
): CountryCode | { defaultCallingCode: string } | undefined {
  if (callingCode === undefined) return isSupportedCountry(country) ? country : 'US';
  return isCallingCode(callingCode) ? { defaultCallingCode: callingCode.replace('+', '') } : undefined;
}
