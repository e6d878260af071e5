import { storageUsage } from '#db/queries/storage-usage.ts';
import type { ApiPools } from '#db/pools.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';
import { quotaExceeded, type StorageQuota } from '#domain/storage-quota.ts';
import { ApiError } from './http/errors.ts';

/**
 * Called after a transaction has recorded what it stores, to roll it back if the quota is exceeded.
 * @throws STORAGE_QUOTA_EXCEEDED
 */
export async function assertWithinQuota(db: TenantDb, quota: StorageQuota, added = 0): Promise<void> {
  const problem = quotaExceeded(await storageUsage(db), quota, added);
  if (problem !== null) throw new ApiError('STORAGE_QUOTA_EXCEEDED', problem);
}

/**
 * Refuses a file before it is read if the quota is used up. Requests with an idempotency key are let through, because a
 * retry must get the response of the first request.
 */
export async function assertRoom(
  pools: ApiPools,
  workspaceId: string,
  { quota, idempotencyKey }: { quota: StorageQuota; idempotencyKey: string },
): Promise<void> {
  if (idempotencyKey === '') await withTenant(pools, workspaceId, (db) => assertWithinQuota(db, quota, 1));
}
