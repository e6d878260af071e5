import { sql } from 'slonik';
import { z } from 'zod';
import type { StorageUsage } from '#domain/storage-quota.ts';
import type { TenantDb } from '#db/transactions.ts';

const UsageRow = z.object({ total: z.int(), today: z.int() });

/**
 * The workspace's storage usage. After a transaction has stored a file, the usage row is locked, so the result cannot
 * change until it commits.
 */
export async function storageUsage(db: TenantDb): Promise<StorageUsage> {
  const usage = await db.maybeOne(sql.type(UsageRow)`
    select bytes total, case when day = (now() at time zone 'UTC')::date then day_bytes else 0 end today
    from storage_usage where workspace_id = ${db.workspaceId}`);
  return usage ?? { total: 0, today: 0 };
}
