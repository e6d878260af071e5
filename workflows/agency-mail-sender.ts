import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { MAIL_QUEUE } from './messages/task-queues.ts';
import type { WakeInput } from './messages/wake.ts';
import { workLoop } from './work-loop.ts';

const { sendAgencyMails } = proxyActivities<Activities>({
  taskQueue: MAIL_QUEUE,
  summary: 'Send the emails of the agency that are due',
  startToCloseTimeout: '15 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per agency, as `mailSender` for a workspace: sends the invitations of co-admins. */
export async function agencyMailSender(input: WakeInput): Promise<void> {
  const ended = await workLoop(() => sendAgencyMails({ agencyId: input.subjectId }));
  if (!ended) await continueAsNew<typeof agencyMailSender>(input);
}
