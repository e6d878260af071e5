import { BackendTerminatedError, InvalidInputError } from 'slonik';
import { expect, test } from 'vitest';
import { isOverload, isPartialFailure } from './overload.ts';

const failed = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

test('a row that stays locked is an overload of some workspaces only', () => {
  const error = failed('canceling statement due to lock timeout', { code: '55P03' });
  expect([isOverload(error), isPartialFailure(error)]).toEqual([true, true]);
});

test('an end of a connection by the server is an overload of all workspaces', () => {
  const error = new BackendTerminatedError(failed('terminating connection', { code: '57P01' }));
  expect([isOverload(error), isPartialFailure(error)]).toEqual([true, false]);
});

test.each([
  ['53100', 'could not extend file: No space left on device'],
  ['53200', 'out of memory'],
  ['25006', 'cannot execute INSERT in a read-only transaction'],
  ['58030', 'could not read block 7 in file "base/5/16384": Input/output error'],
  ['57P02', 'terminating connection because of crash of another server process'],
  ['08003', 'connection does not exist'],
])(
  'a server that cannot work at the moment (%s) is an overload, so that callers try again',
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
