import { setTimeout as pause } from 'node:timers/promises';
import { sql } from 'slonik';
import { z } from 'zod';
import { currentTime } from '#domain/base/clock.ts';
import { MAX_AGE_MS } from '#workflows/protocol/round.ts';
import type { Pools } from '../connection/pools.ts';
import { NEVER } from '../connection/timestamp.ts';
import { systemDb, type TenantDb, type TenantOptions, withTenant } from '../connection/transactions.ts';
import type { MessageHold, Seen } from './transaction-wakes.ts';
import { confirmRest, seenWake } from './wakes.ts';
import { IdRow } from '../connection/rows.ts';

/** The decision of a long-lived workflow after a look at its tables. */
export interface Decision {
  /** When it looks again; null: when somebody wakes it, or the sweep after a month, so that no run becomes too old. */
  nextAt: Date | null;
  /** The workflow may end, unless somebody wakes it. */
  ended?: boolean;
  /**
   * The workflow does not rest: it looks at `nextAt` by itself, within half a minute, and earlier when somebody has
   * woken it (`requestedSince`). Work that falls due in the meantime sends it no signal.
   */
  isAtWork?: boolean;
  /** For a pacer: until when messages need no look. */
  hold?: MessageHold | undefined;
}

/** A decision about the next round, with what the workflow waits for. */
export interface Look extends Decision {
  reason: string;
}

type Decided<D> = D extends Decision ? Omit<D, keyof Decision> & Decision : D;
/** A decision, with the wakes that were visible when the look began. */
type Looked<D> = D extends Decision ? Decided<D> & Pick<Seen, 'requestedBy'> : D;

/** The sweep considers a workflow lost half a minute after the time at which it should have looked. */
const REFRESH_MS = 15_000;

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
  { unconfirmed = false, ...options }: { unconfirmed?: boolean } & TenantOptions = {},
): Promise<Looked<D>> {
  const { decision, seen, own, rest } = await withTenant(
    pools,
    workspaceId,
    async (db) => {
      const seen = await seenWake(db, workflowId);
      const decision = await look(db);
      if (!decision || saysAlready(seen, decision)) return { decision, seen };
      const rest = restOf(decision);
      const at = decision.isAtWork ? currentTime() : (decision.nextAt ?? rest);
      const wake = { at, ended: decision.ended ?? false, unconfirmed, hold: decision.hold };
      return { decision, seen, own: db.wakes.decide(workspaceId, workflowId, seen, wake), rest };
    },
    options,
  );
  if (!decision) return decision as Looked<D>;
  const { requestedBy } = seen;
  if (!own || decision.isAtWork) return { ...decision, requestedBy } as Looked<D>;
  const looksAgain = own.at < rest;
  return {
    ...decision,
    requestedBy,
    nextAt: looksAgain ? own.at : null,
    ended: own.ended && !looksAgain,
  } as Looked<D>;
}

/** Until when a workflow rests if nobody wakes it. */
const restOf = ({ nextAt, ended }: Decision): Date =>
  nextAt === null && !ended ? new Date(currentTime().getTime() + MAX_AGE_MS) : NEVER;

/** Whether the row says that the workflow must look now. Only the workflow itself can postpone that. */
function saysAlready({ wakeAt }: Seen, { nextAt, isAtWork }: Decision): boolean {
  const now = currentTime().getTime();
  if (wakeAt === null || wakeAt.getTime() > now || nextAt === null) return false;
  if (isAtWork) return Math.max(now, nextAt.getTime()) - wakeAt.getTime() < REFRESH_MS;
  return nextAt.getTime() <= now && wakeAt <= nextAt;
}

/** Transactions are short. If one takes longer than this, anywhere on that server, the workflow looks again. */
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
  if (restsUntil.getTime() <= currentTime().getTime()) return decided;
  if (!(await othersHaveEnded(pools, workspaceId, workflowId))) return { ...decided, nextAt: currentTime() };
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

/**
 * Waits for all current transactions to end, at the server that has the workflow's wake and its work: on a cluster, each node
 * has ids of its own, and the coordinator commits before the nodes do. A select from the wake runs there.
 * @returns false if one of them takes too long, or the wake is gone.
 */
async function othersHaveEnded(pools: Pools, workspaceId: string, workflowId: string): Promise<boolean> {
  const db = systemDb(pools);
  const there = sql.fragment`
    from workflow_wakes where workspace_id = ${workspaceId} and workflow_id = ${workflowId}`;
  const own = await db.maybeOneFirst(sql.type(IdRow)`select pg_current_xact_id()::text id ${there}`);
  if (own === null) return false;
  const end = Date.now() + TRANSACTIONS_TIMEOUT_MS;
  for (;;) {
    const ended = await db.maybeOneFirst(sql.type(EndedRow)`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${own}::xid8 ended ${there}`);
    if (ended !== false || Date.now() > end) return ended === true;
    await pause(POLL_MS);
  }
}
