import { currentTime } from '#domain/base/clock.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { workspaceTimezone } from '#db/queries/accounts/workspaces.ts';
import {
  finishDryRun,
  settleCase,
  triedLimits,
  type WaitingCase,
  waitingCases,
} from '#db/queries/drafts/autopilot-dry-runs.ts';
import { findKnowledgeBase } from '#db/queries/drafts/knowledge-base.ts';
import { decide, type Look } from '#db/wakes/decisions.ts';
import { type Autopilot, heldBackBy } from '#domain/drafts/autopilot.ts';
import { DraftOutput, draftPrompt } from '#domain/drafts/draft-prompt.ts';
import type { Round } from '#workflows/protocol/round.ts';
import { autopilotDryRunId } from '#workflows/protocol/workflow-ids.ts';
import type { Dependencies } from '../dependencies.ts';
import { forEachConcurrently } from '../base/for-each.ts';
import { dueNow, isDue, repeatFor } from '../base/round.ts';
import { askModel, type ModelNeeds } from './ask-model.ts';
import { conversationOf, documentsFor, indexDocuments } from './draft-context.ts';

/** Concurrent model calls for one workspace. */
const CONCURRENCY = 4;
const ROUND_MS = 45_000;
const MORE = 'there are more conversations to try';

export function createAutopilotDryRunActivities({
  logger,
  ...needs
}: ModelNeeds & Pick<Dependencies, 'logger'>) {
  const { pools } = needs;

  /** Calls the model outside of any transaction, and sends nothing. */
  async function tryCase(
    workspaceId: string,
    { replyId, address, receivedAt }: WaitingCase,
    limits: Autopilot,
    canceled: AbortSignal,
  ): Promise<void> {
    const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
      withTenant(pools, workspaceId, work);
    const { prompt, texts, timezone } = await tenant(async (db) => {
      const afterIt = new Date(receivedAt.getTime() + 1);
      const { unanswered, ...asked } = await conversationOf(db, { replyId, address }, afterIt);
      const { instructions } = await findKnowledgeBase(db);
      const documents = await documentsFor(db, asked.conversation);
      return {
        prompt: draftPrompt({ instructions, documents }, { ...asked, isAutopilot: true }),
        texts: unanswered,
        timezone: await workspaceTimezone(db),
      };
    });
    const { use, answer } = await askModel(needs, workspaceId, { prompt, schema: DraftOutput, canceled });
    if ('error' in answer)
      logger.warn(
        { workspaceId, replyId, model: use.model, reason: answer.error },
        'the dry run of the autopilot has no draft for a reply',
      );
    await tenant(async (db) => {
      if ('error' in answer) return settleCase(db, replyId, answer, currentTime());
      // Of a conversation that nobody has taken over, on a day on which nothing was sent yet.
      const judged = {
        draft: answer,
        texts,
        timezone,
        sentToday: 0,
        sentInConversation: 0,
        isTakenOver: false,
      };
      const heldBack = heldBackBy(limits, judged, receivedAt);
      const { draft, confidence } = answer;
      return settleCase(db, replyId, { draft, confidence, heldBackBy: heldBack }, currentTime());
    });
  }

  return {
    /** Has the copilot answer past replies, several at a time. @returns what the workspace waits for. */
    tryAutopilot: ({ workspaceId }: { workspaceId: string }): Promise<Round> =>
      repeatFor(ROUND_MS, MORE, async (canceled) => {
        const work = await decide(pools, workspaceId, autopilotDryRunId(workspaceId), look);
        if (!isDue(work)) return work;
        await indexDocuments(
          (step) => withTenant(pools, workspaceId, step),
          () => true,
        );
        const { waiting, limits } = work;
        await forEachConcurrently(waiting, { atOnce: CONCURRENCY, canceled }, async (one) => {
          if (limits) await tryCase(workspaceId, one, limits, canceled);
        });
        return null;
      }),
  };
}

type Work = Look & { waiting: readonly WaitingCase[]; limits: Autopilot | null };

/** The replies to try, or the end of the dry run. */
async function look(db: TenantDb): Promise<Work> {
  const limits = await triedLimits(db);
  const waiting = limits ? await waitingCases(db) : [];
  if (waiting.length > 0) return { waiting, limits, ...dueNow(MORE) };
  await finishDryRun(db, currentTime());
  return { waiting, limits, nextAt: null, reason: 'no conversation is to be tried', ended: true };
}
