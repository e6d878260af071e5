import { expect, test } from 'vitest';
import { callHistoryOf, type CallRound, circuitAt, FAILED_ROUNDS_TO_OPEN } from './circuit.ts';

const NOW = new Date('2026-06-10T12:00:00Z');
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);
const NONE = { failedRounds: 0, ofLineRounds: 0, failing: false, lastFailedAt: null };
const after = (more: number, seconds: number) =>
  circuitAt({ ...NONE, failedRounds: FAILED_ROUNDS_TO_OPEN + more, lastFailedAt: ago(seconds) }, NOW);

test('the circuit stays closed after a few failures in a row', () => {
  expect(circuitAt(NONE, NOW)).toEqual({ state: 'closed' });
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
  expect(after(more, 0)).toEqual({ state: 'open', until: ago(-seconds), trials: more });
  expect(after(more, seconds - 1)).toEqual({ state: 'open', until: ago(-1), trials: more });
  expect(after(more, seconds)).toEqual({ state: 'trial', trials: more });
});

const round = (fields: Partial<CallRound> & { seconds: number }): CallRound => ({
  failed: true,
  ofLine: false,
  running: false,
  isReturned: false,
  endedAt: ago(fields.seconds),
  ...fields,
});

test('an answer about the line opens the circuit at once, and each further failure doubles its pause', () => {
  const first = round({ seconds: 10, ofLine: true });
  expect(circuitAt(callHistoryOf([first], NOW), NOW)).toEqual({ state: 'open', until: ago(-5), trials: 0 });
  const second = round({ seconds: 1 });
  expect(circuitAt(callHistoryOf([second, first], NOW), NOW)).toEqual({
    state: 'open',
    until: ago(-29),
    trials: 1,
  });
  const answered = round({ seconds: 5, failed: false });
  expect(circuitAt(callHistoryOf([second, answered, first], NOW), NOW)).toEqual({
    state: 'closed',
    failing: true,
  });
});

test('a call that has not ended does not make the line fail', () => {
  expect(circuitAt(callHistoryOf([round({ seconds: 1, running: true })], NOW), NOW)).toEqual({
    state: 'closed',
  });
});

test('after a message was returned, another shows that the line sends once it was not returned for two minutes', () => {
  const returned = round({ seconds: 200, ofLine: true, isReturned: true });
  const accepted = (seconds: number) => round({ seconds, failed: false });
  const stateOf = (...rounds: CallRound[]) => circuitAt(callHistoryOf(rounds, NOW), NOW);
  expect(stateOf(accepted(10), returned)).toEqual({ state: 'open', until: ago(-20), trials: 1 });
  expect(stateOf(accepted(10), accepted(60), returned)).toMatchObject({ state: 'open', trials: 2 });
  expect(stateOf(accepted(10), accepted(120), returned)).toEqual({ state: 'closed' });
  expect(stateOf(accepted(10), round({ seconds: 200, ofLine: true }))).toEqual({ state: 'closed' });
});
