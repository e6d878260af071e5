import { ActivityFailure, ApplicationFailure, setHandler } from '@temporalio/workflow';
import type { UpdateDefinition } from '@temporalio/common';
import type { News } from './listen.ts';
import type { Order } from './messages/updates.ts';

/** Activity options for operators' updates. Short, because somebody waits for the verdict. */
export const OPERATOR = {
  startToCloseTimeout: '10s',
  scheduleToCloseTimeout: '30s',
  retry: { initialInterval: '200ms', maximumInterval: '5s' },
} as const;

const LONGEST_NAME = 200;
const LONGEST_REASON = 1000;

/**
 * Handles an operator's update: runs its command in the database, has the workflow look again, and returns the verdict.
 * @param options.refusal returns why the workflow's known state does not allow the order; null if it may.
 */
export function onOrder<Verdict, O extends Order>(
  update: UpdateDefinition<Verdict, [O]>,
  news: News,
  command: (order: O) => Promise<Verdict>,
  { description, refusal = () => null }: { description: string; refusal?: () => string | null },
): void {
  const handle = async (order: O): Promise<Verdict> => {
    try {
      const verdict = await command(order);
      news.tell(update.name);
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

/** Validates what operators typed. @returns null if it is valid. */
function problemOf(order: unknown): string | null {
  const { by, reason } = (order ?? {}) as Record<string, unknown>;
  if (typeof by !== 'string' || by.trim() === '' || by.length > LONGEST_NAME)
    return 'by: the name of the operator is required';
  if (reason !== undefined && (typeof reason !== 'string' || reason.length > LONGEST_REASON))
    return `reason: must be a text of at most ${LONGEST_REASON} characters`;
  return null;
}
