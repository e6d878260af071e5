import { hasIdempotencyKey } from '#db/queries/accounts/idempotency.ts';
import { storageUsage } from '#db/queries/messages/storage-usage.ts';
import type { ApiPools } from '#db/connection/pools.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import type { CallerWorkspace } from '#domain/accounts/caller.ts';
import { isUnpaidTest } from '#domain/billing/entitlement.ts';
import { quotaExceeded, type StorageQuota, unpaidTestQuota } from '#domain/messages/storage-quota.ts';
import { ApiError } from '#api/http/errors.ts';

/** What the workspace of a caller may store. */
export const quotaOf = (workspace: CallerWorkspace, quota: StorageQuota): StorageQuota =>
  isUnpaidTest(workspace) ? unpaidTestQuota(quota) : quota;

/**
 * Called after a transaction has recorded what it stores, to roll it back if the quota is exceeded.
 * @throws STORAGE_QUOTA_EXCEEDED
 */
export async function assertWithinQuota(db: TenantDb, quota: StorageQuota, added = 0): Promise<void> {
  const problem = quotaExceeded(await storageUsage(db), quota, added);
  if (problem !== null) throw new ApiError('STORAGE_QUOTA_EXCEEDED', problem);
}

/**
 * Refuses a file before it is read if the quota is used up. A retry must get the response of the first request, so a request
 * whose idempotency key is known is let through.
 */
export async function assertRoom(
  pools: ApiPools,
  workspaceId: string,
  { quota, route, idempotencyKey }: { quota: StorageQuota; route: string; idempotencyKey: string },
): Promise<void> {
  await withTenant(pools, workspaceId, async (db) => {
    if (idempotencyKey !== '' && (await hasIdempotencyKey(db, route, idempotencyKey))) return;
    await assertWithinQuota(db, quota, 1);
  });
}
