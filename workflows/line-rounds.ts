import {
  CancellationScope,
  proxyActivities,
  proxyLocalActivities,
  TemporalFailure,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { type LineRoundState, ofWorkspace, queueTimeout, roundAt } from './line-location.ts';
import type { Status } from './protocol/queries.ts';
import type { LineLocation, LineRound, Round } from './protocol/round.ts';
import { lineQueue } from './protocol/task-queues.ts';
import { UNTIL_DONE } from './retries.ts';

const sendingAt = (carrier: string | null, line: LineRoundState) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Send what this line may send, and wait out the gaps in between',
    scheduleToStartTimeout: queueTimeout(line),
    // A round lasts two minutes, but finishes a wait or a carrier call that has started.
    startToCloseTimeout: '5 minutes',
    // Heartbeats are billed: one every minute. If its whole process is lost, the run of that process ends the round sooner (`polledRounds`).
    heartbeatTimeout: '90s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: UNTIL_DONE,
    ...ofWorkspace(line),
  });

const { sendAtOnce } = proxyLocalActivities<Activities>({
  summary: 'Send what this line may send at once',
  // It blocks the workflow task, and one of the worker's slots for workflow tasks.
  startToCloseTimeout: '3s',
  retry: { maximumAttempts: 1 },
});

/** What a pacer knows of its line: in which state it waits, why, and until when. */
export interface PacedLine extends Round, LineRoundState {
  id: string;
  state: string;
  /** Whether the next round probably fits into the workflow task: it has only the messages to send that are due now. */
  fitsTask: boolean;
  /** What operators see during the next round. */
  details?: string;
}

/** A line before its first round. @param isNew nothing was left to do for it. */
export const pacedLine = (id: string, home: LineLocation, isNew: boolean): PacedLine => ({
  id,
  home,
  state: 'starting',
  reason: '',
  nextAt: null,
  fitsTask: isNew,
});

/** Runs one round: plans, sends, and waits out the gaps in between. */
export async function sendWhatIsDue(line: PacedLine, { state }: Pick<Status, 'state'>): Promise<PacedLine> {
  const { id: lineId } = line;
  const round = await roundAt(
    line,
    lineId,
    async ({ workspaceId, carrier }) =>
      (line.fitsTask && (await sendInTask({ workspaceId, lineId, carrier }))) ||
      sendingAt(carrier, line).sendDue({ workspaceId, lineId, isSending: state === 'sending' }),
  );
  return {
    ...round,
    id: lineId,
    state: stateOf(round, round.home),
    fitsTask: !round.goesOn && !round.isBlocked && !round.roundsWithoutWorker,
    details: detailsOf(round),
  };
}

/**
 * Sends what is due now within the workflow task, which saves an activity: an idle line usually has one message to send.
 * @returns null if an activity must send instead: the worker does not serve the carrier, the carrier is slow, more is due than is sent at
 *   once, or something failed.
 */
async function sendInTask(line: LineLocation & { lineId: string }): Promise<LineRound | null> {
  try {
    return await sendAtOnce(line);
  } catch (error) {
    // A local activity fails with the error that it threw, without an ActivityFailure around it; canceled if the round was cut off,
    // which does not cancel the workflow.
    const isCanceled = CancellationScope.current().consideredCancelled;
    // If it fails again in the activity, operators see the error and the number of attempts there.
    if (error instanceof TemporalFailure && !isCanceled) return null;
    throw error;
  }
}

/** A shorter wait is a gap between two sends of a busy line. */
const LONG_PAUSE_MS = 2 * 60_000;

/** The flags are what activities return and histories contain; only here are they read. */
function stateOf(
  { nextAt, waitMs, isPaused, isBlocked, isResting, roundsWithoutWorker }: LineRound,
  { carrier }: LineLocation,
): string {
  if (carrier === null) return 'unconnected';
  if (roundsWithoutWorker) return 'waiting';
  if (isPaused) return 'paused';
  if (isBlocked) return 'blocked';
  if (isResting) return 'resting';
  if (nextAt === null) return 'idle';
  return (waitMs ?? Date.parse(nextAt) - Date.now()) > LONG_PAUSE_MS ? 'waiting' : 'sending';
}

function detailsOf({ isBlocked, roundsWithoutWorker, reason }: LineRound): string {
  if (roundsWithoutWorker) return `Waiting: ${reason}.`;
  if (isBlocked) return `Blocked: ${reason}. Its pending activity checks whether the line can send again.`;
  return 'Sending: its pending activity sends what is due, and waits out the gaps in between.';
}
