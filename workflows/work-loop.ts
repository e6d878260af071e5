import {
  allHandlersFinished,
  CancellationScope,
  condition,
  defineSignal,
  patched,
  setCurrentDetails,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import { WAKE } from './messages/wake.ts';

/** What a round of work ends with: when there is more to do, and why not now. */
export interface Round {
  /** ISO 8601; null: nothing is due until somebody wakes the workflow. */
  nextAt: string | null;
  /** For the operator: what it waits for. */
  reason: string;
  /** Nothing will ever be due again: the workflow may end. */
  ended?: boolean;
}

/** A round of work about a line. */
export interface LineRound extends Round {
  /** Where the line is now, when that is not where the round was told it is. */
  home?: LineHome;
}

export interface LineHome {
  workspaceId: string;
  /** null: it is not connected to a carrier. */
  carrier: string | null;
}

const wake = defineSignal(WAKE);

/**
 * A worker with more workflows than its cache holds replays, at each turn of one, all that it did so far: about half
 * a millisecond of processor time an event. Temporal itself suggests a new history after 4,096 events only.
 */
const LONG_HISTORY = 250;

/** A workflow that is idle this long ends; whoever needs it starts it again by its signal. */
const LONGEST_IDLE_MS = 24 * 3_600_000;

/** A history that was longer before there was this bound is followed as it went. */
const isLongEnough = (): boolean =>
  workflowInfo().continueAsNewSuggested ||
  (workflowInfo().historyLength >= LONG_HISTORY && patched('short histories'));

/**
 * The loop of every long-lived workflow that works off a table: a round of work, then one timer until the next
 * is due, or none at all, and a signal that cuts the wait short.
 * @returns true when its work has ended, or it has been idle for a day; false when its history has grown long enough to
 *   continue as new.
 */
export async function workLoop(work: () => Promise<Round>): Promise<boolean> {
  let woken = false;
  setHandler(wake, () => void (woken = true), {
    description: 'Something is due earlier than the workflow knows.',
  });

  while (!isLongEnough()) {
    // Lowered before the work: what is committed while it runs raises it again.
    woken = false;
    setCurrentDetails('Working.');
    const { nextAt, reason, ended } = await work();
    if (ended && !woken) return end(reason);
    if (nextAt === null) {
      setCurrentDetails(`Idle: ${reason}. Waits to be woken.`);
      if (!patched('idle workflows end')) await condition(() => woken);
      else await sleepUnless(() => woken, LONGEST_IDLE_MS, 'Ends when nothing comes');
      if (!woken) return end(reason);
      continue;
    }
    const pause = Date.parse(nextAt) - Date.now();
    if (pause <= 0) continue;
    setCurrentDetails(`Waits until **${nextAt}**: ${reason}.`);
    await sleepUnless(() => woken, pause, reason);
  }
  await condition(allHandlersFinished);
  return false;
}

async function end(reason: string): Promise<true> {
  setCurrentDetails(`Ended: ${reason}.`);
  await condition(allHandlersFinished);
  return true;
}

/** One timer, canceled when the condition comes true first. */
async function sleepUnless(interrupted: () => boolean, ms: number, summary: string): Promise<void> {
  const scope = new CancellationScope();
  await scope.run(async () => {
    try {
      await Promise.race([sleep(ms, { summary }), condition(interrupted)]);
    } finally {
      scope.cancel();
    }
  });
}
