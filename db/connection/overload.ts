import {
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  StatementCancelledError,
  StatementTimeoutError,
} from 'slonik';
import { Busy } from '#domain/base/fair-queue.ts';
import { NodeUnavailable } from '../distribution/node-watch.ts';
import { StalePlanError } from './prepared-statements.ts';

/**
 * Whether a statement failed because the database is overloaded or unreachable: no connection or lock became free, the
 * statement timed out, or all its retries conflicted. It may succeed later.
 */
export function isOverload(error: unknown): boolean {
  if (OVERLOADS.some((kind) => error instanceof kind)) return true;
  if (!(error instanceof Error)) return false;
  return isNodeFailure(error) || ('code' in error && OVERLOAD_CODES.has(String(error.code)));
}

/**
 * Whether a batch for several workspaces may have failed because of some of them only: a row stayed locked, or the node of a
 * cluster that has theirs is down.
 */
export const isPartialFailure = (error: unknown): boolean =>
  error instanceof Error &&
  (isNodeFailure(error) || ('code' in error && PARTIAL_FAILURE_CODES.has(String(error.code))));

/** Whether a node of a cluster went down in the middle of a statement. Citus has no code of its own for that. */
function isNodeFailure(error: Error): boolean {
  const { message, where = '' } = (error instanceof BackendTerminatedError ? error.cause : error) as Error & {
    where?: string;
  };
  return (
    message.startsWith('failure on connection marked as essential') ||
    (error instanceof BackendTerminatedError && where.includes('while executing command on '))
  );
}

/** Lock timeout; connection failure, of a node. */
const PARTIAL_FAILURE_CODES = new Set(['55P03', '08006']);

const OVERLOADS = [
  Busy,
  BackendTerminatedError,
  BackendTerminatedUnexpectedlyError,
  ConnectionError,
  IdleTransactionTimeoutError,
  NodeUnavailable,
  StalePlanError,
  StatementCancelledError,
  StatementTimeoutError,
];

/**
 * And serialization failure; deadlock; disk full; out of memory; too many connections; the server starts or stops; it is not the primary
 * any more, or not yet.
 */
const OVERLOAD_CODES = new Set([
  ...PARTIAL_FAILURE_CODES,
  '40001',
  '40P01',
  '53100',
  '53200',
  '53300',
  '57P03',
  '25006',
]);
