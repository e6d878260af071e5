import {
  type DraftRow,
  findDraft,
  giveUpWaiting,
  keepAnswer,
  lockConversation,
} from '#db/commands/drafts/ai-drafts.ts';
import { listThread } from '#db/queries/conversations.ts';
import { announceDraft } from '#db/commands/drafts/draft-events.ts';
import { findKnowledgeBase } from '#db/queries/knowledge-base.ts';
import { findLead } from '#db/queries/leads.ts';
import { notifyPositive } from '#db/commands/outbox/notifications.ts';
import { type TenantDb, withTenant } from '#db/pool.ts';
import { contactName, findReply, shownText } from '#db/queries/replies.ts';
import { endWake, lockWake, setWake } from '#db/wakes.ts';
import { DraftAnswer, type DraftPrompt, draftPrompt } from '#domain/draft-prompt.ts';
import { aiDraftId, webhookDispatcherId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/work-loop.ts';
import { type Asked, askModel } from './ask-model.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Messages of the conversation that the model reads. */
const THREAD = 20;

export function createDraftActivities({
  pools,
  model,
  waker,
  logger,
}: Pick<Dependencies, 'pools' | 'model' | 'waker' | 'logger'>) {
  return {
    /** Drafts when it is time to, else says what the draft waits for. The model is called outside any transaction. */
    async draftReply({ workspaceId, replyId }: { workspaceId: string; replyId: string }): Promise<Round> {
      const tenant = <T>(work: (db: TenantDb) => Promise<T>): Promise<T> =>
        withTenant(pools, workspaceId, work);
      const looked = await tenant((db) => look(db, replyId, new Date()));
      if ('reason' in looked) return looked;
      const written = await withHeartbeat((canceled) => askModel(model, looked, DraftAnswer, canceled));
      if ('error' in written.answer) {
        logger.warn(
          { workspaceId, replyId, model: written.use.model, reason: written.answer.error },
          'a reply could not be drafted',
        );
      }
      const wakes = await tenant((db) => keep(db, replyId, written, new Date()));
      for (const workflowId of wakes) waker.wake(workflowId, workspaceId);
      return tenant((db) => rest(db, replyId));
    },
  };
}

/** What is to be drafted now, or what there is to wait for. */
async function look(db: TenantDb, replyId: string, now: Date): Promise<Round | DraftPrompt> {
  const draft = await findDraft(db, replyId);
  if (draft?.status !== 'waiting' || draft.dueAt > now) return rest(db, replyId);
  const { mode, ...base } = await findKnowledgeBase(db);
  if (mode === 'off') {
    await giveUpWaiting(db, replyId, now);
    return rest(db, replyId);
  }
  return draftPrompt(base, await conversationOf(db, draft));
}

/** Under the lock of whoever resolves the draft: a resolution after this wakes the workflow. */
async function rest(db: TenantDb, replyId: string): Promise<Round> {
  const workflow = aiDraftId(replyId);
  await lockWake(db, workflow);
  const draft = await findDraft(db, replyId);
  if (draft?.status === 'waiting') {
    await setWake(db, workflow, draft.dueAt);
    return { nextAt: draft.dueAt.toISOString(), reason: 'the contact may go on writing' };
  }
  if (draft?.status === 'drafted') {
    await setWake(db, workflow, null);
    return { nextAt: null, reason: 'the draft waits for its review' };
  }
  await endWake(db, workflow);
  return { nextAt: null, reason: endOf(draft), ended: true };
}

function endOf(draft: DraftRow | null): string {
  if (!draft) return 'the reply was deleted';
  if (draft.status === 'failed') return `no draft: ${draft.error ?? ''}`;
  const channel = draft.approvalChannel === null ? '' : ` by ${draft.approvalChannel}`;
  return `the draft is ${draft.status}${channel}`;
}

async function conversationOf(db: TenantDb, { replyId, address }: DraftRow) {
  const reply = await findReply(db, replyId);
  const leadId = reply?.leadId ?? null;
  const lead = leadId === null ? null : await findLead(db, leadId);
  const thread = await listThread(db, address, { limit: THREAD, after: null });
  const conversation = thread
    .filter(({ direction, status, autoReply, body }) =>
      direction === 'in'
        ? !autoReply && body !== ''
        : status === 'sent' || status === 'delivered' || status === 'sending',
    )
    .toReversed()
    .map(({ direction, body, sentText, at }) => ({
      from: direction === 'in' ? ('contact' as const) : ('us' as const),
      text: direction === 'in' ? body : shownText({ body, sentText }),
      at: at.toISOString(),
    }));
  return { contact: contactName(lead, null, address), conversation };
}

/** @returns the workflows to wake after the commit. */
async function keep(
  db: TenantDb,
  replyId: string,
  { use, answer }: Asked<DraftAnswer>,
  now: Date,
): Promise<string[]> {
  const draft = await findDraft(db, replyId);
  if (!draft) return [];
  await lockConversation(db, draft.address);
  const kept = await keepAnswer(db, replyId, use, answer);
  if (kept?.status !== 'drafted') return [];
  const wakes = await notifyPositive(db, kept.address, now);
  return (await announceDraft(db, kept, now)) ? [...wakes, webhookDispatcherId(db.workspaceId)] : wakes;
}
