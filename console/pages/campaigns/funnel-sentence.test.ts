import { expect, test } from 'vitest';
import { comparisonSentence, type FunnelStep } from './funnel-sentence.ts';

const comparison = (
  fields: Partial<FunnelStep['comparisons'][number]>,
): FunnelStep['comparisons'][number] => ({
  variants: ['A', 'B'],
  metric: 'replied',
  difference: 0.06,
  low: 0.035,
  high: 0.0851,
  conclusive: true,
  ...fields,
});

test('says which variant gets more, and by how much', () => {
  const replied = 'A gets more replies than B, by 3.5 to 8.5 percentage points.';
  expect(comparisonSentence([comparison({})], 'replied')).toBe(replied);
  const fewer = comparison({ metric: 'optedOut', difference: -0.02, low: -0.03, high: -0.01 });
  expect(comparisonSentence([comparison({}), fewer], 'optedOut')).toBe(
    'B gets more opt-outs than A, by 1 to 3 percentage points.',
  );
});

test('says that there is no significant difference yet, and is empty without a comparison', () => {
  const unclear = comparison({ low: -0.01, conclusive: false });
  expect(comparisonSentence([unclear], 'replied')).toBe('The replies do not tell the variants apart so far.');
  expect(comparisonSentence([unclear], 'optedOut')).toBeNull();
});
