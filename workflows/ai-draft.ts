import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import { MODEL_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

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
export async function aiDraft(input: WakeInput): Promise<string> {
  const news = listen('contactWrote', 'approve', 'reject', 'markSent', 'superseded', 'overdue');
  const work = () => draftReply({ workspaceId: input.workspaceId, replyId: input.subjectId });
  const goOn = () => continueAsNew<typeof aiDraft>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
