import { expect, test } from 'vitest';
import { bytesOf, clockOf, dayNameOf, moneyOf, relativeTimeOf } from './format.ts';

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

test('amounts are in the smallest unit of their currency', () => {
  expect([moneyOf(29_900, 'usd'), moneyOf(1234, 'eur'), moneyOf(500, 'jpy'), moneyOf(1500, 'kwd')]).toEqual([
    '$299.00',
    '€12.34',
    '¥500',
    'KWD\u00a01.500',
  ]);
});

test('positions and lengths are minutes and seconds', () => {
  expect([0, 7.9, 67, 3600].map(clockOf)).toEqual(['0:00', '0:07', '1:07', '60:00']);
});

test('the days around now have names', () => {
  const now = new Date('2026-11-02T12:00:00Z');
  expect(['2026-11-02T00:10:00Z', '2026-11-01T23:50:00Z'].map((at) => dayNameOf(at, 'UTC', now))).toEqual([
    'Today',
    'Yesterday',
  ]);
  expect(relativeTimeOf('2026-11-02T12:00:03Z', now)).toBe('now');
});
