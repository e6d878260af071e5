import { sql } from 'slonik';
import { z } from 'zod';
import { normalizeAddress } from '#domain/address.ts';
import type { TenantDb } from '#db/transactions.ts';

const CountryRow = z.object({ country: z.string() });

/** The canonical address of a sender. Short codes and alphanumeric senders, which are not phone numbers, are lower-cased. */
export async function contactAddress(db: TenantDb, from: string): Promise<string> {
  const country = await db.oneFirst(sql.type(CountryRow)`
    select country from workspaces where id = ${db.workspaceId}`);
  return normalizeAddress(from, country) ?? from.trim().toLowerCase();
}
