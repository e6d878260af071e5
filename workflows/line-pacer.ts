import {
  CancellationScope,
  continueAsNew,
  proxyActivities,
  proxyLocalActivities,
  setHandler,
  TemporalFailure,
  workflowInfo,
} from '@temporalio/workflow';
import type { Activities } from '#activities/index.ts';
import { locationOf, type LineRoundState, queueTimeout, roundAt } from './line-location.ts';
import { createLoop } from './work-loop.ts';
import type { LineLocation, LineRound } from './protocol/round.ts';
import { planQuery } from './protocol/queries.ts';
import { type Order, pauseLine, resumeLine, sendNow, skipMessage } from './protocol/updates.ts';
import { onOrder, OPERATOR } from './orders.ts';
import { lineQueue } from './protocol/task-queues.ts';
import type { WakeInput } from './protocol/workflow-ids.ts';
import { UNTIL_DONE } from './retries.ts';

const sendingAt = (carrier: string | null, line: LineRoundState) =>
  proxyActivities<Activities>({
    taskQueue: lineQueue(carrier),
    summary: 'Send what this line may send, and wait out the gaps in between',
    scheduleToStartTimeout: queueTimeout(line),
    // A round lasts two minutes, but finishes a wait or a carrier call that has started.
    startToCloseTimeout: '5 minutes',
    // How soon the line continues after its worker has crashed. Heartbeats are billed: one every minute.
    heartbeatTimeout: '90s',
    cancellationType: 'WAIT_CANCELLATION_COMPLETED',
    retry: UNTIL_DONE,
  });

const { sendAtOnce } = proxyLocalActivities<Activities>({
  summary: 'Send what this line may send at once',
  // It blocks the workflow task, and one of the worker's slots for workflow tasks.
  startToCloseTimeout: '3s',
  retry: { maximumAttempts: 1 },
});

const act = proxyActivities<Activities>({ ...OPERATOR, summary: "Carry out the operator's order" });

/**
 * One per line. Sends what the line may send now, and waits until it may send again. Each round decides this in the
 * database, under the line's lock. The workflow has no state of its own, so it can be terminated at any time.
 */
export async function linePacer(input: WakeInput): Promise<string> {
  const loop = createLoop('messagesDue', 'lineChanged', 'connected', 'overdue');
  const lineId = input.subjectId;
  let line: LineRoundState = { home: { workspaceId: input.workspaceId, carrier: input.carrier ?? null } };
  const ofLine = <O extends Order>(order: O) => ({ ...order, workspaceId: line.home.workspaceId, lineId });
  onOrder(pauseLine, loop, (order) => act.pauseLine(ofLine(order)), {
    description: 'Stops sending until the line is resumed.',
    signalsItself: true,
  });
  onOrder(resumeLine, loop, (order) => act.resumeLine(ofLine(order)), {
    description: 'Continues sending.',
    signalsItself: true,
  });
  onOrder(sendNow, loop, (order) => act.sendNow(ofLine(order)), {
    description: 'Sends a message, or the next one, now, regardless of its scheduled time and of gaps.',
    signalsItself: true,
  });
  onOrder(skipMessage, loop, (order) => act.skipMessage(ofLine(order)), {
    description: 'Cancels a waiting message.',
  });
  setHandler(planQuery, () => ({ ...loop.status(), ...line.home, lineId }), {
    description: 'When the line sends next, and why it does not send now.',
  });
  const sendAtCarrier = ({ workspaceId, carrier }: LineLocation) =>
    sendingAt(carrier, line).sendDue({ workspaceId, lineId, isSending: loop.status().state === 'sending' });
  /** @param isBrief the round probably has only the messages to send that are due now. */
  const send = async (isBrief: boolean): Promise<LineRound> => {
    const round = await roundAt(
      line,
      lineId,
      async (home) => (isBrief && (await sendBriefly(home, lineId))) || sendAtCarrier(home),
    );
    line = round;
    return round;
  };

  line = { home: await locationOf(input) };

  let round = await loop.run(() => send(workflowInfo().continuedFromExecutionRunId === undefined));
  while (await loop.wait(round, stateOf(round, line.home))) {
    const isBrief = !round.goesOn && !round.isBlocked && !round.roundsWithoutWorker;
    round = await loop.run(() => send(isBrief), detailsOf(round));
  }
  return loop.isOver ? round.reason : continueAsNew<typeof linePacer>({ ...line.home, subjectId: lineId });
}

/**
 * Sends what is due now within the workflow task, which saves an activity: an idle line usually has one message to send.
 * @returns null if an activity must send instead: the worker does not serve the carrier, the carrier is slow, more is due than is sent at
 *   once, or something failed.
 */
async function sendBriefly(
  { workspaceId, carrier }: LineLocation,
  lineId: string,
): Promise<LineRound | null> {
  try {
    return await sendAtOnce({ workspaceId, lineId, carrier });
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

/** The details that operators see during the next round. */
function detailsOf({ isBlocked, roundsWithoutWorker, reason }: LineRound): string {
  if (roundsWithoutWorker) return `Waiting: ${reason}.`;
  if (isBlocked) return `Blocked: ${reason}. Its pending activity checks whether the line can send again.`;
  return 'Sending: its pending activity sends what is due, and waits out the gaps in between.';
}
