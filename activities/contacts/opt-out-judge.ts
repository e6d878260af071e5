import { currentTime } from '#domain/base/clock.ts';
import { applyVerdict } from '#db/commands/contacts/opt-out-verdicts.ts';
import { type AwaitedVerdict, awaitedVerdicts } from '#db/queries/contacts/opt-out-suspicions.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { VerdictOutput, verdictPrompt } from '#domain/contacts/opt-out-verdict.ts';
import { optOutJudgeId } from '#workflows/protocol/workflow-ids.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { askModel, type ModelNeeds } from '../drafts/ask-model.ts';
import type { Dependencies } from '../dependencies.ts';
import { forEachConcurrently } from '../base/for-each.ts';
import { dueNow, isDue, repeatFor } from '../base/round.ts';

/** Concurrent model calls for one workspace. */
const CONCURRENCY = 8;
const BATCH = 64;
/** The length of a round. Short rounds let operators see progress. */
const ROUND_MS = 45_000;
const MORE = 'there are more replies to judge';

export function createOptOutJudgeActivities({ logger, ...needs }: ModelNeeds & Pick<Dependencies, 'logger'>) {
  const { pools } = needs;
  /** Calls the model outside of any transaction. */
  async function judge(workspaceId: string, awaited: AwaitedVerdict, canceled: AbortSignal): Promise<void> {
    const asked = await askModel(needs, workspaceId, {
      prompt: verdictPrompt(awaited.replies),
      schema: VerdictOutput,
      canceled,
    });
    if ('error' in asked.answer)
      logger.warn(
        { workspaceId, suspicionId: awaited.id, model: asked.use.model, reason: asked.answer.error },
        'a doubtful reply was not judged; a person decides',
      );
    await withTenant(pools, workspaceId, (db) => applyVerdict(db, awaited, asked, currentTime()));
  }

  return {
    /** Asks the model about the doubtful replies of a workspace, in batches. @returns what the workspace waits for. */
    judgeReplies: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, MORE, async (canceled) => {
        const work = await decide(pools, workspaceId, optOutJudgeId(workspaceId), look);
        if (!isDue(work)) return work;
        await forEachConcurrently(work.awaited, { atOnce: CONCURRENCY, canceled }, (reply) =>
          judge(workspaceId, reply, canceled),
        );
        return null;
      }),
  };
}

/** The replies to judge now. */
async function look(db: TenantDb): Promise<Look & { awaited: readonly AwaitedVerdict[] }> {
  const awaited = await awaitedVerdicts(db, BATCH);
  if (awaited.length === 0) return { awaited, nextAt: null, reason: 'no reply is doubtful', ended: true };
  return { awaited, ...dueNow(MORE) };
}
