import { expect, test } from 'vitest';
import { Instant, Moment } from './moment.ts';

test.each([
  ['2026-12-24T10:00:00Z', '2026-12-24T10:00:00Z'],
  ['2026-12-24T10:00:00.000+0000', '2026-12-24T10:00:00.000+00:00'],
  ['2026-12-24t10:00:00z', '2026-12-24T10:00:00Z'],
  ['2026-12-24 10:00:00+00', '2026-12-24T10:00:00+00:00'],
  ['2026-12-24 10:00:00.123456+01:00', '2026-12-24T10:00:00.123456+01:00'],
  ['2026-12-24 10:00:00 -0500', '2026-12-24T10:00:00-05:00'],
  ['2026-12-24 10:00:00 UTC', '2026-12-24T10:00:00Z'],
  ['2026-12-24T10:00:00\u221205:00', '2026-12-24T10:00:00-05:00'],
  ['2026-12-24T10:00:00,5Z', '2026-12-24T10:00:00.5Z'],
  [' 2026-12-24T10:00:00Z\n', '2026-12-24T10:00:00Z'],
])('the instant %j is %s', (text, canonical) => {
  expect(Instant.parse(text)).toBe(canonical);
  expect(Moment.parse(text)).toBe(canonical);
});

test.each([
  ['2026-12-24', '2026-12-24'],
  ['2026-12-24T10:00', '2026-12-24T10:00'],
  ['2026-12-24 10:00:00', '2026-12-24T10:00:00'],
])('the moment %j is %s, and no instant', (text, canonical) => {
  expect(Moment.parse(text)).toBe(canonical);
  expect(Instant.safeParse(text).success).toBe(false);
});

test.each([
  '24.12.2026',
  '12/24/2026 10:00',
  '2026-13-01T10:00:00Z',
  '2026-12-24T25:00:00Z',
  '1795919687',
  'tomorrow',
  '',
])('%j is neither', (text) => {
  expect(Instant.safeParse(text).success).toBe(false);
  expect(Moment.safeParse(text).success).toBe(false);
});
