import { sql } from 'slonik';
import { notify } from './notifications.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { IdRow } from '#db/connection/rows.ts';

/** Consecutive failures after which the workspace is notified. */
const ALARM_AFTER = 10;
/** Deliveries to examine: more than `ALARM_AFTER`, because ids within a second are unordered. */
const LOOK_BACK = 50;

/**
 * Notifies the workspace once of each webhook that only fails. Call it after the failures are recorded in the same
 * transaction.
 * @param deliveryIds the deliveries that failed.
 */
export async function alarmFailingWebhooks(
  db: TenantDb,
  deliveryIds: readonly string[],
  now: Date,
): Promise<void> {
  if (deliveryIds.length === 0) return;
  const failing = await db.anyFirst(sql.type(IdRow)`
    update webhooks h set told_failing_at = ${sql.timestamp(now)}
    where h.workspace_id = ${db.workspaceId} and h.id in (
        select webhook_id from webhook_deliveries
        where workspace_id = ${db.workspaceId} and id = any(${sql.array([...deliveryIds], 'text')}))
      and (h.told_failing_at is null or h.told_failing_at < h.last_success_at)
      and (select count(*) filter (where not success and (h.last_success_at is null or claimed_at > h.last_success_at))
        from (
          select success, claimed_at from webhook_deliveries
          where workspace_id = ${db.workspaceId} and webhook_id = h.id and status = 'done'
          order by id desc limit ${LOOK_BACK}
        ) last) >= ${ALARM_AFTER}
    returning h.id`);
  for (const webhookId of failing) {
    const notice = { about: 'webhook_failing' as const, webhookId, failures: ALARM_AFTER };
    await notify(db, webhookId, notice, now);
  }
}
