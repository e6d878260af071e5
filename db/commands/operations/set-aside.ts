import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { discardWaitingDraft } from '#db/commands/drafts/ai-drafts.ts';
import type { Pools } from '#db/connection/pools.ts';
import {
  deleteWake,
  findSetAside,
  forgetFailures,
  type SetAsideRow,
} from '#db/queries/operations/set-aside.ts';
import { withSystem } from '#db/connection/transactions.ts';
import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import { currentTime } from '#domain/base/clock.ts';

/** What an operator decides about work that is set aside. */
export type SetAsideAction = 'retry' | 'drop';

/**
 * The work is tried again, or given up, as the audit log of its workspace records. Its run must be ended then (`endSetAside`).
 * @returns null: there is none with this id.
 */
export async function settleSetAside(
  pools: Pools,
  id: string,
  action: SetAsideAction,
  author: Pick<NewAuditEntry, 'actor' | 'channel' | 'reason'>,
): Promise<SetAsideRow | null> {
  return withSystem(pools, async (db) => {
    const work = await findSetAside(db, id);
    if (!work) return null;
    const { workspaceId, workflowId, activity, subject } = work;
    const { replyId } = subject;
    if (action === 'drop' && typeof replyId === 'string')
      await discardWaitingDraft(inWorkspace(db, { id: workspaceId }), replyId, currentTime());
    if (action === 'drop') await deleteWake(db, work);
    await forgetFailures(db, work);
    await insertAuditEntry(
      { db, workspaceId },
      {
        ...author,
        action: action === 'drop' ? 'set_aside.dropped' : 'set_aside.retried',
        target: { type: 'workflow', id: workflowId },
        changes: { activity },
      },
    );
    return work;
  });
}
