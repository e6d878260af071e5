import { currentTime } from '#domain/base/clock.ts';
import { applyVerdict } from '#db/commands/contacts/opt-out-verdicts.ts';
import { type AwaitedVerdict, awaitedVerdicts } from '#db/queries/contacts/opt-out-suspicions.ts';
import { applyReturn } from '#db/commands/campaigns/lead-pauses.ts';
import { type AwaitedReturn, awaitedReturns } from '#db/queries/campaigns/awaited-returns.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { ReturnOutput, returnPrompt, returnRead } from '#domain/campaigns/return-date.ts';
import { wallClock } from '#domain/base/calendar.ts';
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

  async function askReturn(
    workspaceId: string,
    { replyId, address, text, timezone, receivedAt }: AwaitedReturn,
    canceled: AbortSignal,
  ): Promise<void> {
    const receivedOn = wallClock(timezone, receivedAt).toISOString().slice(0, 10);
    const { answer, use } = await askModel(needs, workspaceId, {
      prompt: returnPrompt(text, receivedOn),
      schema: ReturnOutput,
      canceled,
    });
    if ('error' in answer)
      logger.warn(
        { workspaceId, replyId, model: use.model, reason: answer.error },
        'the model did not read when a contact is back; campaigns go on after the usual time',
      );
    await withTenant(pools, workspaceId, async (db) => {
      const now = currentTime();
      await lockContact(db, address);
      await applyReturn(db, replyId, 'error' in answer ? null : returnRead(answer, { timezone, now }), now);
    });
  }

  return {
    /** Asks the model about the doubtful replies of a workspace, and when those are back who are away, in batches. @returns what the workspace waits for. */
    judgeReplies: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, MORE, async (canceled) => {
        const work = await decide(pools, workspaceId, optOutJudgeId(workspaceId), look);
        if (!isDue(work)) return work;
        const options = { atOnce: CONCURRENCY, canceled };
        await forEachConcurrently(work.verdicts, options, (reply) => judge(workspaceId, reply, canceled));
        await forEachConcurrently(work.returns, options, (reply) => askReturn(workspaceId, reply, canceled));
        return null;
      }),
  };
}

/** What to ask about now. */
async function look(
  db: TenantDb,
): Promise<Look & { verdicts: readonly AwaitedVerdict[]; returns: readonly AwaitedReturn[] }> {
  const [verdicts, returns] = [await awaitedVerdicts(db, BATCH), await awaitedReturns(db, BATCH)];
  return verdicts.length + returns.length > 0
    ? { verdicts, returns, ...dueNow(MORE) }
    : { verdicts, returns, nextAt: null, reason: 'no reply is doubtful', ended: true };
}
