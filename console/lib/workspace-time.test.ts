import { expect, test } from 'vitest';
import { momentIn } from './workspace-time.ts';

test('a time of a zone is a moment, also on the days when clocks change', () => {
  const at = (zone: string, local: string): string => momentIn(zone, local).toISOString();
  expect(at('UTC', '2026-05-12T09:00')).toBe('2026-05-12T09:00:00.000Z');
  expect(at('Asia/Tokyo', '2026-05-12T09:00')).toBe('2026-05-12T00:00:00.000Z');
  expect(at('America/Los_Angeles', '2026-01-12T09:00')).toBe('2026-01-12T17:00:00.000Z');
  expect(at('Europe/Berlin', '2026-03-29T09:00')).toBe('2026-03-29T07:00:00.000Z');
  expect(at('Europe/Berlin', '2026-03-29T01:30')).toBe('2026-03-29T00:30:00.000Z');
  expect(at('Europe/Berlin', '2026-10-25T09:00')).toBe('2026-10-25T08:00:00.000Z');
});
