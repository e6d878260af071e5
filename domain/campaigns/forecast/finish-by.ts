import { z } from 'zod';
import { daysUntil, type ForecastResult } from './forecast.ts';
import type { LinesFor } from './lines-for.ts';

/** Whether a campaign finishes in time. */
export const FinishBy = z
  .object({
    at: z.iso.datetime(),
    isPossible: z.boolean().meta({ description: 'Whether it finishes by then, as things are.' }),
    lines: z.int().nullable().meta({
      description:
        'The fewest lines, with those that it has, with which it finishes by the end of that day; null: more lines alone do not make it possible.',
    }),
  })
  .meta({ id: 'ForecastFinishBy' });
type FinishBy = z.infer<typeof FinishBy>;

/** Whether the deadline of a campaign is kept, and with how many lines it would be. Pure: the plan has the time. */
export function finishOf(
  finishBy: Date,
  {
    completesAt,
    limitedBy,
    linesFor,
  }: Pick<ForecastResult, 'completesAt' | 'limitedBy'> & { linesFor: readonly LinesFor[] },
  { timezone, now }: { timezone: string; now: Date },
): FinishBy {
  // Without an end, nothing is left, or something holds it.
  const isPossible = completesAt === null ? limitedBy.length === 0 : completesAt <= finishBy;
  const days = finishBy > now ? daysUntil(timezone, now, finishBy) : 0;
  const enough = linesFor.filter((one) => one.days <= days).map(({ lines }) => lines);
  return {
    at: finishBy.toISOString(),
    isPossible,
    lines: enough.length > 0 ? Math.min(...enough) : null,
  };
}
