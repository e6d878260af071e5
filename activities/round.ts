import type { Decision } from '#db/decisions.ts';
import type { Round } from '#workflows/messages/round.ts';

/** What a look at the tables came to, with what it is that the workflow waits for. */
export interface Look extends Decision {
  reason: string;
}

/** As the workflow is told of it. */
export const roundOf = ({ nextAt, reason, ended }: Look): Round => ({
  nextAt: nextAt?.toISOString() ?? null,
  reason,
  ...(ended && { ended }),
});

/** Something is due already: the round goes on. */
export const isDue = ({ nextAt }: Decision): boolean => nextAt !== null && nextAt.getTime() <= Date.now();
