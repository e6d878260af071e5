import { expect, test } from 'vitest';
import { SegmentInput, SegmentPatch } from './segment.ts';

const of = (characters: number, conditions: number) => ({
  name: 'Long',
  when: Array.from({ length: conditions }, () => ({
    field: 'notes',
    op: 'contains',
    value: ['x'.repeat(characters)],
  })),
});

test('the values of a segment are bounded together, because a list of segments is read as a whole', () => {
  expect(SegmentInput.safeParse(of(500, 20)).success).toBe(true);
  const refused = SegmentInput.safeParse({
    name: 'Long',
    when: [...of(500, 19).when, { field: 'notes', value: Array.from({ length: 50 }, () => 'x'.repeat(500)) }],
  });
  expect(refused.error?.issues).toMatchObject([{ path: ['when'] }]);
  expect(SegmentPatch.safeParse({ name: 'Short' }).success).toBe(true);
});
