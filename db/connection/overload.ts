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
  const code = 'code' in error ? String(error.code) : '';
  return OVERLOAD_CODES.test(code) || NETWORK_CODES.test(code);
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
 * And what PostgreSQL says by class: connections fail; transactions conflict; disk, memory or connections are used up; the server stops or
 * starts. Besides, a row stays locked; it is not the primary any more, or not yet; a transaction takes too long; the disk fails.
 */
const OVERLOAD_CODES = /^(?:08|40|53|57)...$|^(?:55P03|25006|25P04|58030)$/;
/** The network ended the connection in the middle of a statement: whoever takes over the address of a lost server resets it. */
const NETWORK_CODES = /^(?:ECONNABORTED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|EPIPE|ETIMEDOUT)$/;
