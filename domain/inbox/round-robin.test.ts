import { expect, test } from 'vitest';
import { dealOut } from './round-robin.ts';

test('conversations go to whoever has the fewest, in turn', () => {
  const members = [
    { userId: 'c', open: 0 },
    { userId: 'a', open: 2 },
    { userId: 'b', open: 0 },
  ];
  expect(dealOut(members, 6)).toEqual(['b', 'c', 'b', 'c', 'a', 'b']);
  expect(dealOut([], 3)).toEqual([]);
});
