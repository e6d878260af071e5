import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { createLoop } from './work-loop.ts';
import { MAIL_QUEUE } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const { sendAgencyMails } = proxyActivities<Activities>({
  taskQueue: MAIL_QUEUE,
  summary: 'Send the emails of the agency that are due',
  startToCloseTimeout: '15 minutes',
  heartbeatTimeout: '20s',
  retry: UNTIL_DONE,
});

/** One per agency. Sends the invitations of co-admins, like `mailSender` for a workspace. */
export async function agencyMailSender(input: WakeInput): Promise<string> {
  const loop = createLoop('mailsDue', 'overdue');
  const outcome = await loop.repeat(() => sendAgencyMails({ agencyId: input.subjectId }));
  return outcome ?? continueAsNew<typeof agencyMailSender>(input);
}
