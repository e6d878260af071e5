import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MODEL_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { draftReply } = proxyActivities<Activities>({
  taskQueue: MODEL_QUEUE,
  summary: 'Draft the answer when the contact has stopped writing',
  // The model has 45 seconds unless configured otherwise, 120 at most.
  startToCloseTimeout: '3 minutes',
  // A worker that died has kept nothing: the model is asked again, and its first answer is used.
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/**
 * One per reply to be answered: waits until the contact has stopped writing, has the model draft, and waits for the
 * review. Who decides about a draft, and who was first, is the database's to say: see docs/ai-drafts.md.
 */
export async function aiDraft(input: WakeInput): Promise<void> {
  const ended = await workLoop(() =>
    draftReply({ workspaceId: input.workspaceId, replyId: input.subjectId }),
  );
  if (!ended) await continueAsNew<typeof aiDraft>(input);
}
