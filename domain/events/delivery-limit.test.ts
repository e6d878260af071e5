import { expect, test } from 'vitest';
import { FIRST_LIMIT, HIGHEST_LIMIT, nextLimit } from './delivery-limit.ts';

test('an endpoint that answers all of its deliveries at the same moment reaches the highest limit within ten times', () => {
  let limit = FIRST_LIMIT;
  for (let time = 0; time < 10; time += 1) {
    for (let inProgress = limit; inProgress > 0; inProgress -= 1) limit = nextLimit(limit, inProgress, true);
  }
  expect(limit).toBe(HIGHEST_LIMIT);
});

test('an endpoint that gets half of what it may get is not given more', () => {
  expect(nextLimit(20, 10, true)).toBe(20);
});

test('an endpoint that fails gets half, and never fewer than at first', () => {
  expect([nextLimit(64, 64, false), nextLimit(9, 9, false)]).toEqual([32, FIRST_LIMIT]);
});
