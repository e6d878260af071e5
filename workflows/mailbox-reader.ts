import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { homeOf, type LineRoundState, roundAt } from './line-home.ts';
import { createLoop } from './work-loop.ts';
import type { LineRound } from './messages/round.ts';
import { CARRIER_QUEUE_TIMEOUT, lineQueue } from './messages/task-queues.ts';
import type { WakeInput } from './messages/workflow-ids.ts';

const readingAt = (carrier: string | null) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Read new messages from the inbox of this line',
    scheduleToStartTimeout: CARRIER_QUEUE_TIMEOUT,
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20s',
    // Each retry connects to the mail server again, and the inbox is polled only once a minute by default.
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  });

/** One per line whose inbox must be polled. Ends if the line has no inbox. */
export async function mailboxReader(input: WakeInput): Promise<string> {
  const loop = createLoop('connected', 'overdue');
  const lineId = input.subjectId;
  let line: LineRoundState = { home: await homeOf(input) };
  const read = async (): Promise<LineRound> => {
    const round = await roundAt(line, lineId, ({ workspaceId, carrier }) =>
      readingAt(carrier).readInbox({ workspaceId, lineId }),
    );
    line = round;
    return round;
  };

  const outcome = await loop.repeat(read);
  return outcome ?? continueAsNew<typeof mailboxReader>({ ...line.home, subjectId: lineId });
}
