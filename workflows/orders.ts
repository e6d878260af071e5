import { ActivityFailure, ApplicationFailure, patched, setHandler } from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import type { WorkLoop } from './work-loop.ts';
import type { Order } from './messages/updates.ts';

/** Activity options for operators' updates. Short, because somebody waits for the verdict. */
export const OPERATOR = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
} as const;

const MAX_NAME = 200;
const MAX_REASON = 1000;

/**
 * Handles an operator's update: runs its command in the database, makes the next round due, and returns the verdict.
 * @param options.signalsItself the command signals the workflow if it changes anything, which makes the next round due.
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
      if (!(signalsItself && patched('orders signal themselves'))) loop.runAgain();
      return verdict;
    } catch (error) {
      throw error instanceof ActivityFailure && error.cause instanceof ApplicationFailure
        ? error.cause
        : error;
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

/** Validates an operator's input. @returns null if it is valid. */
function problemOf(order: unknown): string | null {
  const { by, reason } = (order ?? {}) as Record<string, unknown>;
  if (typeof by !== 'string' || by.trim() === '' || by.length > MAX_NAME)
    return 'by: the name of the operator is required';
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > MAX_REASON))
    return `reason: must be a text of at most ${MAX_REASON} characters`;
  return null;
}
