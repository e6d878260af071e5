import { expect, test } from 'vitest';
import { delaysUnderCap } from './person-cap.ts';

const DAY = 86_400_000;
const days = (delays: number[], cap: { messages: number; days: number } | null) =>
  delaysUnderCap(
    delays.map((one) => one * DAY),
    cap,
  ).map((delay) => delay / DAY);

test.each([
  ['none', [0, 2, 2], null, [0, 2, 2]],
  ['one a week', [0, 2, 2, 9], { messages: 1, days: 7 }, [0, 7, 7, 9]],
  ['two a week', [1, 1, 1, 1, 1], { messages: 2, days: 7 }, [1, 1, 6, 1, 6]],
  ['more than the steps', [0, 0], { messages: 5, days: 7 }, [0, 0]],
])('a cap of %s', (_, delays, cap, expected) => {
  expect(days(delays, cap)).toEqual(expected);
});
