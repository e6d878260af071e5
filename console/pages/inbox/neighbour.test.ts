import { expect, test } from 'vitest';
import { neighbourOf } from './neighbour.ts';

const LIST = ['a', 'b', 'c', 'd', 'e'];

test('without a conversation that is open, the first one is next', () => {
  expect(neighbourOf(LIST, [], undefined, 1)).toBe('a');
  expect(neighbourOf(LIST, [], 'unknown', -1)).toBe('a');
  expect(neighbourOf([], [], undefined, 1)).toBeUndefined();
});

test('the list leads from one to the next, also with those that have come since', () => {
  expect([1, -1].map((by) => neighbourOf(LIST, LIST, 'c', by as 1 | -1))).toEqual(['d', 'b']);
  expect(neighbourOf(['new', ...LIST], LIST, 'c', 1)).toBe('d');
  expect(neighbourOf(LIST, LIST, 'e', 1)).toBeUndefined();
});

test('a conversation that has left the list, or moved to its beginning, is followed by the one that followed it', () => {
  expect([1, -1].map((by) => neighbourOf(['a', 'b', 'd', 'e'], LIST, 'c', by as 1 | -1))).toEqual(['d', 'b']);
  expect([1, -1].map((by) => neighbourOf(['c', 'a', 'b', 'd', 'e'], LIST, 'c', by as 1 | -1))).toEqual([
    'd',
    'b',
  ]);
  expect(neighbourOf(['a', 'e'], LIST, 'c', 1)).toBe('e');
  expect(neighbourOf(['c', 'd', 'e'], LIST, 'c', 1)).toBe('d');
});
