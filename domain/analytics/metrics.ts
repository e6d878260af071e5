import { z } from 'zod';
import { POSITIVE_TAGS } from '../shared/positive-tags.ts';

/** The counts from which metrics are computed. */
export const Counts = z.object({
  reached: z.int(),
  sent: z.int(),
  fallback: z.int(),
  failed: z.int(),
  replied: z.int(),
  uniqueReplied: z.int(),
  positiveReplied: z.int(),
});
export type Counts = z.infer<typeof Counts>;

const Ratio = z
  .number()
  .min(0)
  .max(1)
  .meta({ description: 'A ratio as a decimal, for example 0.25; 0 if the denominator is 0.' });

const { positiveReplied, ...others } = Counts.shape;

/** In the order of the columns of the CSV export. */
export const Metrics = z
  .object({ ...others, repliedPct: Ratio, positiveReplied, positivePct: Ratio })
  .meta({ id: 'Metrics' });
export type Metrics = z.infer<typeof Metrics>;

export const EXPLAINER: Record<keyof Metrics, string> = {
  reached: 'Distinct contacts with at least one outbound message that was sent or delivered.',
  sent: 'Outbound messages that were sent or delivered.',
  fallback:
    'Outbound messages whose recipient could not be reached on the primary channel, or that were sent as fallback SMS.',
  failed: 'Outbound messages that failed.',
  replied: 'All inbound messages, including automatic replies.',
  uniqueReplied: 'Distinct contacts with at least one reply that is not automatic.',
  repliedPct: 'uniqueReplied / reached, at most 1; 0 if nobody was reached.',
  positiveReplied: `The contacts of uniqueReplied whose conversation has a positive tag: ${POSITIVE_TAGS.join(', ')}.`,
  positivePct: 'positiveReplied / uniqueReplied; 0 if nobody replied.',
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

/** Adds the ratios. More contacts may reply in a period than were reached in it: `repliedPct` is 1 then. */
export function metricsOf({ positiveReplied, ...counts }: Counts): Metrics {
  return {
    ...counts,
    repliedPct: ratio(counts.uniqueReplied, counts.reached),
    positiveReplied,
    positivePct: ratio(positiveReplied, counts.uniqueReplied),
  };
}

/** The totals of several workspaces; a contact of two workspaces counts twice. */
export function sumCounts(all: readonly Counts[]): Counts {
  const total = { ...NO_COUNTS };
  for (const counts of all) {
    for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += counts[name];
  }
  return total;
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));
