import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { type AuditAction, type AuditChanges, byOperator } from '#domain/accounts/audit.ts';
import { textProblem } from '#domain/base/text.ts';
import type { Order } from '#workflows/protocol/updates.ts';

/** The error of an update that is refused. Benign: neither logged nor counted as a failure. */
export function refusal(type: string, message: string, ...details: unknown[]): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type, message, details, category, nonRetryable: true });
}

/** @throws VALIDATION_ERROR if PostgreSQL cannot store a text of the order, which retries would not change. */
export function requireStorable(order: object): void {
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
