import { currentTime } from '#domain/clock.ts';
import { findLine, type LineRow } from '#db/queries/lines.ts';
import { type ProbeEffect, recordProbe } from './line-health.ts';
import type { Pools } from '#db/pools.ts';
import { type TenantDb, withTenant } from '#db/transactions.ts';

export interface Probed extends ProbeEffect {
  line: LineRow;
  /** The reason if the probe failed. */
  failure: string | null;
  checkedAt: Date;
}

/**
 * Probes a line and records the result. The carrier is called outside of any transaction.
 * @param onChange runs in the transaction that records the result, for notifications.
 * @returns null if there is no such line.
 */
export async function probeLine(
  pools: Pools,
  { workspaceId, lineId }: { workspaceId: string; lineId: string },
  probe: (line: LineRow) => Promise<void>,
  onChange: (db: TenantDb, line: LineRow, effect: ProbeEffect, now: Date) => Promise<void>,
): Promise<Probed | null> {
  const line = await withTenant(pools, workspaceId, (db) => findLine(db, lineId));
  if (!line) return null;
  const failure = await probe(line).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  );
  const checkedAt = currentTime();
  const effect = await withTenant(pools, workspaceId, async (db) => {
    const recorded = await recordProbe(db, lineId, failure === null, checkedAt);
    if (recorded) await onChange(db, line, recorded, checkedAt);
    return recorded;
  });
  return effect && { ...effect, line, failure, checkedAt };
}
