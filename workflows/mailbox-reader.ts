import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { locationOf, type LineRoundState, ofWorkspace, queueTimeout, roundAt } from './line-location.ts';
import { createLoop } from './work-loop.ts';
import type { LineRound } from './protocol/round.ts';
import { lineQueue } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';

const readingAt = (carrier: string | null, line: LineRoundState) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Read new messages from the inbox of this line',
    scheduleToStartTimeout: queueTimeout(line),
    startToCloseTimeout: '5 minutes',
    heartbeatTimeout: '20s',
    // Each retry connects to the mail server again, and the inbox is polled only once a minute by default.
    retry: { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '1 minute' },
    ...ofWorkspace(line),
  });

/**
 * One per line whose inbox must be polled, which worker processes do. It runs a round when the line is connected, and when the inbox begins
 * to fail or can be read again, so that it shows that. Ends if the line has no inbox.
 */
export async function mailboxReader(input: WakeInput): Promise<string> {
  const loop = createLoop('connected', 'overdue');
  const lineId = input.subjectId;
  let line: LineRoundState = { home: await locationOf(input) };
  const read = async (): Promise<LineRound> => {
    const round = await roundAt(line, lineId, ({ workspaceId, carrier }) =>
      readingAt(carrier, line).readInbox({ workspaceId, lineId }),
    );
    line = round;
    return round;
  };

  let round: LineRound;
  do round = await loop.run(read);
  while (await loop.wait(round, stateOf(round)));
  return loop.isOver
    ? round.reason
    : continueAsNew<typeof mailboxReader>({ ...line.home, subjectId: lineId });
}

/** @returns undefined: as the round says. */
const stateOf = ({ isPolled, isBlocked }: LineRound): string | undefined =>
  isPolled ? (isBlocked ? 'blocked' : 'waiting') : undefined;
