import {
  ActivityFailure,
  patched,
  proxyLocalActivities,
  TimeoutFailure,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import type { LineLocation, LineRound } from './protocol/round.ts';
import { WORKSPACE_ID } from './protocol/search-attributes.ts';
import { BUSY_QUEUE_TIMEOUT, CARRIER_QUEUE_TIMEOUT, lineQueue } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';

const { findCarrier, findService } = proxyLocalActivities<Activities>({
  summary: 'Look up the carrier of the line',
  startToCloseTimeout: '10s',
});

/** The workspace and carrier of a line when its workflow starts. */
export async function locationOf({
  workspaceId,
  subjectId: lineId,
  carrier,
}: WakeInput): Promise<LineLocation> {
  return {
    workspaceId,
    carrier: carrier === undefined ? await findCarrier({ workspaceId, lineId }) : carrier,
  };
}

/** Where a line is, and what its last round found. */
export interface LineRoundState {
  home: LineLocation;
  roundsWithoutWorker?: number;
  /** Workers poll the queue, but none took the last task in time: the next one keeps its place for longer. */
  isQueued?: boolean;
}

/** The schedule-to-start timeout of a round. */
export const queueTimeout = ({ isQueued = false }: Pick<LineRoundState, 'isQueued'>) =>
  isQueued ? BUSY_QUEUE_TIMEOUT : CARRIER_QUEUE_TIMEOUT;

/** Its tasks queue up with those of the workspace where the line is now, not where its workflow was started. */
export const ofWorkspace = ({ home }: LineRoundState) => ({ priority: { fairnessKey: home.workspaceId } });

/** The first retry is immediate, because all workers may only have been busy for a moment. */
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** The backoff after so many consecutive rounds that no worker took. A signal ends it. */
const pauseAfter = (roundsWithoutWorker: number): number =>
  roundsWithoutWorker < 2 ? 0 : Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (roundsWithoutWorker - 2));

/**
 * Runs a round on the task queue of the line's carrier. If no worker serves that queue in time, looks the carrier up again,
 * because a signal cannot interrupt the wait for a worker.
 * @param last the result of the last round.
 * @returns the round with `home`, the current workspace and carrier of the line.
 */
export async function roundAt(
  last: LineRoundState,
  lineId: string,
  round: (home: LineLocation) => Promise<LineRound>,
): Promise<LineRound & { home: LineLocation }> {
  const { home } = last;
  try {
    const found = { home, ...(await round(home)) };
    if (found.home.workspaceId !== home.workspaceId) setWorkspaceAttribute(found.home.workspaceId);
    return found;
  } catch (error) {
    if (!hasNoWorker(error)) throw error;
    return roundWithoutWorker(last, lineId);
  }
}

/** What came of a round that no worker took: where the line is now, and when to try again. */
async function roundWithoutWorker(
  { home, roundsWithoutWorker = 0 }: LineRoundState,
  lineId: string,
): Promise<LineRound & { home: LineLocation }> {
  const line = { workspaceId: home.workspaceId, lineId };
  const { carrier, isBusy } = patched('busy-queues')
    ? await findService(line)
    : { carrier: await findCarrier(line), isBusy: false };
  const queue = lineQueue(home.carrier);
  const hasMoved = carrier !== home.carrier;
  const rounds = hasMoved ? 1 : roundsWithoutWorker + 1;
  const found = { roundsWithoutWorker: rounds, home: { ...home, carrier } };
  if (isBusy && !hasMoved)
    return {
      ...found,
      nextAt: inMs(0),
      reason: `all workers of the queue ${queue} are busy`,
      isQueued: true,
    };
  return {
    ...found,
    nextAt: inMs(pauseAfter(rounds)),
    reason: `no worker takes tasks of the queue ${queue}`,
  };
}

const inMs = (ms: number): string => new Date(Date.now() + ms).toISOString();

/** Whether no worker took the task: none serves its task queue, or all of them are busy. */
export const hasNoWorker = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';

/** Updates the search attribute when a line moves, unless the namespace lacks the attribute. */
export function setWorkspaceAttribute(workspaceId: string): void {
  if (workflowInfo().typedSearchAttributes.get(WORKSPACE_ID) !== undefined)
    upsertSearchAttributes([{ key: WORKSPACE_ID, value: workspaceId }]);
}
