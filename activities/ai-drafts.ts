import {
  type DraftRow,
  findDraft,
  giveUpWaiting,
  keepAnswer,
  lockConversation,
  type ModelUse,
} from '#db/ai-drafts.ts';
import { listThread } from '#db/conversations.ts';
import { announceDraft } from '#db/draft-events.ts';
import { findKnowledgeBase } from '#db/knowledge-base.ts';
import { findLead } from '#db/leads.ts';
import { notifyPositive } from '#db/notifications.ts';
import { type TenantDb, withTenant } from '#db/pool.ts';
import { contactName, findReply, shownText } from '#db/replies.ts';
import { endWake, lockWake, setWake } from '#db/wakes.ts';
import { DraftAnswer, type DraftPrompt, draftPrompt } from '#domain/draft-prompt.ts';
import { type Model, ModelFailure } from '#providers/models/model.ts';
import { aiDraftId, webhookDispatcherId } from '#workflows/messages/wake.ts';
import type { Round } from '#workflows/work-loop.ts';
import type { Dependencies } from './dependencies.ts';
import { withHeartbeat } from './heartbeat.ts';

/** Messages of the conversation that the model reads. */
const THREAD = 20;

type Written = { use: ModelUse; answer: DraftAnswer | { error: string } };

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
      const written = await withHeartbeat((canceled) => write(model, looked, canceled));
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
      text: direction === 'in' ? body : shownText({ body, sentText }, lead),
      at: at.toISOString(),
    }));
  return { contact: contactName(lead, null, address), conversation };
}

/** Asks the model. A failure of it is an outcome; only a worker that stops leaves the question open. */
async function write(model: Model | null, prompt: DraftPrompt, canceled: AbortSignal): Promise<Written> {
  if (!model)
    return { use: useOf('none', null), answer: { error: 'no language model is configured (LLM_BASE_URL)' } };
  try {
    const { text, usage } = await model.answer(prompt, canceled);
    return { use: useOf(model.name, usage), answer: readAnswer(text) };
  } catch (error) {
    if (!(error instanceof ModelFailure)) throw error;
    return { use: useOf(model.name, error.usage), answer: { error: error.message } };
  }
}

const useOf = (
  model: string,
  usage: { promptTokens: number; completionTokens: number } | null,
): ModelUse => ({
  model,
  promptTokens: usage?.promptTokens ?? null,
  completionTokens: usage?.completionTokens ?? null,
});

function readAnswer(text: string): DraftAnswer | { error: string } {
  try {
    return DraftAnswer.parse(JSON.parse(text));
  } catch {
    return { error: 'the answer is not the JSON that was asked for' };
  }
}

/** @returns the workflows to wake after the commit. */
async function keep(db: TenantDb, replyId: string, { use, answer }: Written, now: Date): Promise<string[]> {
  const draft = await findDraft(db, replyId);
  if (!draft) return [];
  await lockConversation(db, draft.address);
  const kept = await keepAnswer(db, replyId, use, answer);
  if (kept?.status !== 'drafted') return [];
  const wakes = await notifyPositive(db, kept.address, now);
  return (await announceDraft(db, kept, now)) ? [...wakes, webhookDispatcherId(db.workspaceId)] : wakes;
}
