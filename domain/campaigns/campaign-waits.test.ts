import { expect, test } from 'vitest';
import { waitsText } from './campaign-waits.ts';

test('says how many leads wait for what, and on how many lines', () => {
  expect(waitsText([])).toBe('');
  expect(waitsText([{ reason: 'line_paused', leads: 3, lines: 1 }])).toBe('3 wait: line_paused on 1 line');
  expect(
    waitsText([
      { reason: 'daily_new_cap', leads: 40, lines: 2 },
      { reason: 'no_line', leads: 1, lines: 0 },
    ]),
  ).toBe('40 wait: daily_new_cap on 2 lines, 1: no_line');
});
