import { currentTime } from '#domain/base/clock.ts';
import { findLine, type LineRow } from '#db/queries/lines/lines.ts';
import { type ProbeEffect, recordProbe } from './line-health.ts';
import type { Pools } from '#db/connection/pools.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';

export interface Probed extends ProbeEffect {
  line: LineRow;
  /** The reason if the probe failed. */
  failure: string | null;
  checkedAt: Date;
}

/** Runs in the transaction that records the result of a probe, for notifications. */
export type OnProbed = (
  db: TenantDb,
  line: LineRow,
  effect: ProbeEffect & Pick<Probed, 'failure'>,
  now: Date,
) => Promise<void>;

/**
 * Probes a line and records the result. The carrier is called outside of any transaction.
 * @returns null if there is no such line.
 */
export async function probeLine(
  pools: Pools,
  { workspaceId, lineId }: { workspaceId: string; lineId: string },
  probe: (line: LineRow) => Promise<void>,
  onProbed: OnProbed,
): Promise<Probed | null> {
  const line = await withTenant(pools, workspaceId, (db) => findLine(db, lineId));
  return line && recordProbed(pools, line, await failureOf(() => probe(line)), onProbed);
}

/** @returns the reason if a probe fails. */
export async function failureOf(probe: () => Promise<void>): Promise<string | null> {
  try {
    await probe();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/**
 * Records the result of a probe.
 * @returns null if there is no such line any more.
 */
export async function recordProbed(
  pools: Pools,
  line: LineRow,
  failure: string | null,
  onProbed: OnProbed,
): Promise<Probed | null> {
  const checkedAt = currentTime();
  const effect = await withTenant(pools, line.workspaceId, async (db) => {
    const recorded = await recordProbe(db, line.id, failure === null, checkedAt, failure);
    if (recorded) await onProbed(db, line, { ...recorded, failure }, checkedAt);
    return recorded;
  });
  return effect && { ...effect, line, failure, checkedAt };
}
