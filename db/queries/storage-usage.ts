import { sql } from 'slonik';
import { z } from 'zod';
import type { StorageUsage } from '#domain/storage-quota.ts';
import type { TenantDb } from '#db/pool.ts';

/**
 * What the workspace has stored. In the transaction that stores something, after it did, nobody else stores meanwhile:
 * counting has locked the row.
 */
export async function storageUse(db: TenantDb): Promise<StorageUsage> {
  const use = await db.maybeOne(sql.type(z.object({ total: z.int(), today: z.int() }))`
    select bytes total, case when day = (now() at time zone 'UTC')::date then day_bytes else 0 end today
    from storage_usage where workspace_id = ${db.workspaceId}`);
  return use ?? { total: 0, today: 0 };
}
