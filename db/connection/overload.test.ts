import { BackendTerminatedError, InvalidInputError } from 'slonik';
import { describe, expect, it, test } from 'vitest';
import { isOverload, isPartialFailure } from './overload.ts';

const failed = (message: string, fields: object): Error => Object.assign(new Error(message), fields);
const terminated = (where?: string): Error =>
  new BackendTerminatedError(failed('terminating connection', { code: '57P01', where }));

describe('what a cluster says whose node is down', () => {
  it.each([
    failed('connection to the remote node failed', { code: '08006' }),
    failed('failure on connection marked as essential: 10.0.0.2:5432', { code: 'XX000' }),
    terminated('while executing command on 10.0.0.2:5432'),
  ])('is an overload of some workspaces only: %s', (error) => {
    expect([isOverload(error), isPartialFailure(error)]).toEqual([true, true]);
  });
});

test('an end of a connection by the server itself is an overload of all workspaces', () => {
  expect([isOverload(terminated()), isPartialFailure(terminated())]).toEqual([true, false]);
});

test.each([
  ['53100', 'could not extend file: No space left on device'],
  ['53200', 'out of memory'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
])(
  'a server that cannot write at the moment (%s) is an overload, so that callers try again',
  (code, message) => {
    expect(isOverload(failed(message, { code }))).toBe(true);
  },
);

test('a wrong statement is no overload', () => {
  const wrong = [
    failed('internal error', { code: 'XX000' }),
    failed('syntax error', { code: '42601' }),
    new InvalidInputError('wrong'),
  ];
  expect(wrong.filter((error) => isOverload(error) || isPartialFailure(error))).toEqual([]);
});
