import { currentTime, fromNow } from '#domain/base/clock.ts';
import { hasUnderWay } from '#db/commands/contacts/erase-rows.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type Erasure, findErasure, finishErasure } from '#db/queries/contacts/erasures.ts';
import { draftsOf } from '#db/queries/drafts/ai-drafts.ts';
import { isImporting } from '#db/queries/contacts/lead-imports.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { isNotFound } from '#providers/grpc-status.ts';
import { aiDraftId, contactErasureId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import type { Dependencies } from '../dependencies.ts';
import { createErasurePass } from './erasure-pass.ts';
import { withHeartbeat } from '../base/heartbeat.ts';
import { dueNow, roundOf } from '../base/round.ts';

const ROUND_MS = 60_000;
/** By then, any work that read the contact before the erasure began has written its results. */
const SETTLED_AFTER_MS = 5000;
/** How often to check for open attempts, which are settled within a quarter of an hour. */
const LOOK_EVERY_MS = 2000;

const ERASED: Look = { nextAt: null, reason: 'the contact is erased', ended: true };

export function createContactErasureActivities(
  dependencies: Pick<Dependencies, 'pools' | 'storage' | 'links' | 'secrets' | 'temporal'>,
) {
  const { pools, temporal } = dependencies;
  const erasePass = createErasurePass(dependencies);

  /** Erases what it can. @returns whether it is over, and otherwise when to look again. */
  async function progress(workspaceId: string, erasure: Erasure, mayContinue: () => boolean): Promise<Look> {
    const waits = (): Promise<string | null> =>
      withTenant(pools, workspaceId, (db) => whatWaits(db, erasure));
    const settledAt = new Date(erasure.requestedAt.getTime() + SETTLED_AFTER_MS);
    const isSettled = currentTime() >= settledAt;
    const waitsFor = await waits();
    // The first pass erases what it can; the last one is made when nothing is under way any more.
    const isFirst = erasure.eventsTo === '';
    const isPassDue = isFirst || waitsFor === null;
    if (isPassDue && !(await erasePass(workspaceId, erasure, mayContinue)))
      return dueNow('there is more to erase');
    if (isSettled && waitsFor === null && (await waits()) === null) return ERASED;
    const soon = fromNow(waitsFor === null ? 0 : LOOK_EVERY_MS);
    return {
      nextAt: soon > settledAt ? soon : settledAt,
      reason: waitsFor ?? 'work that was in progress may have stored something new',
    };
  }

  /** The histories of a draft's workflow contain texts that operators entered instead of the draft. */
  async function deleteDraftHistories(workspaceId: string, { pseudonyms }: Erasure): Promise<void> {
    const replyIds = await withTenant(pools, workspaceId, (db) => draftsOf(db, pseudonyms));
    for (const workflowId of replyIds.map(aiDraftId)) {
      // Without a run id, the latest run is deleted, which the list may lack yet; only that one.
      await deleteHistory({ workflowId });
      for await (const { runId } of temporal.workflow.list({ query: `WorkflowId = '${workflowId}'` }))
        await deleteHistory({ workflowId, runId });
    }
  }

  async function deleteHistory(workflowExecution: { workflowId: string; runId?: string }): Promise<void> {
    try {
      const { namespace } = temporal.options;
      await temporal.workflowService.deleteWorkflowExecution({ namespace, workflowExecution });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  return {
    /** Erases what is stored about a contact whose leads are gone already. */
    async eraseContactData({
      workspaceId,
      erasureId,
    }: {
      workspaceId: string;
      erasureId: string;
    }): Promise<Round> {
      return withHeartbeat(async (canceled) => {
        const end = Date.now() + ROUND_MS;
        const mayContinue = (): boolean => !canceled.aborted && Date.now() < end;
        const erasure = await withTenant(pools, workspaceId, (db) => findErasure(db, erasureId));
        if (!erasure) return roundOf(ERASED);
        const look = await progress(workspaceId, erasure, mayContinue);
        if (look.ended) await deleteDraftHistories(workspaceId, erasure);
        const decided = await decide(pools, workspaceId, contactErasureId(erasureId), async (db) => {
          if (look.ended) await finishErasure(db, erasureId);
          return look;
        });
        return roundOf(decided);
      });
    },
  };
}

/** The work that may still store something about the contact; null: none. */
async function whatWaits(db: TenantDb, erasure: Erasure): Promise<string | null> {
  if (await hasUnderWay(db, erasure)) return 'the carrier has not reported the outcome of a message';
  return (await isImporting(db, erasure.id)) ? 'an earlier import is running' : null;
}
