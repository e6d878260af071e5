import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import type { Pools } from './pools.ts';
import { NEVER } from './timestamp.ts';
import { systemDb, type TenantDb, withTenant } from './transactions.ts';
import { confirmRest, seenWake } from './wakes.ts';
import { IdRow } from './rows.ts';

/** What a long-lived workflow decides after a look at its tables. */
export interface Decision {
  /** When it looks again; null: not before somebody asks for it. */
  nextAt: Date | null;
  /** It is over for good, unless somebody has asked for a look. */
  ended?: boolean;
}

type Decided<D> = D extends Decision ? Omit<D, keyof Decision> & Decision : D;

/**
 * One look of a long-lived workflow, in one transaction. Nobody waits for it: a request that is committed while it
 * looks is found when the decision is written, and the decision says then that it has to look again.
 * @param look null: there is nothing to decide here, and nothing is stored.
 * @returns the decision with what is stored: `nextAt` may be earlier, and `ended` false.
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
    // The row says already that it has to look now, and only the workflow itself puts that off.
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

/** Transactions are short. One that takes longer than this, anywhere on the server, only has the workflow look again. */
const PATIENCE_MS = 5000;
const POLL_MS = 20;

/**
 * As `decide`, for a workflow that others wake with `wakeUnlessDue`. Who saw that it was to look wrote nothing, and may
 * commit after the look. From the decision on everybody sees that it rests; so once all transactions that began before
 * have ended, one more look finds what they added.
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

/** Waits for the transactions that are under way now. @returns false when one of them takes too long. */
async function othersHaveEnded(pools: Pools): Promise<boolean> {
  const db = systemDb(pools);
  const own = await db.oneFirst(sql.type(IdRow)`select pg_current_xact_id()::text id`);
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const ended = await db.oneFirst(sql.type(EndedRow)`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${own}::xid8 ended`);
    if (ended || Date.now() > end) return ended;
    await pause(POLL_MS);
  }
}
