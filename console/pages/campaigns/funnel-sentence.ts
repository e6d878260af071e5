import { t } from '@lingui/core/macro';
import type { ResponseOf } from '#console/api/routes.ts';
import { pointsOf } from '#console/lib/format.ts';

export type FunnelStep = ResponseOf<'GET /api/campaigns/{id}/funnel'>['steps'][number];
type Metric = FunnelStep['comparisons'][number]['metric'];

const TEXTS = {
  replied: {
    unclear: () => t`The replies do not tell the variants apart so far.`,
    clear: (more: string, fewer: string, least: string, most: string) =>
      t`${more} gets more replies than ${fewer}, by ${least} to ${most} percentage points.`,
  },
  optedOut: {
    unclear: () => t`The opt-outs do not tell the variants apart so far.`,
    clear: (more: string, fewer: string, least: string, most: string) =>
      t`${more} gets more opt-outs than ${fewer}, by ${least} to ${most} percentage points.`,
  },
} satisfies Record<Metric, unknown>;

/** Which variants differ in a metric; null: there is nothing to compare. */
export function comparisonSentence(comparisons: FunnelStep['comparisons'], metric: Metric): string | null {
  const ofMetric = comparisons.filter((comparison) => comparison.metric === metric);
  if (ofMetric.length === 0) return null;
  const conclusive = ofMetric.filter((comparison) => comparison.conclusive);
  const { unclear, clear } = TEXTS[metric];
  if (conclusive.length === 0) return unclear();
  return conclusive
    .map(({ variants: [first = '', second = ''], difference, low, high }) =>
      difference > 0
        ? clear(first, second, pointsOf(low), pointsOf(high))
        : clear(second, first, pointsOf(-high), pointsOf(-low)),
    )
    .join(' ');
}
