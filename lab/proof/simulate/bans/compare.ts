import type { ReputationPolicy } from '../../../../domain/lines/reputation.ts';
import { seeded } from '../workload.ts';
import { makeLeads } from './leads.ts';
import { drawRules } from './rules.ts';
import { type LineOutcome, runLine } from './run-line.ts';

export const DAYS = 90;
export const LINES = 10;

/** The lines of one carrier with one policy. */
export interface SeedOutcome {
  seed: number;
  bans: number;
  replies: number;
  reached: number;
  /** From a lead's time to its first message, on average. */
  waitDays: number;
  lines: LineOutcome[];
}

/**
 * Runs the lines of one carrier, whose hidden rules the seed draws. The leads depend on the seed only, so that policies are
 * compared with the same people.
 */
export function runSeed(
  seed: number,
  policy: ReputationPolicy,
  replacedAfter: number,
  lines = LINES,
): SeedOutcome {
  const rules = drawRules(seeded(seed * 7919));
  const outcomes = Array.from({ length: lines }, (_, line) => {
    const leads = makeLeads(DAYS, seeded(seed * 104_729 + line));
    return runLine(`seed ${seed} line ${line}`, leads, rules, policy, { days: DAYS, replacedAfter });
  });
  const sum = (of: (outcome: LineOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  const reached = sum((outcome) => outcome.reached);
  return {
    seed,
    bans: sum(({ bans }) => bans.length),
    replies: sum(({ replies }) => replies),
    reached,
    waitDays: sum((outcome) => outcome.waitDays * outcome.reached) / Math.max(1, reached),
    lines: outcomes,
  };
}
