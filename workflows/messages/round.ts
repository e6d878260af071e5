/** What a round of work ends with: when there is more to do, and why not now. */
export interface Round {
  /** ISO 8601; null: nothing is due until somebody says so. */
  nextAt: string | null;
  /** For the operator: what it waits for. */
  reason: string;
  /** Nothing will ever be due again: the workflow may end. */
  ended?: boolean;
}

export interface LineHome {
  workspaceId: string;
  /** null: it is not connected to a carrier. */
  carrier: string | null;
}

/** What a draft is at. */
export interface DraftRound extends Round {
  status: string;
  /** Through which channel it was settled; null: no person did. */
  approvalChannel: string | null;
}

/** What a campaign is at. */
export interface CampaignRound extends Round {
  status: string;
  /** Leads of its list have yet to enter. */
  toEnter?: boolean;
  /** What an archived campaign has left behind is to be cleared away. */
  toClear?: boolean;
  /** How many leads are where in it; null: not counted yet. */
  progress: { entered: number; running: number; finished: number; stopped: number } | null;
}

/** A round of work about a line. */
export interface LineRound extends Round {
  /** Where the line is now, when that is not where the round was told it is. */
  home?: LineHome;
  /** An operator has paused it. */
  isPaused?: boolean;
}
