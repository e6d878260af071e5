import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { formerly, hasNamedSignals } from './formerly.ts';
import { homeOf, type LineInput, roundAt } from './line-home.ts';
import { listen } from './listen.ts';
import type { LineRound } from './messages/round.ts';
import { CARRIER_PATIENCE, lineQueue } from './messages/task-queues.ts';

const readingAt = (carrier: string | null) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Read new messages from the inbox of this line',
    scheduleToStartTimeout: CARRIER_PATIENCE,
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20s',
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });

/** One per line whose inbox must be polled. Ends if the line has no inbox. */
export async function mailboxReader(input: LineInput): Promise<string> {
  const news = listen('connected', 'overdue');
  const lineId = input.subjectId;
  const isNew = hasNamedSignals();
  let home = await homeOf(input);
  const read = async (): Promise<LineRound> => {
    const round = await roundAt(home, lineId, ({ workspaceId, carrier }) =>
      readingAt(carrier).readInbox({ workspaceId, lineId }),
    );
    home = round.home;
    return round;
  };
  const goOn = () => continueAsNew<typeof mailboxReader>({ ...home, subjectId: lineId });
  if (!isNew) return formerly(news, read, goOn);

  let round: LineRound;
  do round = await news.after(read);
  while (await news.until(round));
  return news.isOver ? round.reason : goOn();
}
