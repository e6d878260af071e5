import { sql } from 'slonik';
import { z } from 'zod';
import { GONE, retryAt } from '#domain/events/webhook-retries.ts';
import { insertAuditEntry } from '#db/queries/accounts/audit-log.ts';
import { webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import type { DeliveryResult } from '#db/queries/events/webhook-deliveries.ts';
import { DELIVERS } from '#db/queries/events/webhooks.ts';
import { wake } from '#db/wakes/wakes.ts';
import { notify } from './notifications.ts';

/** How many retries become pending at once. */
const QUEUED_AT_ONCE = 1000;

const texts = (ids: readonly string[]) => sql.array([...ids], 'text');

/**
 * Plans the next attempts of failed deliveries, and deactivates webhooks whose endpoints are gone. Call it in the transaction
 * that has recorded the results.
 */
export async function planRetries(
  db: TenantDb,
  results: readonly DeliveryResult[],
  now: Date,
): Promise<void> {
  const retried = results.flatMap(({ retry, ...result }) => (retry ? [{ ...result, ...retry }] : []));
  if (retried.length === 0) return;
  await db.query(sql.type(NoRows)`
    delete from webhook_retries where workspace_id = ${db.workspaceId}
      and delivery_id = any(${texts(retried.map(({ id }) => id))})`);
  const gone = retried.filter(({ responseStatus }) => responseStatus === GONE);
  if (gone.length > 0)
    await deactivate(
      db,
      gone.map(({ webhookId }) => webhookId),
      now,
    );
  const planned = retried.flatMap(({ success, attemptCount, responseStatus, ...result }) => {
    const at = success ? null : retryAt({ ...result, attempts: attemptCount, status: responseStatus }, now);
    return at ? [{ id: result.id, webhookId: result.webhookId, at }] : [];
  });
  if (planned.length === 0) return;
  const rows = planned.map(({ id, webhookId, at }) => [id, webhookId, at.toISOString()]);
  // A webhook that was deleted or no longer retries gets none.
  await db.query(sql.type(NoRows)`
    insert into webhook_retries (workspace_id, delivery_id, webhook_id, due_at)
    select ${db.workspaceId}, r.id, h.id, r.due_at
    from ${sql.unnest(rows, ['text', 'text', 'timestamptz'])} as r (id, webhook_id, due_at)
    join webhooks h on h.workspace_id = ${db.workspaceId} and h.id = r.webhook_id and h.retries = 'standard'`);
  const first = Math.min(...planned.map(({ at }) => at.getTime()));
  wake(db, webhookDispatcherId(db.workspaceId), new Date(first), 'deliveriesDue');
}

/** Deactivates webhooks whose endpoints are gone, and tells the workspace of each. */
async function deactivate(db: TenantDb, webhookIds: readonly string[], now: Date): Promise<void> {
  const deactivated = await db.anyFirst(sql.type(IdRow)`
    update webhooks set is_active = false, updated_at = now()
    where workspace_id = ${db.workspaceId} and id = any(${texts(webhookIds)}) and is_active
    returning id`);
  for (const webhookId of deactivated) {
    await insertAuditEntry(
      { db, workspaceId: db.workspaceId },
      {
        actor: { type: 'system', id: null, name: 'The endpoint' },
        channel: 'system',
        action: 'webhook.updated',
        target: { type: 'webhook', id: webhookId },
        reason: 'It responded that it is gone (410).',
        changes: { isActive: false },
      },
    );
    await notify(db, webhookId, { about: 'webhook_failing', webhookId, failures: 1, isGone: true }, now);
  }
}

/** Makes the deliveries pending again whose next attempt is due, up to `QUEUED_AT_ONCE`. */
export async function queueRetries(db: TenantDb, now: Date): Promise<void> {
  const due = await db.anyFirst(sql.type(IdRow)`
    select r.delivery_id id from webhooks h cross join lateral (
      select delivery_id from webhook_retries
      where workspace_id = ${db.workspaceId} and webhook_id = h.id and due_at <= ${sql.timestamp(now)} and not is_queued
      order by due_at limit ${QUEUED_AT_ONCE} for update skip locked
    ) r
    where h.workspace_id = ${db.workspaceId} and ${DELIVERS} limit ${QUEUED_AT_ONCE}`);
  if (due.length === 0) return;
  const queued = await db.anyFirst(sql.type(IdRow)`
    update webhook_deliveries set status = 'pending', claimed_at = null
    where workspace_id = ${db.workspaceId} and id = any(${texts(due)}) and status = 'done' returning id`);
  await db.query(sql.type(NoRows)`
    update webhook_retries set is_queued = true
    where workspace_id = ${db.workspaceId} and delivery_id = any(${texts(queued)})`);
  // The log of a webhook that was inactive for long has expired.
  await db.query(sql.type(NoRows)`
    delete from webhook_retries
    where workspace_id = ${db.workspaceId} and delivery_id = any(${texts(due)}) and not is_queued`);
}

const DueRow = z.object({ dueAt: z.date().nullable() });

/** When the next retry of an active webhook is due; null: none is planned. */
export async function nextRetry(db: TenantDb): Promise<Date | null> {
  return db.oneFirst(sql.type(DueRow)`
    select min(r.due_at) due_at from webhooks h cross join lateral (
      select due_at from webhook_retries
      where workspace_id = ${db.workspaceId} and webhook_id = h.id and not is_queued
      order by due_at limit 1
    ) r
    where h.workspace_id = ${db.workspaceId} and ${DELIVERS}`);
}

/** Ends what a webhook that no longer retries has planned. What is pending again is still sent. */
export async function dropRetries(db: TenantDb, webhookId: string): Promise<void> {
  await db.query(sql.type(NoRows)`
    delete from webhook_retries where workspace_id = ${db.workspaceId} and webhook_id = ${webhookId} and not is_queued`);
}
