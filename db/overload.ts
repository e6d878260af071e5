import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { Busy } from '#domain/fair-queue.ts';
import { StalePlanError } from './prepared-statements.ts';

/**
 * Whether a statement failed because the database is overloaded or unreachable: no connection or lock became free, the
 * statement timed out, or all its retries conflicted. It may succeed later.
 */
export function isOverload(error: unknown): boolean {
  if (OVERLOADS.some((kind) => error instanceof kind)) return true;
  return error instanceof Error && 'code' in error && OVERLOAD_CODES.has(String(error.code));
}

/** Whether a row stayed locked for too long. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === LOCK_TIMEOUT;

const LOCK_TIMEOUT = '55P03';

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

/** Serialization failure; deadlock; too many connections; the server starts or stops. */
const OVERLOAD_CODES = new Set([LOCK_TIMEOUT, '40001', '40P01', '53300', '57P03']);
