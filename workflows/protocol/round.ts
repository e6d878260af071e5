/**
 * The age at which a run continues as new, so that no run needs much older code. One that waits does so at the end of its wait, which is
 * no longer than this: a timer ends it, or the sweep if there is none.
 */
export const MAX_AGE_MS = 30 * 24 * 3_600_000;

/** A sweep that finds so many workflows has probably not found all. */
export const MANY_OVERDUE = 4500;

/** The result of a round of work: when the next is due, and what the workflow waits for. */
export interface Round {
  /** ISO 8601; null: when a signal arrives. */
  nextAt: string | null;
  /** How long to wait until then, by PostgreSQL's clock, in milliseconds; absent in rounds of earlier releases. */
  waitMs?: number;
  /** What the workflow waits for, for operators. */
  reason: string;
  /** The work is over and the workflow may end. */
  ended?: boolean;
  /** The workflow waits without a timer for the next signal, however long that takes. Absent in rounds of earlier releases. */
  keepsOpen?: boolean;
  /** Worker processes take the next rounds; the workflow waits until there is something to see. The name is that of saved histories. */
  isPolled?: boolean;
  /** There is more to do: the next round starts immediately and waits until `nextAt` itself. */
  goesOn?: boolean;
}

export interface LineLocation {
  workspaceId: string;
  /** null: the line is not connected to a carrier. */
  carrier: string | null;
}

/** The state of a draft. */
export interface DraftRound extends Round {
  status: string;
  /** The channel through which it was resolved; null: not by a person. */
  approvalChannel: string | null;
  /** Another version is to be written. The draft stays open meanwhile; in rounds of earlier releases it is `waiting` again. */
  isRetrying?: true;
}

/** The state of a campaign. */
export interface CampaignRound extends Round {
  status: string;
  /** Some leads have not entered. */
  toEnter?: boolean;
  /** The archived campaign has data to clear. */
  toClear?: boolean;
  /** The number of leads in each state; null: not counted yet. */
  progress: {
    entered: number;
    running: number;
    finished: number;
    stopped: number;
    /** What the leads wait for, by hold reason. */
    waiting?: { reason: string; leads: number; lines: number }[];
  } | null;
}

/** The result of a round of work for a line. */
export interface LineRound extends Round {
  /** Set if the line is in another workspace or at another carrier than the round assumed. */
  home?: LineLocation;
  /** The line is paused. */
  isPaused?: boolean;
  /** The line cannot send until something changes, or its carrier accepts messages again. */
  isBlocked?: boolean;
  /** The number of consecutive rounds that no worker took: none serves the task queue, or all of them are busy. */
  roundsWithoutWorker?: number;
  /** All workers of the task queue were busy. */
  isQueued?: boolean;
  /** Nothing may be sent before the line's reputation has recovered. */
  isResting?: boolean;
}
