import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MAIL_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { sendMails } = proxyActivities<Activities>({
  taskQueue: MAIL_QUEUE,
  summary: 'Send the emails that are due',
  // A round lasts a minute, and its last batch may wait for a mail server that does not respond.
  startToCloseTimeout: '15 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per workspace. Sends the product's own emails from its outbox, and retries until the mail server accepts them. */
export async function mailSender(input: WakeInput): Promise<string> {
  const loop = createLoop('mailsDue', 'overdue');
  const outcome = await loop.repeat(() => sendMails({ workspaceId: input.workspaceId }));
  return outcome ?? continueAsNew<typeof mailSender>(input);
}
