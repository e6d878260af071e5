import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import type { Pools } from './pools.ts';
import { NEVER } from './timestamp.ts';
import { systemDb, type TenantDb, withTenant } from './transactions.ts';
import { confirmRest, seenWake } from './wakes.ts';
import { IdRow } from './rows.ts';

/** The decision of a long-lived workflow after a look at its tables. */
export interface Decision {
  /** When it looks again; null: not until somebody wakes it. */
  nextAt: Date | null;
  /** The workflow may end, unless somebody wakes it. */
  ended?: boolean;
}

type Decided<D> = D extends Decision ? Omit<D, keyof Decision> & Decision : D;

/**
 * One look of a long-lived workflow at its tables, in one transaction that locks nothing others wait for. A wake that
 * commits during the look is found when the decision is written; the decision then says to look again.
 * @param look returns null if there is nothing to decide; nothing is stored then.
 * @returns the decision as stored: `nextAt` may be earlier, and `ended` false.
 */
export async function decide<D extends Decision | null>(
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  look: (db: TenantDb) => Promise<D>,
  { unconfirmed = false }: { unconfirmed?: boolean } = {},
): Promise<Decided<D>> {
  const { decision, own } = await withTenant(pools, workspaceId, async (db) => {
    const seen = await seenWake(db, workflowId);
    const decision = await look(db);
    if (!decision) return { decision };
    const at = decision.nextAt ?? NEVER;
    // The row already says to look now, and only the workflow itself can postpone that.
    if (at.getTime() <= Date.now() && seen.wakeAt !== null && seen.wakeAt <= at) return { decision };
    const wake = { at, ended: decision.ended ?? false, unconfirmed };
    return { decision, own: db.wakes.decide(workspaceId, workflowId, seen, wake) };
  });
  if (!own) return decision as Decided<D>;
  const looksAgain = own.at < NEVER;
  return {
    ...decision,
    nextAt: looksAgain ? own.at : null,
    ended: own.ended && !looksAgain,
  } as Decided<D>;
}

/** Transactions are short. If one takes longer than this, anywhere on the server, the workflow looks again. */
const TRANSACTIONS_TIMEOUT_MS = 5000;
const POLL_MS = 20;

/**
 * Like `decide`, for a workflow that others wake with `wakeUnlessDue`. A transaction that saw the workflow at work wrote no
 * wake, and may commit after the look. Once the decision is stored, new transactions see that the workflow rests. So
 * after all earlier transactions have ended, one more look finds what they added.
 */
export async function decideToRest<D extends Decision>(
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  look: (db: TenantDb) => Promise<D>,
): Promise<Decided<D>> {
  const decided = await decide(pools, workspaceId, workflowId, look, { unconfirmed: true });
  const restsUntil = decided.nextAt ?? NEVER;
  if (restsUntil.getTime() <= Date.now()) return decided;
  if (!(await othersHaveEnded(pools))) return { ...decided, nextAt: new Date() };
  const found = await withTenant(pools, workspaceId, async (db) => {
    const found = await look(db);
    if (found.nextAt === null || found.nextAt >= restsUntil) {
      await confirmRest(db, workflowId);
      return null;
    }
    db.wakes.request(workspaceId, workflowId, found.nextAt);
    return found;
  });
  return (found as Decided<D> | null) ?? decided;
}

const EndedRow = z.object({ ended: z.boolean() });

/** Waits for all current transactions to end. @returns false if one of them takes too long. */
async function othersHaveEnded(pools: Pools): Promise<boolean> {
  const db = systemDb(pools);
  const own = await db.oneFirst(sql.type(IdRow)`select pg_current_xact_id()::text id`);
  const end = Date.now() + TRANSACTIONS_TIMEOUT_MS;
  for (;;) {
    const ended = await db.oneFirst(sql.type(EndedRow)`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${own}::xid8 ended`);
    if (ended || Date.now() > end) return ended;
    await pause(POLL_MS);
  }
}
