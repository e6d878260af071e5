import { expect, test } from 'vitest';
import { z } from 'zod';
import { growth, LINEAR } from '#test/support/growth.ts';
import { Instant, Moment } from './moment.ts';

/** Whether the published schema of an input allows a text. */
function isTold(schema: z.ZodType, text: string): boolean {
  const { pattern = '' } = z.toJSONSchema(schema, { io: 'input' });
  return new RegExp(pattern, 'u').test(text);
}

test.each([
  ['2026-12-24T10:00:00Z', '2026-12-24T10:00:00Z'],
  ['2026-12-24T10:00:00.000+0000', '2026-12-24T10:00:00.000+00:00'],
  ['2026-12-24t10:00:00z', '2026-12-24T10:00:00Z'],
  ['2026-12-24 10:00:00+00', '2026-12-24T10:00:00+00:00'],
  ['2026-12-24 10:00:00.123456+01:00', '2026-12-24T10:00:00.123456+01:00'],
  ['2026-12-24 10:00:00 -0500', '2026-12-24T10:00:00-05:00'],
  ['2026-12-24 10:00:00 UTC', '2026-12-24T10:00:00Z'],
  ['2026-12-24T10:00:00\u221205:00', '2026-12-24T10:00:00-05:00'],
  ['2026-12-24T10:00:00 02:00', '2026-12-24T10:00:00+02:00'],
  ['2026-12-24T10:00:00,5Z', '2026-12-24T10:00:00.5Z'],
  [' 2026-12-24T10:00:00Z\n', '2026-12-24T10:00:00Z'],
])('the instant %j is %s', (text, canonical) => {
  expect(Instant.parse(text)).toBe(canonical);
  expect(Moment.parse(text)).toBe(canonical);
  expect([isTold(Instant, text), isTold(Moment, text)]).toEqual([true, true]);
});

test.each([
  ['2026-12-24', '2026-12-24'],
  ['2026-12-24T10:00', '2026-12-24T10:00'],
  ['2026-12-24 10:00:00', '2026-12-24T10:00:00'],
])('the moment %j is %s, and no instant', (text, canonical) => {
  expect(Moment.parse(text)).toBe(canonical);
  expect(isTold(Moment, text)).toBe(true);
  expect(Instant.safeParse(text).success).toBe(false);
});

test.each(['24.12.2026', '1795919687', 'tomorrow'])('the schema tells that %j is neither', (text) => {
  expect([isTold(Instant, text), isTold(Moment, text)]).toEqual([false, false]);
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

test.each(['T00:', 'T00:+1', '2026-12-24T00:', 'T00: ', '+', ' '])(
  'a text that repeats %j is refused in linear time',
  (unit) => {
    const texts = (length: number) => unit.repeat(length / unit.length);
    expect(growth(texts, (text) => Instant.safeParse(text), 8000)).toBeLessThan(LINEAR);
  },
);
