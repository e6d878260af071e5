import type { PhonePlace } from '#domain/sending/quiet-hours.ts';
import { callingCodeOf, isGeographic } from '#domain/base/phone-area.ts';
import { US_STATES } from '#domain/sending/us-states.ts';
import { STATE_OF_AREA_CODE } from '#domain/base/area-codes.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import { readPhoneData } from './phone-data.ts';

const NOWHERE: PhonePlace = { zones: null, region: null };

/** The calling code of several countries, whose numbers begin with an area code of three digits. */
const NORTH_AMERICA = '1';

/**
 * Looks up the zones and the state of a number in the data of Google's libphonenumber, by its longest known prefix. A number
 * that is not geographic may be in all zones of its country.
 * @param phone in E.164.
 */
export function placeOf(phone: string): PhonePlace {
  const number = contactKey(phone);
  const digits = number.replace(/^\+/, '');
  const zones = zonesOf(
    digits.startsWith(NORTH_AMERICA) || isGeographic(number) ? digits : (callingCodeOf(number) ?? digits),
  );
  if (!digits.startsWith(NORTH_AMERICA)) return zones === null ? NOWHERE : { zones, region: null };
  const state = STATE_OF_AREA_CODE.get(digits.slice(1, 4));
  return { zones, region: state !== undefined && US_STATES.has(state) ? `US-${state}` : null };
}

/** The place of a message's recipient: from the number it goes to, otherwise from another known number of the recipient. */
export function placeOfRecipient({
  address,
  recipientPhone,
}: {
  address: string;
  recipientPhone: string | null;
}): PhonePlace {
  const phone = address.startsWith('+') ? address : recipientPhone;
  return phone === null ? NOWHERE : placeOf(phone);
}

function zonesOf(digits: string): string[] | null {
  for (let length = digits.length; length > 0; length -= 1) {
    const beginning = digits.slice(0, length);
    const zones = ZONES[beginning];
    // The zones of all of North America, for an area code without a place, such as 800, or one that is newer than the data.
    if (zones !== undefined) return beginning === NORTH_AMERICA ? null : zones.split('&');
  }
  return null;
}

// Read when the process starts, because it takes some milliseconds.
const ZONES = readPhoneData('timezones.bson');
