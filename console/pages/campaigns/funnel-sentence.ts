import type { ResponseOf } from '#console/api/routes.ts';
import { pointsOf } from '#console/lib/format.ts';

export type FunnelStep = ResponseOf<'GET /api/campaigns/{id}/funnel'>['steps'][number];
type Metric = FunnelStep['comparisons'][number]['metric'];

const NOUNS: Record<Metric, string> = { replied: 'replies', optedOut: 'opt-outs' };

/** Which variants differ in a metric; null: there is nothing to compare. */
export function comparisonSentence(comparisons: FunnelStep['comparisons'], metric: Metric): string | null {
  const ofMetric = comparisons.filter((comparison) => comparison.metric === metric);
  if (ofMetric.length === 0) return null;
  const conclusive = ofMetric.filter((comparison) => comparison.conclusive);
  if (conclusive.length === 0) return `The ${NOUNS[metric]} do not tell the variants apart so far.`;
  return conclusive
    .map(({ variants: [first, second], difference, low, high }) => {
      const [more, fewer] = difference > 0 ? [first, second] : [second, first];
      const [least, most] = difference > 0 ? [low, high] : [-high, -low];
      return `${more} gets more ${NOUNS[metric]} than ${fewer}, by ${pointsOf(least)} to ${pointsOf(most)} percentage points.`;
    })
    .join(' ');
}
