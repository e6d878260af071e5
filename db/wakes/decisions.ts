import { currentTime } from '#domain/base/clock.ts';
import { MAX_AGE_MS } from '#workflows/protocol/round.ts';
import type { Pools } from '../connection/pools.ts';
import { NEVER } from '../connection/timestamp.ts';
import { type TenantDb, type TenantOptions, withTenant } from '../connection/transactions.ts';
import type { MessageHold, Seen } from './transaction-wakes.ts';
import { seenWake } from './wakes.ts';

/** The decision of a long-lived workflow after a look at its tables. */
export interface Decision {
  /** When it looks again; null: when somebody wakes it, or the sweep after a month, so that no run becomes too old. */
  nextAt: Date | null;
  /** The workflow may end, unless somebody wakes it. */
  ended?: boolean;
  /**
   * The workflow is not idle: it looks at `nextAt` by itself, within half a minute, and earlier when somebody has
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
 * One look of a long-lived workflow at its tables, in one transaction. It takes no lock that another transaction may
 * need. A wake that commits during the look is found when the decision is written; the decision then says to look again.
 * @param look returns null if there is nothing to decide; nothing is stored then.
 * @returns the decision as stored: `nextAt` may be earlier, and `ended` false.
 */
export async function decide<D extends Decision | null>(
  pools: Pools,
  workspaceId: string,
  workflowId: string,
  look: (db: TenantDb) => Promise<D>,
  options: TenantOptions = {},
): Promise<Looked<D>> {
  const { decision, seen, own, idle } = await withTenant(
    pools,
    workspaceId,
    async (db) => {
      const seen = await seenWake(db, workflowId);
      const decision = await look(db);
      if (!decision || isUpToDate(seen, decision)) return { decision, seen };
      const idle = idleUntil(decision);
      const at = decision.isAtWork ? currentTime() : (decision.nextAt ?? idle);
      const wake = { at, ended: decision.ended ?? false, hold: decision.hold };
      return { decision, seen, own: db.wakes.decide(workspaceId, workflowId, seen, wake), idle };
    },
    options,
  );
  if (!decision) return decision as Looked<D>;
  const { requestedBy } = seen;
  if (!own || decision.isAtWork) return { ...decision, requestedBy } as Looked<D>;
  const looksAgain = own.at < idle;
  return {
    ...decision,
    requestedBy,
    nextAt: looksAgain ? own.at : null,
    ended: own.ended && !looksAgain,
  } as Looked<D>;
}

/** Until when a workflow is idle if nobody wakes it. */
const idleUntil = ({ nextAt, ended }: Decision): Date =>
  nextAt === null && !ended ? new Date(currentTime().getTime() + MAX_AGE_MS) : NEVER;

/** Whether the row says that the workflow must look now. Only the workflow itself can postpone that. */
function isUpToDate({ wakeAt }: Seen, { nextAt, isAtWork }: Decision): boolean {
  const now = currentTime().getTime();
  if (wakeAt === null || wakeAt.getTime() > now || nextAt === null) return false;
  if (isAtWork) return Math.max(now, nextAt.getTime()) - wakeAt.getTime() < REFRESH_MS;
  return nextAt.getTime() <= now && wakeAt <= nextAt;
}
