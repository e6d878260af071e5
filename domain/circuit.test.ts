import { expect, test } from 'vitest';
import { circuitAt, FAILED_ROUNDS_TO_OPEN } from './circuit.ts';

const NOW = new Date('2026-06-10T12:00:00Z');
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);
const after = (more: number, seconds: number) =>
  circuitAt({ failedRounds: FAILED_ROUNDS_TO_OPEN + more, lastFailedAt: ago(seconds) }, NOW);

test('the circuit stays closed after a few failures in a row', () => {
  expect(circuitAt({ failedRounds: 0, lastFailedAt: null }, NOW)).toEqual({ state: 'closed' });
  expect(after(-1, 0)).toEqual({ state: 'closed' });
});

test.each([
  [0, 15],
  [1, 30],
  [2, 60],
  [3, 120],
  [4, 240],
  [5, 300],
  [500, 300],
])('after %i further failures the circuit opens for %i seconds, then allows one trial', (more, seconds) => {
  expect(after(more, 0)).toEqual({ state: 'open', until: ago(-seconds) });
  expect(after(more, seconds - 1)).toEqual({ state: 'open', until: ago(-1) });
  expect(after(more, seconds)).toEqual({ state: 'trial' });
});
