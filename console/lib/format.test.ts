import { expect, test } from 'vitest';
import { bytesOf, clockOf } from './format.ts';

test('sizes have a unit that people read', () => {
  expect([0, 8, 24_400, 1_260_000, 25_000_000, 3_000_000_000].map(bytesOf)).toEqual([
    '1 kB',
    '1 kB',
    '24 kB',
    '1.3 MB',
    '25 MB',
    '3 GB',
  ]);
});

test('positions and lengths are minutes and seconds', () => {
  expect([0, 7.9, 67, 3600].map(clockOf)).toEqual(['0:00', '0:07', '1:07', '60:00']);
});
