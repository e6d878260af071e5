import type { Pools } from './pools.ts';
import { NEVER } from './timestamp.ts';
import { type TenantDb, withTenant } from './transactions.ts';
import { seenWake } from './wakes.ts';

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
): Promise<Decided<D>> {
  const { decision, own } = await withTenant(pools, workspaceId, async (db) => {
    const seen = await seenWake(db, workflowId);
    const decision = await look(db);
    if (!decision) return { decision };
    const at = decision.nextAt ?? NEVER;
    // The row says already that it has to look now, and only the workflow itself puts that off.
    if (at.getTime() <= Date.now() && seen.wakeAt !== null && seen.wakeAt <= at) return { decision };
    const wake = { at, ended: decision.ended ?? false };
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
