import { setTimeout as pause } from 'node:timers/promises';
import { type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { finishDeliveries } from '#db/queries/events/webhook-deliveries.ts';
import { insertClaimedDelivery } from '#db/queries/events/webhook-log.ts';
import { findWebhook, type WebhookRow } from '#db/queries/events/webhooks.ts';
import { realTime } from '#domain/base/clock.ts';
import type { DeliveredEvent } from '#domain/events/event.ts';
import type { DeliveryReport } from '#domain/events/webhook.ts';
import { DELIVERY_TIMEOUT_MS, postDelivery } from '#providers/webhook-post.ts';
import { webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';
import { ApiError } from '#api/http/errors.ts';
import { webhookNotFound } from './webhooks.ts';
import type { Services } from '#api/services.ts';

/** A delivery to send while the caller waits. */
export interface Redelivery {
  eventId: string;
  event: DeliveredEvent;
  body: string;
  /** Null: a test ping. */
  isReplayOf: string | null;
}

/** Long enough for an endpoint that is restarting. */
const RETRY_PAUSE_MS = 500;

/**
 * Sends a replay or a test ping and waits for the response. Like every delivery, it is claimed before it is sent and
 * recorded afterwards; no transaction is open in between.
 * @param find returns what to send; runs in the transaction that claims the delivery.
 * @throws NOT_FOUND, WEBHOOK_INACTIVE
 */
export async function redeliver(
  services: Services,
  workspaceId: string,
  webhookId: string,
  find: (db: TenantDb) => Promise<Redelivery>,
  now: Date,
): Promise<DeliveryReport> {
  const { pools } = services;
  const claimed = await withTenant(pools, workspaceId, async (db) => {
    const webhook = await findWebhook(db, webhookId);
    if (!webhook) throw webhookNotFound();
    const redelivery = await find(db);
    if (!webhook.isActive || !webhook.keyLives) throw new ApiError('WEBHOOK_INACTIVE');
    const id = await insertClaimedDelivery(db, { webhookId, ...redelivery });
    // If this process crashes, the dispatcher records the delivery as interrupted.
    wake(db, webhookDispatcherId(workspaceId), now, 'deliveriesDue');
    return { id, webhook, redelivery };
  });

  const { id, redelivery, webhook } = claimed;
  const { responseBody: answered, ...result } = await postRedelivery(services, id, webhook, redelivery);
  // The erasure of a contact finds the responses to its events' deliveries by time, which would miss a replay.
  const responseBody = redelivery.isReplayOf === null ? answered : null;
  await withTenant(pools, workspaceId, (db) => finishDeliveries(db, [{ id, ...result, responseBody }]));
  return { deliveryId: id, isReplayOf: redelivery.isReplayOf, ...result };
}

/** Retries a replay once, only if the connection failed, and within the timeout of one delivery. The event's id stays the same. */
async function postRedelivery(services: Services, id: string, webhook: WebhookRow, redelivery: Redelivery) {
  const started = performance.now();
  const elapsed = (): number => Math.round(performance.now() - started);
  const { previousSecretUntil, previousSecretSealed } = webhook;
  const delivery = {
    ...redelivery,
    id,
    webhookId: webhook.id,
    url: webhook.url,
    secretSealed: webhook.secretSealed,
    previousSecretSealed:
      previousSecretUntil && previousSecretUntil > realTime() ? previousSecretSealed : null,
  };
  const replay = redelivery.isReplayOf !== null;
  const post = () =>
    postDelivery(services, webhook.workspaceId, delivery, {
      replay,
      timeoutMs: DELIVERY_TIMEOUT_MS - elapsed(),
    });
  let result = await post();
  let attemptCount = 1;
  if (replay && result.retryable && elapsed() + RETRY_PAUSE_MS < DELIVERY_TIMEOUT_MS) {
    await pause(RETRY_PAUSE_MS);
    result = await post();
    attemptCount = 2;
  }
  const { success, responseStatus, error, responseBody } = result;
  return { success, responseStatus, error, responseBody, latencyMs: elapsed(), attemptCount };
}
