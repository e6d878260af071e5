import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { isLinearizable, type Model, type Operation } from './checker.ts';

type Input = { write: number } | 'read';
type Output = number | 'ok';
type History = Operation<Input, Output>[];

const register: Model<number, Input, Output> = {
  initial: 0,
  step(state, input, output) {
    if (input === 'read') return output === state || output === undefined ? [state] : [];
    return output === 'ok' || output === undefined ? [input.write] : [];
  },
};
const write = (value: number, from: number, to: number): History[number] => ({
  input: { write: value },
  output: to === Infinity ? undefined : 'ok',
  from,
  to,
});
const read = (value: number, from: number, to: number): History[number] => ({
  input: 'read',
  output: value,
  from,
  to,
});

describe('a history of a register', () => {
  it.each<[string, History]>([
    ['is empty', []],
    ['has one request after the other', [write(1, 0, 1), read(1, 2, 3), write(2, 4, 5), read(2, 6, 7)]],
    ['has a read during a write that sees the old value', [write(1, 0, 9), read(0, 1, 2)]],
    ['has a read during a write that sees the new value', [write(1, 0, 9), read(1, 1, 2)]],
    [
      'has two writes at once, of which either may be last',
      [write(1, 0, 9), write(2, 0, 9), read(1, 10, 11)],
    ],
    [
      'has a write without a response that took effect',
      [write(1, 0, Infinity), read(0, 1, 2), read(1, 3, 4)],
    ],
    ['has a write without a response that took no effect', [write(1, 0, Infinity), read(0, 1, 2)]],
  ])('is linearizable if it %s', (_, history) => {
    expect(isLinearizable(register, history)).toBe(true);
  });

  it.each<[string, History]>([
    ['reads what nobody wrote', [read(1, 0, 1)]],
    ['reads the old value after a write has ended', [write(1, 0, 1), read(0, 2, 3)]],
    ['reads a value before its write starts', [read(1, 0, 1), write(1, 2, 3)]],
    [
      'reads the new value and then the old one during a write',
      [write(1, 0, 9), read(1, 1, 2), read(0, 3, 4)],
    ],
    [
      'lets two readers see two writes in different orders',
      [write(1, 0, 1), write(2, 0, 1), read(1, 2, 3), read(2, 4, 5)],
    ],
    ['loses the effect of a write without a response', [write(1, 0, Infinity), read(1, 1, 2), read(0, 3, 4)]],
  ])('is not linearizable if it %s', (_, history) => {
    expect(isLinearizable(register, history)).toBe(false);
  });
});

/** Every order of the requests, tried without any memory. */
function byTrial(history: History, state = register.initial): boolean {
  if (history.every(({ output }) => output === undefined)) return true;
  return history.some((first) => {
    const others = history.filter((other) => other !== first);
    if (others.some(({ to }) => to < first.from)) return false;
    return register.step(state, first.input, first.output).some((next) => byTrial(others, next));
  });
}

test('a register history is found linearizable exactly if one of all orders explains it', () => {
  const value = fc.integer({ min: 0, max: 2 });
  const time = fc.integer({ min: 0, max: 12 });
  const operation = fc
    .tuple(fc.boolean(), value, time, fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 9 }))
    .map(([writes, number, from, length, fate]) => {
      const to = fate === 0 ? Infinity : from + length;
      return writes
        ? write(number, from, to)
        : { ...read(number, from, to), ...(fate === 0 && { output: undefined }) };
    });
  const verdicts = new Set<boolean>();
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 6 }), (history) => {
      const expected = byTrial(history);
      verdicts.add(expected);
      expect(isLinearizable(register, history)).toBe(expected);
    }),
    { numRuns: 1000 },
  );
  expect(verdicts).toEqual(new Set([true, false]));
});
