import { sql } from 'slonik';
import { z } from 'zod';
import { normalizeAddress } from '#domain/address.ts';
import type { TenantDb } from '#db/pool.ts';

/** Who wrote, in the form under which contacts are known; short codes and names are no phone numbers, but they do write. */
export async function contactAddress(db: TenantDb, from: string): Promise<string> {
  const country = await db.oneFirst(sql.type(z.object({ country: z.string() }))`
    select country from workspaces where id = ${db.workspaceId}`);
  return normalizeAddress(from, country) ?? from.trim().toLowerCase();
}
