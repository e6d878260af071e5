import { continueAsNew, currentUpdateInfo, proxyActivities, setHandler, uuid4 } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MODEL_QUEUE } from './protocol/task-queues.ts';
import { draftQuery } from './protocol/queries.ts';
import type { DraftRound } from './protocol/round.ts';
import { decide, type DraftOrder, type Order } from './protocol/updates.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { decidesBy, onOrder, OPERATOR, SIGNALED } from './orders.ts';
import { UNTIL_DONE } from './retries.ts';

const { draftReply } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Draft an answer, if the contact has stopped writing',
  // The model has 45 seconds unless configured otherwise, 120 at most.
  startToCloseTimeout: '3 minutes',
  // After a crash of the worker the model is called again, because nothing was stored.
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

const { lookAtDraft } = proxyActivities<Activities>({
  summary: 'Check whether somebody has decided about the draft',
  startToCloseTimeout: '1 minute',
  retry: UNTIL_DONE,
});
const summary = "Carry out the operator's decision about the draft";
const ordered = proxyActivities<Activities>({ ...OPERATOR, summary });
const signaled = proxyActivities<Activities>({ ...SIGNALED, summary });

/**
 * One per draft. For a draft of the copilot, waits until the contact has stopped writing, then calls the model. Then waits
 * for a decision. The database determines which decision was first: see docs/ai-drafts.md.
 */
export async function aiDraft(input: WakeInput): Promise<string> {
  const reply = { workspaceId: input.workspaceId, replyId: input.subjectId };
  let draft: DraftRound | null = null;
  const bySignal = (action: DraftOrder['action']) => async (order: Order) => {
    if (!draft?.ended) await signaled.decideDraft({ ...order, action, ...reply, updateId: uuid4() });
  };
  const loop = createLoop(
    'contactWrote',
    'drafted',
    decidesBy('approve', bySignal('approve')),
    decidesBy('reject', bySignal('reject')),
    decidesBy('markSent', bySignal('mark_sent')),
    'superseded',
    'suspicionChanged',
    'retryRequested',
    'overdue',
  );
  setHandler(
    draftQuery,
    () => ({ ...loop.status(), replyId: reply.replyId, approvalChannel: draft?.approvalChannel ?? null }),
    { description: 'What the draft waits for, or how it was resolved.' },
  );
  onOrder(
    decide,
    loop,
    (order) => ordered.decideDraft({ ...order, ...reply, updateId: currentUpdateInfo()?.id ?? '' }),
    {
      description: 'Approves, rejects or claims the draft; the first decision wins.',
      refusal: () => (draft?.status === 'waiting' ? 'There is no draft yet' : null),
    },
  );

  do draft = await loop.run(() => (isToBeWritten(draft) ? draftReply(reply) : lookAtDraft(reply)));
  while (await loop.wait(draft, draft.status));

  return loop.isOver ? draft.reason : continueAsNew<typeof aiDraft>(input);
}

/** Whether the model is to write: the draft, or another version of it. */
const isToBeWritten = (draft: DraftRound | null): boolean =>
  draft === null || draft.status === 'waiting' || draft.isRetrying === true;
