import { expect, test } from 'vitest';
import { isId, newId } from './ids.ts';

test('ids sort by the time of their creation, within a millisecond by their order', () => {
  const at = Date.parse('2026-03-01T12:00:00.998Z');
  const ids = [0, 0, 0, 1, 2, 1002].map((after) => newId(new Date(at + after)));
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every(isId)).toBe(true);
  expect(Number.parseInt(ids[0]?.slice(0, 8) ?? '', 16)).toBe(Math.floor(at / 1000));
});
