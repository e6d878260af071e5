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
 * A worker with more workflows than its cache holds replays, at each turn of one, all that it did so far: about half
 * a millisecond of processor time an event. Temporal itself suggests a new history after 4,096 events only.
 */
const LONG_HISTORY = 250;

/** A workflow that is idle this long ends; whoever needs it starts it again by a signal. */
const LONGEST_IDLE = '1 day';

export interface News {
  /** Whether something was heard since the last look began. */
  any(): boolean;
  /** As if it had been heard: an operator's update changed something. */
  tell(what: string): void;
  /** A look at what is true. Forgets what was heard before it begins: what is committed from then on is heard again. */
  after<T>(look: () => Promise<T>): Promise<T>;
  /**
   * Waits until the next round is due, or something is heard.
   * @param state the workflow is found by it meanwhile.
   * @returns true: it is time for that round; false: the workflow has come to its end (`isOver`), or its history has
   *   grown long.
   */
  until(round: Round, state?: string): Promise<boolean>;
  /** What it is at; workflows are found by `state`. */
  is(state: string, reason: string, until?: string | null): void;
  status(): Status;
  /** Whether the workflow ends, rather than go on in a new history. */
  readonly isOver: boolean;
}

/** Listens for what happens, by name. What is true is PostgreSQL's: news only says when to look again. */
export function listen(...signals: SignalName[]): News {
  let heard: string[] = [];
  let isOver = false;
  let status: Status = {
    state: workflowInfo().typedSearchAttributes.get(STATE) ?? 'idle',
    reason: 'It begins.',
    until: null,
  };
  const any = (): boolean => heard.length > 0;
  const tell = (what: string): void => void heard.push(what);
  for (const name of signals)
    setHandler(defineSignal(name), () => tell(name), { description: SIGNALS[name] });
  // From processes of another version: before signals had names, the only one was `wake`.
  setDefaultSignalHandler((name) => tell(name));
  setHandler(statusQuery, () => status, { description: 'What it waits for.' });

  function is(state: string, reason: string, until: string | null = null): void {
    status = { state, reason, until };
    setState(state);
    setCurrentDetails(
      until === null ? `${nameOf(state)}: ${reason}.` : `Waits until **${until}**: ${reason}.`,
    );
  }

  /** @returns false when nothing came for as long as it was to wait. */
  async function wait({ nextAt, reason, ended }: Round): Promise<boolean> {
    if (any()) return true;
    if (ended) return false;
    if (nextAt === null) return condition(any, LONGEST_IDLE, { summary: 'Ends when nothing comes' });
    const ms = Date.parse(nextAt) - Date.now();
    if (ms > 0) await condition(any, ms, { summary: reason });
    return true;
  }

  return {
    any,
    tell,
    async after(look) {
      heard = [];
      setCurrentDetails('Working: its pending activity says at what.');
      return look();
    },
    async until(round, state = stateOf(round)) {
      if (!round.ended) is(state, round.reason, round.nextAt);
      const goesOn = await wait(round);
      if (goesOn && !isLongEnough()) return true;
      await condition(allHandlersFinished);
      // An update that ended just now may have changed something; a new history looks by itself.
      if (!goesOn && any()) return true;
      isOver = !goesOn;
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

/** Whether the workflow is to go on in a new history. */
export const isLongEnough = (): boolean =>
  workflowInfo().continueAsNewSuggested || workflowInfo().historyLength >= LONG_HISTORY;

/** `awaiting_payment` reads `Awaiting payment`. */
const nameOf = (state: string): string => state.charAt(0).toUpperCase() + state.slice(1).replaceAll('_', ' ');

/** Workflows are found by it. A namespace without the attribute has none to change. */
function setState(state: string): void {
  const before = workflowInfo().typedSearchAttributes.get(STATE);
  if (before !== undefined && before !== state) upsertSearchAttributes([{ key: STATE, value: state }]);
}

/** What a workflow that works off a table is at. */
const stateOf = ({ nextAt }: Round): string => (nextAt === null ? 'idle' : 'waiting');
