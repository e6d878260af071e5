import { currentTime } from '#domain/clock.ts';
import type { Decision } from '#db/decisions.ts';
import type { Round } from '#workflows/messages/round.ts';

/** A decision about the next round, with what the workflow waits for. */
export interface Look extends Decision {
  reason: string;
}

/** The decision as the workflow gets it. */
export const roundOf = ({ nextAt, reason, ended, keepsOpen }: Look): Round => ({
  nextAt: nextAt?.toISOString() ?? null,
  reason,
  ...(ended && { ended }),
  ...(keepsOpen && { keepsOpen }),
});

/** Whether something is due now, so that the round continues. */
export const isDue = ({ nextAt }: Decision): boolean =>
  nextAt !== null && nextAt.getTime() <= currentTime().getTime();
