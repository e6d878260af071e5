import { type FragmentSqlToken, sql } from 'slonik';
import { z } from 'zod';
import { placeOf } from '#db/phones/phone-places.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { PhonePlace } from '#domain/sending/quiet-hours.ts';

const PlaceRow = z.object({ timezone: z.string().nullable(), digits: z.string().nullable(), count: z.int() });

/** The longest country code has three digits, as has an area code of North America. */
const DIGITS = 4;

/**
 * The places of leads: from their time zones, otherwise from the first digits of their numbers.
 * @param leads a query for `lead_id`; null: there are none.
 */
export async function leadPlaces(
  db: TenantDb,
  leads: FragmentSqlToken | null,
): Promise<(PhonePlace & { count: number })[]> {
  if (!leads) return [];
  const rows = await db.any(sql.type(PlaceRow)`
    select l.timezone, left(l.phones[1], ${DIGITS + 1}) digits, count(*)
    from (${leads}) a join leads l on l.workspace_id = ${db.workspaceId} and l.id = a.lead_id
    group by 1, 2`);
  return rows.map(({ timezone, digits, count }) => {
    const place = digits === null ? { zones: null, region: null } : placeOf(digits);
    return { ...place, ...(timezone !== null && { zones: [timezone] }), count };
  });
}
