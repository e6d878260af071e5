import { placeOfRecipient } from '#db/phones/phone-places.ts';
import { findZonesByAddress } from '../contacts/leads.ts';
import { findGroups } from '../inbox/groups.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { PhonePlace } from '#domain/sending/quiet-hours.ts';
import { STATE_RULES } from '#domain/sending/us-quiet-hours.ts';

interface Addressed {
  address: string;
  recipientPhone: string | null;
}

/** The places of the recipients of messages. */
export async function placesOf(
  db: TenantDb,
  messages: readonly Addressed[],
): Promise<(message: Addressed) => PhonePlace> {
  const groups = await findGroups(
    db,
    messages.map(({ address }) => address),
  );
  const places = new Map<string, PhonePlace>();
  for (const [address, { participants }] of groups)
    places.set(address, await placeOfPeople(db, participants));
  return (message) => places.get(message.address) ?? placeOfRecipient(message);
}

/** The place of people who get the same message: all zones of any of them, and a state with rules of its own. */
export async function placeOfPeople(db: TenantDb, people: readonly string[]): Promise<PhonePlace> {
  const homes = await findZonesByAddress(db, people);
  const places = people.map((address) => {
    const place = placeOfRecipient({ address, recipientPhone: null });
    const home = homes.get(address);
    return home === undefined ? place : { ...place, zones: [home] };
  });
  const zones = new Set(places.flatMap((place) => place.zones ?? []));
  const regions = places.flatMap(({ region }) => region ?? []);
  return {
    zones: zones.size > 0 ? [...zones] : null,
    region: regions.find((region) => Object.hasOwn(STATE_RULES, region)) ?? regions[0] ?? null,
  };
}
