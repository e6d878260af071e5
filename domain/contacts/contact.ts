import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * A person as a workspace knows them: the addresses of a lead in all forms of their numbers, and every lead that shares one of them, in any
 * list. Leads without a common address are different contacts, even if their names are equal.
 */
export interface Contact {
  readonly addresses: readonly string[];
  readonly leadIds: readonly string[];
}

/** Fewer digits occur in too many other numbers. */
const FEWEST_DIGITS = 6;

/**
 * The substrings by which a text names an address, in any format.
 * @returns `plain`: of lower-cased texts; `digits`: of texts without spaces and punctuation.
 */
export function writtenForms(addresses: readonly string[]): { plain: string[]; digits: string[] } {
  const digits = addresses.flatMap((address) => {
    const national = address.includes('@') ? '' : (parsePhoneNumberFromString(address)?.nationalNumber ?? '');
    return national.length < FEWEST_DIGITS ? [] : [national];
  });
  return { plain: [...addresses], digits: [...new Set(digits)] };
}
