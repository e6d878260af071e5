import { sql } from 'slonik';
import { z } from 'zod';
import { DeliveredEvent, ERASED_BODY } from '#domain/events/event.ts';
import { newId } from '#domain/base/ids.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';

const DeliveryRow = z.object({
  id: z.string(),
  eventId: z.string(),
  event: DeliveredEvent,
  isReplayOf: z.string().nullable(),
  success: z.boolean().nullable(),
  responseStatus: z.int().nullable(),
  error: z.string().nullable(),
  latencyMs: z.int().nullable(),
  attemptCount: z.int(),
  nextAttemptAt: z.date().nullable(),
  createdAt: z.date(),
});
export type DeliveryRow = z.infer<typeof DeliveryRow>;

const COLUMNS = sql.fragment`
  d.id, d.event_id, d.event, d.is_replay_of, d.success, d.response_status, d.error, d.latency_ms, d.attempt_count, d.created_at, (
    select due_at from webhook_retries r where r.workspace_id = d.workspace_id and r.delivery_id = d.id
  ) next_attempt_at`;

/** Newest first; returns `limit + 1` rows if there are more. */
export async function listDeliveries(
  db: TenantDb,
  webhookId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<DeliveryRow[]> {
  const rows = await db.any(sql.type(DeliveryRow)`
    select ${COLUMNS} from webhook_deliveries d
    where workspace_id = ${db.workspaceId} and webhook_id = ${webhookId}
      ${cursor === undefined ? sql.fragment`` : sql.fragment`and id < ${cursor}`}
    order by id desc limit ${limit + 1}`);
  return [...rows];
}

const StoredDelivery = DeliveryRow.pick({ id: true, eventId: true, event: true, isReplayOf: true }).extend({
  body: z.string(),
});

/** A past delivery with the exact body that was sent. @returns null also if the body has been deleted or erased. */
export async function findStoredDelivery(
  db: TenantDb,
  webhookId: string,
  id: string,
): Promise<z.infer<typeof StoredDelivery> | null> {
  return db.maybeOne(sql.type(StoredDelivery)`
    select d.id, d.event_id, d.event, d.is_replay_of, e.body
    from webhook_deliveries d join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = ${db.workspaceId} and d.webhook_id = ${webhookId} and d.id = ${id}
      and e.body <> '{}' -- its contact was erased
    `);
}

const OneDeliveryRow = DeliveryRow.extend({
  requestBody: z.string().nullable(),
  responseBody: z.string().nullable(),
});

/** A delivery with what was sent, null if that has been erased, and what is kept of the answer. */
export async function findDelivery(
  db: TenantDb,
  webhookId: string,
  id: string,
): Promise<z.infer<typeof OneDeliveryRow> | null> {
  return db.maybeOne(sql.type(OneDeliveryRow)`
    select ${COLUMNS}, d.response_body, nullif(e.body, ${ERASED_BODY}) request_body
    from webhook_deliveries d left join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = ${db.workspaceId} and d.webhook_id = ${webhookId} and d.id = ${id}`);
}

/** Inserts a delivery that the caller sends itself after the commit. @returns its id. */
export async function insertClaimedDelivery(
  db: TenantDb,
  delivery: { webhookId: string; eventId: string; event: DeliveredEvent; isReplayOf: string | null },
): Promise<string> {
  const id = newId();
  await db.query(sql.type(NoRows)`
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, event, is_replay_of, status, claimed_at)
    values (${db.workspaceId}, ${id}, ${delivery.webhookId}, ${delivery.eventId}, ${delivery.event},
      ${delivery.isReplayOf}, 'sending', now())`);
  return id;
}

export function presentDelivery<Row extends DeliveryRow>({
  isReplayOf,
  nextAttemptAt,
  createdAt,
  ...row
}: Row) {
  return {
    ...row,
    ...(isReplayOf !== null && { isReplayOf }),
    ...(nextAttemptAt !== null && { nextAttemptAt: nextAttemptAt.toISOString() }),
    createdAt: createdAt.toISOString(),
  };
}
