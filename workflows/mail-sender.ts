import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MAIL_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { sendMails } = proxyActivities<Activities>({
  taskQueue: MAIL_QUEUE,
  summary: 'Send the emails that are due',
  // A round works for a minute, and its last batch may meet a mail server that does not answer.
  startToCloseTimeout: '15 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per workspace: sends the product's own emails from its outbox, and again until the mail server takes them. */
export async function mailSender(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => sendMails({ workspaceId: input.workspaceId }));
  if (!ended) await continueAsNew<typeof mailSender>(input);
}
