import { inWorkspace } from '#db/queries/accounts/agency.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { keepPausedAmong } from '#db/commands/campaigns/lead-pauses.ts';
import { discardWaitingDraft } from '#db/commands/drafts/ai-drafts.ts';
import type { Pools } from '#db/connection/pools.ts';
import {
  deleteWake,
  findSetAside,
  forgetFailures,
  SENDING,
  type SetAsideRow,
} from '#db/queries/operations/set-aside.ts';
import { fail } from '#db/commands/sending/failures.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { retrySetAside } from '#db/queries/sending/sends.ts';
import { type TenantDb, withSystem } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { NewAuditEntry } from '#domain/accounts/audit.ts';
import { currentTime } from '#domain/base/clock.ts';

/** What an operator decides about work that is set aside. */
export type SetAsideAction = 'retry' | 'drop';

/**
 * The work is tried again, or given up, as the audit log of its workspace records. Its run must be ended then (`endSetAside`), if `endsRun`.
 * @returns null: there is none with this id.
 */
export async function settleSetAside(
  pools: Pools,
  id: string,
  action: SetAsideAction,
  author: Pick<NewAuditEntry, 'actor' | 'channel' | 'reason'>,
): Promise<(SetAsideRow & { endsRun: boolean }) | null> {
  return withSystem(pools, async (db) => {
    const work = await findSetAside(db, id);
    if (!work) return null;
    const { workspaceId, workflowId, activity, subject } = work;
    const { replyId, messageId } = subject;
    const isMessage = activity === SENDING && typeof messageId === 'string';
    if (isMessage) await settleMessage(inWorkspace(db, { id: workspaceId }), messageId, work, action);
    if (action === 'drop' && typeof replyId === 'string')
      await discardWaitingDraft(inWorkspace(db, { id: workspaceId }), replyId, currentTime());
    if (action === 'drop' && !isMessage) await deleteWake(db, work);
    await forgetFailures(db, work);
    await insertAuditEntry(
      { db, workspaceId },
      {
        ...author,
        action: action === 'drop' ? 'set_aside.dropped' : 'set_aside.retried',
        target: isMessage ? { type: 'message', id: messageId } : { type: 'workflow', id: workflowId },
        changes: { activity },
      },
    );
    return { ...work, endsRun: !isMessage };
  });
}

/** Its line goes on with the others meanwhile, so its run needs no end. */
async function settleMessage(
  db: TenantDb,
  id: string,
  { workflowId, reason }: SetAsideRow,
  action: SetAsideAction,
): Promise<void> {
  const now = currentTime();
  await lockSequences(db, [id]);
  const message = await findMessage(db, id);
  if (!message) return;
  if (action === 'drop') return fail(db, message, reason, now);
  await retrySetAside(db, id);
  await keepPausedAmong(db, [id]);
  wake(db, workflowId, now, 'messagesDue');
}
