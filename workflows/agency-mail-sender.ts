import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { listen } from './listen.ts';
import { MAIL_QUEUE } from './messages/task-queues.ts';
import type { Round } from './messages/round.ts';
import type { WakeInput } from './messages/wake.ts';

const { sendAgencyMails } = proxyActivities<Activities>({
  taskQueue: MAIL_QUEUE,
  summary: 'Send the emails of the agency that are due',
  startToCloseTimeout: '15 minutes',
  heartbeatTimeout: '20s',
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
});

/** One per agency. Sends the invitations of co-admins, like `mailSender` for a workspace. */
export async function agencyMailSender(input: WakeInput): Promise<string> {
  const news = listen('mailsDue', 'overdue');
  const work = () => sendAgencyMails({ agencyId: input.subjectId });
  const goOn = () => continueAsNew<typeof agencyMailSender>(input);
  if (!hasNamedSignals()) return formerly(news, work, goOn);

  let round: Round;
  do round = await news.after(work);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
