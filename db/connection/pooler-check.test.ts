import { describe, expect, it } from 'vitest';
import { poolerProblem } from './pooler-check.ts';

describe('a PgBouncer that does not fit', () => {
  it('is named with its version and the version that is required', () => {
    expect(poolerProblem({ code: '42P05', message: 'prepared statement "x" already exists' }, '1.18.0')).toBe(
      'PgBouncer 1.18.0 in front of the database cannot be used: it answers "prepared statement "x" already exists". Prepared statements in transaction mode require PgBouncer 1.21 or later with max_prepared_statements = 500. See docs/scaling.md#pgbouncer.',
    );
  });

  it.each([
    ['prepared statement "x" does not exist', '1.21.0', 'Set max_prepared_statements to 500'],
    ['prepared statement "x" does not exist', '1.9.0', '1.21 or later'],
    ['prepared statement "x" does not exist', null, 'stats_users = linepace_system'],
    [
      'unsupported startup parameter: statement_timeout',
      '1.24.1',
      'Add statement_timeout to ignore_startup_parameters',
    ],
    ['transaction blocks not allowed in statement pooling mode', '1.24.1', 'Set pool_mode to transaction.'],
  ])('is refused with the setting to change: %s in %s', (message, version, remedy) => {
    expect(poolerProblem({ message }, version)).toContain(remedy);
  });
});
