import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import type { Pools } from '#db/connection/pools.ts';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { type AuditAction, type AuditChanges, byOperator } from '#domain/accounts/audit.ts';
import { LimitReached } from '#domain/accounts/limits.ts';
import { Refusal, type RefusalCode } from '#domain/base/refusal.ts';
import { textProblem } from '#domain/base/text.ts';
import type { Order } from '#workflows/protocol/updates.ts';

/** The error of an update that is refused. Benign: neither logged nor counted as a failure. */
export function refusal(type: string, message: string, ...details: unknown[]): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type, message, details, category, nonRetryable: true });
}

/** What the API has no words for. */
const TEXTS: Partial<Record<RefusalCode, string>> = {
  WORKSPACE_SUSPENDED: 'The workspace is suspended',
  READ_ONLY: 'The subscription of the workspace is past due',
  SUBSCRIPTION_REQUIRED: 'The workspace has no subscription',
  DRAFT_ALREADY_RESOLVED: 'The draft was already resolved',
};

/** The refusal of a command, as the error of an update; other errors stay. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof LimitReached) return refusal('LIMIT_REACHED', error.message);
  if (!(error instanceof Refusal)) return error;
  const { code, field, message, details } = error;
  const text = message || (TEXTS[code] ?? code);
  return refusal(
    code,
    field === null ? text : `${field}: ${text}`,
    ...(Object.keys(details).length > 0 ? [details] : []),
  );
}

/**
 * Carries out an operator's order in one transaction. It calls the command that the API calls, which refuses by itself.
 * @throws the refusal, as the error of an update.
 */
export async function carryOut<T>(
  pools: Pools,
  workspaceId: string,
  order: object,
  command: (db: TenantDb) => Promise<T>,
): Promise<T> {
  requireStorable(order);
  try {
    return await withTenant(pools, workspaceId, command);
  } catch (error) {
    throw asRefusal(error);
  }
}

/** @throws VALIDATION_ERROR if PostgreSQL cannot store a text of the order, which retries would not change. */
function requireStorable(order: object): void {
  for (const [field, value] of Object.entries(order)) {
    const problem = typeof value === 'string' ? textProblem(value) : null;
    if (problem !== null) throw refusal('VALIDATION_ERROR', `${field}: ${problem}`);
  }
}

/** Adds the audit log entry, in the transaction that carries out the order. */
export async function record(
  db: TenantDb,
  order: Order,
  action: AuditAction,
  target: Parameters<typeof insertAuditEntry>[1]['target'],
  changes: AuditChanges = {},
): Promise<void> {
  const { workspaceId } = db;
  await insertAuditEntry({ db, workspaceId }, { ...byOperator(order), action, target, changes });
}
