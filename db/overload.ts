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
 * Whether the database had no time for a statement: no connection or lock came free, it took too long, it conflicted
 * with others each time it was repeated, or the server is not reachable. The statement may succeed later.
 */
export function isOverload(error: unknown): boolean {
  if (OVERLOADS.some((kind) => error instanceof kind)) return true;
  return error instanceof Error && 'code' in error && OVERLOAD_CODES.has(String(error.code));
}

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

/** Lock timeout; serialization failure; deadlock; too many connections; the server starts or stops. */
const OVERLOAD_CODES = new Set(['55P03', '40001', '40P01', '53300', '57P03']);
