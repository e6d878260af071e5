import type { PhonePlace } from '#domain/quiet-hours.ts';
import { US_STATES } from '#domain/us-states.ts';
import { readPhoneData } from './phone-data.ts';

const NOWHERE: PhonePlace = { zones: null, region: null };

/** The calling code of several countries, whose numbers begin with an area code of three digits. */
const NORTH_AMERICA = '1';

/**
 * Looks up the zones and the state of a number in the data of Google's libphonenumber, by its longest known beginning.
 * @param phone in E.164.
 */
export function placeOf(phone: string): PhonePlace {
  const digits = phone.replace(/^\+/, '');
  const zones = zonesOf(digits);
  if (!digits.startsWith(NORTH_AMERICA)) return zones === null ? NOWHERE : { zones, region: null };
  const region = STATES.get(digits.slice(1, 4)) ?? null;
  return { zones, region };
}

/** Where the recipient of a message is: by the number it goes to, else by the other number known of the recipient. */
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
    // Of all of North America: an area code without a place, such as 800, or one that is newer than the data.
    if (zones !== undefined) return beginning === NORTH_AMERICA ? null : zones.split('&');
  }
  return null;
}

type Prefixes = Record<string, string>;

const NAMED_OTHERWISE: Prefixes = {
  'Washington State': 'Washington',
  'Washington D.C.': 'District of Columbia',
};

// Read when the process starts, because it takes 70 ms.
const ZONES = readPhoneData('timezones.bson');
const STATES = statesByAreaCode(readPhoneData('geocodes', 'en', `${NORTH_AMERICA}.bson`));

/** The data says `Florida` of an area code, or `New York, NY` of one that is a city. No area code is of two states. */
function statesByAreaCode(places: Prefixes): Map<string, string> {
  const codes = new Map(Object.entries(US_STATES).map(([code, name]) => [name, code]));
  const states = new Map<string, string>();
  for (const [area, place] of Object.entries(places)) {
    if (area.length !== 3) continue;
    const ending = /, ([A-Z]{2})$/.exec(place)?.[1];
    const code = ending ?? codes.get(NAMED_OTHERWISE[place] ?? place);
    if (code !== undefined && Object.hasOwn(US_STATES, code)) states.set(area, `US-${code}`);
  }
  return states;
}
