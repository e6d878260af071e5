import { parsePhoneNumberFromString } from 'libphonenumber-js/max';

/**
 * A person as a workspace knows them: the addresses of a lead, and every lead that shares one of them, in whatever list
 * it is. Leads without a common address are different contacts, however alike their names are.
 */
export interface Contact {
  readonly addresses: readonly string[];
  readonly leadIds: readonly string[];
}

/** Fewer digits stand in too many other numbers. */
const FEWEST_DIGITS = 6;

/**
 * What a text contains that names an address, however it is written there.
 * @returns `plain`: of lower-cased texts; `digits`: of texts without spaces and punctuation.
 */
export function writtenForms(addresses: readonly string[]): { plain: string[]; digits: string[] } {
  const digits = addresses.flatMap((address) => {
    const national = address.includes('@') ? '' : (parsePhoneNumberFromString(address)?.nationalNumber ?? '');
    return national.length < FEWEST_DIGITS ? [] : [national];
  });
  return { plain: [...addresses], digits: [...new Set(digits)] };
}
