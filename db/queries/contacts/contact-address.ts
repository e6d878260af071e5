import { sql } from 'slonik';
import { z } from 'zod';
import { writtenAddress } from '#domain/base/address.ts';
import { contactKey } from '#domain/base/contact-key.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const CountryRow = z.object({ country: z.string() });

/** The address by which a sender is known. */
export const contactAddress = async (db: TenantDb, from: string): Promise<string> =>
  contactKey(await senderAddress(db, from));

/** The address of a sender as it is stored. Short codes and alphanumeric senders, which are not phone numbers, are lower-cased. */
export async function senderAddress(db: TenantDb, from: string): Promise<string> {
  // Otherwise a short code could be read as a number of the country.
  if (/^\d{3,6}$/.test(from.trim())) return from.trim();
  const country = await db.oneFirst(sql.type(CountryRow)`
    select country from workspaces where id = ${db.workspaceId}`);
  return writtenAddress(from, country) ?? from.trim().toLowerCase();
}
