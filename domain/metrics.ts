import { z } from 'zod';

/** What is counted, before ratios are made of it. */
export interface Counts {
  reached: number;
  sent: number;
  fallback: number;
  failed: number;
  replied: number;
  uniqueReplied: number;
  positiveReplied: number;
}

const Ratio = z
  .number()
  .min(0)
  .meta({ description: 'A decimal, 0.25 for a quarter; 0 when there is nothing to divide by.' });

export const Metrics = z
  .object({
    reached: z.int(),
    sent: z.int(),
    fallback: z.int(),
    failed: z.int(),
    replied: z.int(),
    uniqueReplied: z.int(),
    repliedPct: Ratio,
    positiveReplied: z.int(),
    positivePct: Ratio,
  })
  .meta({ id: 'Metrics' });
export type Metrics = z.infer<typeof Metrics>;

/** The tags that make a conversation a positive one, compared without regard to case. */
export const POSITIVE_TAGS = ['interested', 'to respond', 'to-answer', 'to_answer'] as const;

export const EXPLAINER: Record<keyof Metrics, string> = {
  reached: 'Distinct contacts with at least one outbound message that was sent or delivered.',
  sent: 'Outbound messages that were sent or delivered, each one counted.',
  fallback:
    'Outbound messages whose recipient the primary channel could not reach, or that went out as fallback SMS.',
  failed: 'Outbound messages that failed.',
  replied: 'All inbound messages, automatic answers included.',
  uniqueReplied: 'Distinct contacts who replied at least once, by more than an automatic answer.',
  repliedPct: 'uniqueReplied / reached, from 0 to 1; 0 when nobody was reached.',
  positiveReplied: `Of uniqueReplied, the contacts whose conversation has a positive tag: ${POSITIVE_TAGS.join(', ')}.`,
  positivePct: 'positiveReplied / uniqueReplied, from 0 to 1; 0 when nobody replied.',
};

export const NO_COUNTS: Counts = {
  reached: 0,
  sent: 0,
  fallback: 0,
  failed: 0,
  replied: 0,
  uniqueReplied: 0,
  positiveReplied: 0,
};

/**
 * The metrics of what was counted. More contacts may reply in a window than were reached in it, hence `repliedPct`
 * can exceed 1: it is the quotient of its definition and is not cut.
 */
export function metricsOf({ positiveReplied, ...counts }: Counts): Metrics {
  return {
    ...counts,
    repliedPct: ratio(counts.uniqueReplied, counts.reached),
    positiveReplied,
    positivePct: ratio(positiveReplied, counts.uniqueReplied),
  };
}

/** Of several workspaces together: a contact of two of them counts in each. */
export function sumCounts(all: readonly Counts[]): Counts {
  const total = { ...NO_COUNTS };
  for (const counts of all) {
    for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
  }
  return total;
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
