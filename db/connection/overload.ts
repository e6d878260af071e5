import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { Busy } from '#domain/base/fair-queue.ts';
import { StalePlanError } from './prepared-statements.ts';

/**
 * Whether a statement failed because the database is overloaded or unreachable: no connection or lock became free, the
 * statement timed out, or all its retries conflicted. It may succeed later.
 */
export function isOverload(error: unknown): boolean {
  if (OVERLOADS.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  return 'code' in error && OVERLOAD_CODES.has(String(error.code));
}

const LOCK_TIMEOUT = '55P03';

/** Whether a batch for several workspaces may have failed because of some of them only: a row stayed locked. */
export const isPartialFailure = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === LOCK_TIMEOUT;

const OVERLOADS = [
  Busy,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StalePlanError,
  StatementCancelledError,
  StatementTimeoutError,
];

/**
 * And connection failure; serialization failure; deadlock; disk full; out of memory; too many connections; the server starts or stops; it
 * is not the primary any more, or not yet.
 */
const OVERLOAD_CODES = new Set([
  LOCK_TIMEOUT,
  '08006',
  '40001',
  '40P01',
  '53100',
  '53200',
  '53300',
  '57P03',
  '25006',
]);
