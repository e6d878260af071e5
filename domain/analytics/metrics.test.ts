import { describe, expect, it } from 'vitest';
import { EXPLAINER, Metrics, metricsOf, NO_COUNTS, sumCounts } from './metrics.ts';

describe('metrics', () => {
  const counts = {
    reached: 4,
    sent: 9,
    fallback: 1,
    failed: 2,
    replied: 5,
    uniqueReplied: 3,
    positiveReplied: 1,
  };

  it('divide as documented', () => {
    expect(metricsOf(counts)).toEqual({ ...counts, repliedPct: 0.75, positivePct: 1 / 3 });
  });

  it('are 0 instead of a division by zero', () => {
    expect(metricsOf({ ...NO_COUNTS, uniqueReplied: 2, replied: 2 })).toMatchObject({
      repliedPct: 0,
      positivePct: 0,
    });
    expect(metricsOf(NO_COUNTS)).toMatchObject({ repliedPct: 0, positivePct: 0 });
  });

  it('are at most 1, though contacts reply to messages of an earlier period', () => {
    const replies = { ...NO_COUNTS, reached: 1, sent: 1, replied: 3, uniqueReplied: 3, positiveReplied: 3 };
    expect(metricsOf(replies)).toMatchObject({ repliedPct: 1, positivePct: 1 });
  });

  it('are summed over workspaces before they are divided', () => {
    const other = { ...NO_COUNTS, reached: 1, uniqueReplied: 1, positiveReplied: 1 };
    expect(metricsOf(sumCounts([counts, other]))).toMatchObject({
      reached: 5,
      repliedPct: 4 / 5,
      positivePct: 2 / 4,
    });
    expect(sumCounts([])).toEqual(NO_COUNTS);
  });

  it('are all explained', () => {
    expect(Object.keys(EXPLAINER)).toEqual(Object.keys(Metrics.shape));
  });
});
