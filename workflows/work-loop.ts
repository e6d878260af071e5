import {
  allHandlersFinished,
  condition,
  defineSignal,
  setCurrentDetails,
  setDefaultSignalHandler,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { MAX_AGE_MS, type Round } from './protocol/round.ts';
import { STATE } from './protocol/search-attributes.ts';
import { type SignalName, SIGNALS } from './protocol/signals.ts';
import { type Status, statusQuery } from './protocol/queries.ts';

/**
 * The number of events after which a workflow continues as new. A worker whose cache is full replays the whole history at
 * each task, at about half a millisecond per event. Temporal suggests a new history only after 4,096 events.
 */
const MAX_HISTORY = 250;

/** In runs of earlier releases, an idle workflow ended after this time. */
const MAX_IDLE = '1 day';

/** Runs the rounds of a long-lived workflow: each looks at the database, then waits for a signal or the next due time. */
export interface WorkLoop {
  /**
   * Runs a round. Clears the received signals first, because later commits send new ones.
   * @param details what the Temporal UI shows meanwhile.
   */
  run<T>(round: () => Promise<T>, details?: string): Promise<T>;
  /**
   * Waits until the next round is due or a signal arrives.
   * @param state the value of the search attribute `State` in the meantime.
   * @returns true if the next round is due; false if the workflow ends (`isOver`) or must continue as new.
   */
  wait(round: Round, state?: string): Promise<boolean>;
  /**
   * Repeats a round until the workflow ends or must continue as new.
   * @returns why it ended; null if it must continue as new.
   */
  repeat(round: () => Promise<Round>): Promise<string | null>;
  /** Makes the next round due, like a signal. For updates, which change the database. */
  runAgain(): void;
  /** Runs work after that of earlier calls, so that the first of several signals is carried out first. */
  serially(work: () => Promise<void>): Promise<void>;
  /** Adds a sentence to the current details, until the next note. */
  setNote(note: string): void;
  /** Sets the status and the search attribute `State`. */
  setStatus(state: string, reason: string, until?: string | null): void;
  status(): Status;
  /** Whether the workflow ends instead of continuing as new. */
  readonly isOver: boolean;
}

/** A signal that carries out an order if an operator sends it; see `decidesBy`. */
export interface DecidingSignal {
  name: SignalName;
  handle: (loop: WorkLoop, argument: unknown) => void | Promise<void>;
}

/** Handles the named signals. Most carry no data: each makes the next round due. */
export function createLoop(...signals: (SignalName | DecidingSignal)[]): WorkLoop {
  let signaled = false;
  let isOver = false;
  let note = '';
  let running = Promise.resolve();
  let status: Status = {
    state: workflowInfo().typedSearchAttributes.get(STATE) ?? 'idle',
    reason: 'it has just started',
    until: null,
  };
  const isSignaled = (): boolean => signaled;
  const runAgain = (): void => void (signaled = true);
  setHandler(statusQuery, () => status, { description: 'What it waits for.' });

  function setStatus(state: string, reason: string, until: string | null = null): void {
    status = { state, reason, until };
    setState(state);
    const nextCheck = until === null ? '' : ` Checks again by **${until.replace(/\.\d+/, '')}**.`;
    setCurrentDetails(`${nameOf(state)}: ${reason}.${nextCheck}${note}`);
  }

  /** Waits for the next round. @returns false if the workflow may end: its work is over, or it was idle for too long. */
  async function continues(round: Round): Promise<boolean> {
    const { nextAt, waitMs, reason, ended, goesOn, keepsOpen, isPolled } = round;
    if (signaled || goesOn) return true;
    if (ended) return false;
    if (isPolled) {
      await condition(isSignaled, MAX_AGE_MS, { summary: reason });
      return true;
    }
    if (nextAt === null && keepsOpen) {
      await condition(isSignaled);
      return true;
    }
    if (nextAt === null)
      return condition(isSignaled, MAX_IDLE, { summary: `${reason}; ends if it stays idle for a day` });
    const ms = Math.min(waitMs ?? Date.parse(nextAt) - Date.now(), MAX_AGE_MS);
    if (ms > 0) await condition(isSignaled, ms, { summary: reason });
    return true;
  }

  const loop: WorkLoop = {
    async run(round, details = 'Working; see its pending activity.') {
      signaled = false;
      setCurrentDetails(details);
      return round();
    },
    async wait(round, state = stateOf(round)) {
      if (!round.ended) setStatus(state, round.reason, round.goesOn ? null : round.nextAt);
      const isDue = await continues(round);
      if (isDue && !isHistoryLong() && !isOld()) return true;
      await condition(allHandlersFinished);
      // An update that has just completed may have changed something. A new run starts with a round anyway.
      if (!isDue && signaled) return true;
      isOver = !isDue;
      if (isOver) {
        setStatus(state, round.reason);
        setCurrentDetails(`Ended: ${round.reason}.`);
      }
      return false;
    },
    async repeat(round) {
      let last: Round;
      do last = await loop.run(round);
      while (await loop.wait(last));
      return isOver ? last.reason : null;
    },
    runAgain,
    async serially(work) {
      running = running.then(work);
      await running;
    },
    setNote: (text) => void (note = text === '' ? '' : ` ${text}`),
    setStatus,
    status: () => status,
    get isOver() {
      return isOver;
    },
  };
  // Last, because signals that came with the start are handled immediately.
  for (const signal of signals) {
    const { name, handle } = typeof signal === 'string' ? { name: signal, handle: runAgain } : signal;
    setHandler(defineSignal<[unknown?]>(name), (argument) => handle(loop, argument), {
      description: SIGNALS[name],
    });
  }
  // Signals of other versions.
  setDefaultSignalHandler(runAgain);
  return loop;
}

/** Whether the workflow should continue as new. */
export const isHistoryLong = (): boolean =>
  workflowInfo().continueAsNewSuggested || workflowInfo().historyLength >= MAX_HISTORY;

const isOld = (): boolean => Date.now() - workflowInfo().runStartTime.getTime() >= MAX_AGE_MS;

/** `awaiting_payment` becomes `Awaiting payment`. */
const nameOf = (state: string): string => state.charAt(0).toUpperCase() + state.slice(1).replaceAll('_', ' ');

/** Updates the search attribute, unless the namespace lacks it. */
function setState(state: string): void {
  const before = workflowInfo().typedSearchAttributes.get(STATE);
  if (before !== undefined && before !== state) upsertSearchAttributes([{ key: STATE, value: state }]);
}

/** The state of a workflow that processes a table. */
const stateOf = ({ nextAt }: Round): string => (nextAt === null ? 'idle' : 'waiting');
