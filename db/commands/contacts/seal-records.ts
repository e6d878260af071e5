import { realTime } from '#domain/base/clock.ts';
import { workspacesIn } from '#db/queries/operations/workspaces-in.ts';
import { insertSeals, lastSeal, unsealed } from '#db/queries/contacts/record-seals.ts';
import type { Pools } from '#db/connection/pools.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import {
  linkText,
  type Sealable,
  sealedText,
  SealKind,
  type StoredSeal,
} from '#domain/contacts/record-seal.ts';

/** In one transaction. */
const BATCH = 500;
const TABLES = ['audit_log', 'consents', 'attempts'];

/**
 * Seals what was recorded in all workspaces since the last time, until nothing is left or `mayContinue` returns false.
 * @param onFailure called for each workspace that fails; the next run continues.
 * @returns how many records.
 */
export async function sealRecords(
  pools: Pools,
  mayContinue: () => boolean,
  onFailure: (workspaceId: string, error: unknown) => void,
): Promise<number> {
  const ids = new Set<string>();
  for (const table of TABLES) for (const id of await workspacesIn(systemDb(pools), table)) ids.add(id);
  let sealed = 0;
  for (const workspaceId of ids) {
    try {
      sealed += await sealWorkspace(pools, workspaceId, mayContinue);
    } catch (error) {
      onFailure(workspaceId, error);
    }
  }
  return sealed;
}

/** @returns how many records. */
export async function sealWorkspace(
  pools: Pools,
  workspaceId: string,
  mayContinue: () => boolean,
): Promise<number> {
  let sealed = 0;
  for (let count = BATCH; count > 0 && mayContinue(); sealed += count)
    count = await withTenant(pools, workspaceId, sealSome);
  return sealed;
}

/** @returns how many records; 0: all have seals, or this process cannot make any. */
async function sealSome(db: TenantDb): Promise<number> {
  const records: Sealable[] = [];
  for (const kind of SealKind.options)
    if (records.length < BATCH) records.push(...(await unsealed(db, kind, BATCH - records.length)));
  if (records.length === 0) return 0;
  const digests = await db.addressHashes.of(db.workspaceId, records.map(sealedText));
  if (!digests) return 0;
  let last: Pick<StoredSeal, 'position' | 'hash'> | null = await lastSeal(db);
  const seals: Omit<StoredSeal, 'sealedAt'>[] = [];
  for (const [index, { kind, id }] of records.entries()) {
    const link = {
      position: (last?.position ?? 0) + 1,
      previous: last?.hash ?? '',
      digest: digests[index] ?? '',
    };
    const [hash = ''] = (await db.addressHashes.of(db.workspaceId, [linkText(link)])) ?? [];
    const seal = { ...link, kind, recordId: id, hash };
    seals.push(seal);
    last = seal;
  }
  await insertSeals(db, seals, realTime());
  return seals.length;
}
