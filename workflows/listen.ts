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
import type { Round } from './messages/round.ts';
import { STATE } from './messages/search-attributes.ts';
import { type SignalName, SIGNALS } from './messages/signals.ts';
import { type Status, statusQuery } from './messages/queries.ts';

/**
 * The number of events after which a workflow continues as new. A worker whose cache is full replays the whole history at
 * each task, at about half a millisecond per event. Temporal suggests a new history only after 4,096 events.
 */
const LONG_HISTORY = 250;

/** An idle workflow ends after this time. The next signal starts it again. */
const LONGEST_IDLE = '1 day';

/** The signals that a workflow has received, and its status. */
export interface News {
  /** Whether a signal or an update arrived since the last look started. */
  any(): boolean;
  /** Has the workflow look again, as a signal does: an operator's update changed something. */
  tell(what: string): void;
  /**
   * Looks at the database. Clears the signals before, since later commits send new ones.
   * @param details what the Temporal UI shows meanwhile.
   */
  after<T>(look: () => Promise<T>, details?: string): Promise<T>;
  /**
   * Waits until the next round is due or a signal arrives.
   * @param state the value of the search attribute `State` in the meantime.
   * @returns true if the next round is due; false if the workflow ends (`isOver`) or must continue as new.
   */
  until(round: Round, state?: string): Promise<boolean>;
  /** Sets the status and the search attribute `State`. */
  is(state: string, reason: string, until?: string | null): void;
  status(): Status;
  /** Whether the workflow ends instead of continuing as new. */
  readonly isOver: boolean;
}

/** Handles the named signals. They carry no data: each only has the workflow look at PostgreSQL again. */
export function listen(...signals: SignalName[]): News {
  let heard: string[] = [];
  let isOver = false;
  let status: Status = {
    state: workflowInfo().typedSearchAttributes.get(STATE) ?? 'idle',
    reason: 'it has just started',
    until: null,
  };
  const any = (): boolean => heard.length > 0;
  const tell = (what: string): void => void heard.push(what);
  for (const name of signals)
    setHandler(defineSignal(name), () => tell(name), { description: SIGNALS[name] });
  // Signals of another version; before signals had names, there was only `wake`.
  setDefaultSignalHandler((name) => tell(name));
  setHandler(statusQuery, () => status, { description: 'What it waits for.' });

  function is(state: string, reason: string, until: string | null = null): void {
    status = { state, reason, until };
    setState(state);
    const again = until === null ? '' : ` Checks again by **${until.replace(/\.\d+/, '')}**.`;
    setCurrentDetails(`${nameOf(state)}: ${reason}.${again}`);
  }

  /** @returns false if the workflow may end: its work is over, or it was idle for too long. */
  async function wait({ nextAt, reason, ended, goesOn }: Round): Promise<boolean> {
    if (any() || goesOn) return true;
    if (ended) return false;
    if (nextAt === null)
      return condition(any, LONGEST_IDLE, { summary: `${reason}; ends if it stays idle for a day` });
    const ms = Date.parse(nextAt) - Date.now();
    if (ms > 0) await condition(any, ms, { summary: reason });
    return true;
  }

  return {
    any,
    tell,
    async after(look, details = 'Working; see its pending activity.') {
      heard = [];
      setCurrentDetails(details);
      return look();
    },
    async until(round, state = stateOf(round)) {
      if (!round.ended) is(state, round.reason, round.goesOn ? null : round.nextAt);
      const continues = await wait(round);
      if (continues && !isLongEnough()) return true;
      await condition(allHandlersFinished);
      // An update that has just ended may have changed something. A new history looks anyway.
      if (!continues && any()) return true;
      isOver = !continues;
      if (isOver) {
        is(state, round.reason);
        setCurrentDetails(`Ended: ${round.reason}.`);
      }
      return false;
    },
    is,
    status: () => status,
    get isOver() {
      return isOver;
    },
  };
}

/** Whether the workflow should continue as new. */
export const isLongEnough = (): boolean =>
  workflowInfo().continueAsNewSuggested || workflowInfo().historyLength >= LONG_HISTORY;

/** `awaiting_payment` becomes `Awaiting payment`. */
const nameOf = (state: string): string => state.charAt(0).toUpperCase() + state.slice(1).replaceAll('_', ' ');

/** Updates the search attribute, unless the namespace lacks it. */
function setState(state: string): void {
  const before = workflowInfo().typedSearchAttributes.get(STATE);
  if (before !== undefined && before !== state) upsertSearchAttributes([{ key: STATE, value: state }]);
}

/** The state of a workflow that processes a table. */
const stateOf = ({ nextAt }: Round): string => (nextAt === null ? 'idle' : 'waiting');
