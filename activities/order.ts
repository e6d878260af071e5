import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { insertAuditEntry } from '#db/queries/audit-log.ts';
import type { TenantDb } from '#db/transactions.ts';
import { type AuditAction, byOperator } from '#domain/audit.ts';
import type { Order } from '#workflows/messages/updates.ts';

/** Nobody is at fault: it is the answer to an operator. */
export function refusal(type: string, message: string, ...details: unknown[]): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type, message, details, category, nonRetryable: true });
}

/** In the transaction of what the operator asked for. */
export async function record(
  db: TenantDb,
  order: Order,
  action: AuditAction,
  target: Parameters<typeof insertAuditEntry>[1]['target'],
): Promise<void> {
  const { workspaceId } = db;
  await insertAuditEntry({ db, workspaceId }, { ...byOperator(order), action, target });
}
