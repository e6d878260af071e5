import type { Channel } from '#domain/base/channel.ts';
import type { LineHistory, PacedLine } from '#domain/sending/holds.ts';
import type { LineChange } from './line-changes.ts';
import type { SendTimes } from './send-times.ts';

/** A line of the forecast, with the messages that already wait on it. */
export interface ForecastLine {
  line: PacedLine;
  history: LineHistory;
  /** How its reputation will change its rules, in chronological order. */
  changes?: readonly LineChange[];
  /** Its share of the leads among the lines; 1 for all without a pool. */
  weight: number;
  /** The leads whom the line already knows. */
  knownLeads?: number;
  waiting: readonly WaitingMessages[];
}

/** Messages of a line's queue that the rules treat alike. */
export interface WaitingMessages {
  isNew: boolean;
  times: SendTimes;
  /** By the hour: when the first of its messages is due, now at the earliest, and the last. */
  due: { first: Date; last: Date; count: number }[];
  /** The steps that follow these messages of a campaign. */
  later?: readonly { delayMs: number; count: number }[];
  /** Counted in the forecast. */
  isCounted: boolean;
}

export interface ForecastStep {
  channel: Channel;
  /** The channels of lines that can send it. */
  carriers: readonly Channel[];
  delayMs: number;
}

/** Leads with the same allowed hours. */
export interface LeadPlace {
  /** How many of the leads, relative to the other places. */
  share: number;
  times: SendTimes;
}

export interface ForecastPlan {
  now: Date;
  timezone: string;
  lines: readonly ForecastLine[];
  /** Leads who enter now and get each step. */
  leads: number;
  steps: readonly ForecastStep[];
  places: readonly LeadPlace[];
  /** Whether a contact keeps one line. */
  sticky: boolean;
}

/** Called with the messages of a step that were sent, and when the last of them was. */
export type Count = (step: number, isNew: boolean, sent: number, to: number) => void;
