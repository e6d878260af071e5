import { ActivityFailure, ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import { PRIORITY } from './protocol/task-queues.ts';
import type { DecidingSignal, WorkLoop } from './work-loop.ts';
import { isCommitted, type SignalName } from './protocol/signals.ts';
import type { Order } from './protocol/updates.ts';
import { UNTIL_DONE } from './retries.ts';

/** Activity options for operators' updates. Short, because somebody waits for the verdict. */
export const OPERATOR = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
  priority: { priorityKey: PRIORITY.order },
} as const;

/** Activity options for signals that operators send. Nobody waits, but the order must not be lost. */
export const SIGNALED = {
  startToCloseTimeout: '10s',
  retry: UNTIL_DONE,
} as const;

const MAX_NAME = 200;
const MAX_REASON = 1000;

/**
 * Handles an operator's update: runs its command in the database, makes the next round due, and returns the verdict.
 * @param options.signalsItself the command itself signals the workflow if it changes anything, which makes the next round due.
 * @param options.refusal returns why the workflow's last known state does not allow the order; null if it does.
 */
export function onOrder<Verdict, O extends Order>(
  update: UpdateDefinition<Verdict, [O]>,
  loop: WorkLoop,
  command: (order: O) => Promise<Verdict>,
  {
    description,
    refusal = () => null,
    signalsItself = false,
  }: { description: string; refusal?: () => string | null; signalsItself?: boolean },
): void {
  const handle = async (order: O): Promise<Verdict> => {
    try {
      const verdict = await command(order);
      if (!signalsItself) loop.runAgain();
      return verdict;
    } catch (error) {
      throw refusalOf(error) ?? error;
    }
  };
  const validator = (order: O): void => {
    const problem = problemOf(order);
    if (problem !== null) throw ApplicationFailure.nonRetryable(problem, 'VALIDATION_ERROR');
    const why = refusal();
    if (why !== null) throw ApplicationFailure.nonRetryable(why, 'INVALID_STATE');
  };
  setHandler(update, handle, { description, validator });
}

/**
 * A signal that the API sends after a change makes the next round due, like every other signal. If an operator sends it, from the
 * Temporal UI or CLI, it runs its command first. A refusal appears in the current details, because a signal has no result.
 */
export function decidesBy(name: SignalName, command: (order: Order) => Promise<unknown>): DecidingSignal {
  async function carryOut(argument: unknown): Promise<string> {
    const given = argument ?? {};
    if (!isObject(given)) return 'its argument must be an object: {by, reason}';
    const order = { by: 'Temporal signal', ...given };
    const problem = problemOf(order);
    if (problem !== null) return problem;
    try {
      await command(order);
      return '';
    } catch (error) {
      const refusal = refusalOf(error);
      if (!refusal) throw error;
      return refusal.message;
    }
  }
  return {
    name,
    handle(loop, argument) {
      if (isCommitted(argument)) return loop.runAgain();
      return loop.serially(async () => {
        const refusal = await carryOut(argument);
        loop.setNote(refusal && `The signal ${name} was refused: ${refusal}.`);
        loop.runAgain();
      });
    },
  };
}

const isObject = (value: unknown): value is Partial<Order> =>
  typeof value === 'object' && !Array.isArray(value);

/** The refusal of a command; null for any other error. */
const refusalOf = (error: unknown): ApplicationFailure | null =>
  error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : null;

/** Validates an operator's input. @returns null if it is valid. */
function problemOf(order: unknown): string | null {
  const { by, reason } = (order ?? {}) as Record<string, unknown>;
  if (typeof by !== 'string' || by.trim() === '') return 'by: the name of the operator is required';
  if (by.length > MAX_NAME) return `by: must be a text of at most ${MAX_NAME} characters`;
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON))
    return `reason: must be a text of at most ${MAX_REASON} characters`;
  return null;
}
