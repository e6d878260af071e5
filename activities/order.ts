import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import { sql } from 'slonik';
import { insertAuditEntry } from '#db/queries/audit-log.ts';
import { NoRows } from '#db/rows.ts';
import type { TenantDb } from '#db/transactions.ts';
import { type AuditAction, type AuditChanges, byOperator } from '#domain/audit.ts';
import type { Order } from '#workflows/messages/updates.ts';

/** Nobody is at fault: it is the answer to an operator. */
export function refusal(type: string, message: string, ...details: unknown[]): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type, message, details, category, nonRetryable: true });
}

/** Whether an operator's update has been carried out: its activity may have lost only the answer. */
export async function isRecorded(
  db: TenantDb,
  action: AuditAction,
  targetId: string,
  changes: { updateId: string },
): Promise<boolean> {
  return db.exists(sql.type(NoRows)`
    select 1 from audit_log
    where workspace_id = ${db.workspaceId} and channel = 'operator' and action = ${action}
      and target_id = ${targetId} and at > now() - interval '1 hour' and changes @> ${sql.jsonb(changes)}`);
}

/** In the transaction of what the operator asked for. */
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
