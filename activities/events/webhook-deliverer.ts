import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { currentTime, realTime } from '#domain/base/clock.ts';
import { inSpanOfEvent, traceHeaders } from '#db/connection/message-traces.ts';
import type { Pools } from '#db/connection/pools.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { isTestTime } from '#db/connection/workspace-clock.ts';
import { alarmFailingWebhooks } from '#db/commands/events/webhook-alarms.ts';
import { planRetries } from '#db/commands/events/webhook-retries.ts';
import {
  type StartedDelivery,
  type DeliveryResult,
  finishDeliveries,
  releaseDelivery,
} from '#db/queries/events/webhook-deliveries.ts';
import type { Egress } from '#providers/egress.ts';
import { SecretBoxError, type SecretBox } from '#providers/secret-box.ts';
import { FIRST_LIMIT, nextLimit } from '#domain/events/delivery-limit.ts';
import { DELIVERY_TIMEOUT_MS, postDelivery } from '#providers/webhook-post.ts';

/** The deliveries of one workspace that are in progress in this process. */
export interface DeliverySlots {
  /** The number of deliveries in progress, by webhook. */
  readonly busy: ReadonlyMap<string, number>;
  /** The maximum number of deliveries in progress, by webhook. Others have `FIRST_LIMIT`. */
  readonly limits: ReadonlyMap<string, number>;
  readonly underWay: number;
  /** Sends a claimed delivery and records its result. */
  start(delivery: StartedDelivery): void;
  /** Records a claimed delivery as failed, unsent. */
  refuse(delivery: StartedDelivery, error: string): void;
  /** Resolves when a delivery has ended. */
  progress(): Promise<void>;
}

/**
 * Deliveries outlive the activity that started them, so that a hanging endpoint delays neither the next round nor the
 * results of other endpoints.
 */
export interface WebhookDeliverer {
  slots(workspaceId: string): DeliverySlots;
  /** Waits until all deliveries have ended and are recorded. */
  close(): Promise<void>;
}

/** How long the limits of a workspace's endpoints are remembered after its last delivery. */
const REMEMBERED_MS = 10 * 60_000;

/** While the database is unreachable, results are retried until their deliveries count as interrupted anyway. */
const RECORD_RETRY_MS = 1000;
const RECORD_RETRIES = 15;
/** A delivery claimed this long ago belongs to a process that crashed: the timeout of a delivery, and time to record it. */
export const INTERRUPTED_AFTER_MS = DELIVERY_TIMEOUT_MS + 5000;
/** Before others give it up, so that a process that was suspended meanwhile does not send it as well. */
const ENDS_AFTER_MS = INTERRUPTED_AFTER_MS - 1000;
/** Until somebody corrects the keys of the process. */
const SECRET_AGAIN_MS = 60_000;

export function createWebhookDeliverer(services: {
  pools: Pools;
  egress: Egress;
  secrets: SecretBox;
  logger: Logger;
  /** Called after each delivery that has ended, except in test mode. */
  onDelivery: (result: DeliveryResult) => void;
  /** Called with how long an event has waited until then. */
  onEventDelivered: (until: 'first_attempt' | 'success', seconds: number) => void;
}): WebhookDeliverer {
  const { pools, logger, onDelivery, onEventDelivered } = services;
  const open = new Map<string, DeliverySlots>();
  const running = new Set<Promise<void>>();

  /** Posts a delivery within the trace of its message, which the endpoint can continue. */
  const post = (workspaceId: string, delivery: Sendable, timeoutMs: number) =>
    inSpanOfEvent(
      'webhook delivery',
      messageOf(delivery),
      {
        'linepace.workspace_id': workspaceId,
        'linepace.delivery_id': delivery.id,
        'linepace.webhook_id': delivery.webhookId,
        'linepace.event': delivery.event,
      },
      async (span) => {
        const result = await postDelivery(services, workspaceId, delivery, {
          replay: delivery.isReplayOf !== null,
          timeoutMs,
          ...(span && { traceHeaders: traceHeaders(span) }),
        });
        span?.setAttribute('linepace.outcome', result.success ? 'success' : (result.error ?? 'failed'));
        return result;
      },
    );

  /** The result of a delivery that is not sent, now or later. */
  const unsent = (
    { id, webhookId, retries, attemptCount }: StartedDelivery,
    error: string,
  ): DeliveryResult => ({
    id,
    success: false,
    responseStatus: null,
    error,
    latencyMs: 0,
    attemptCount: attemptCount + 1,
    responseBody: null,
    ...(retries === 'standard' && { retry: { webhookId, blocked: true, retryAfter: null } }),
  });

  /** Without replays, and test mode, whose clock jumps. */
  function measure(until: 'first_attempt' | 'success', { createdAt, isReplayOf }: StartedDelivery): void {
    if (isReplayOf === null && !isTestTime()) onEventDelivered(until, sinceMs(createdAt) / 1000);
  }

  /** @returns why nothing was sent, if the delivery is still to be made. */
  async function send(workspaceId: string, delivery: StartedDelivery): Promise<DeliveryResult | StillToSend> {
    const attemptCount = delivery.attemptCount + 1;
    if (!isSendable(delivery)) return unsent(delivery, 'erased');
    const left = Math.floor(ENDS_AFTER_MS - sinceMs(delivery.claimedAt));
    if (left <= 0) return 'too late';
    try {
      if (attemptCount === 1) measure('first_attempt', delivery);
      const {
        retryable: _,
        blocked,
        retryAfter,
        ...result
      } = await post(workspaceId, delivery, Math.min(DELIVERY_TIMEOUT_MS, left));
      if (result.success) measure('success', delivery);
      const retry = { webhookId: delivery.webhookId, blocked, retryAfter };
      return {
        ...result,
        id: delivery.id,
        attemptCount,
        // The erasure of a contact finds the responses to its events by time, which would miss a replay.
        ...(delivery.isReplayOf !== null && { responseBody: null }),
        ...(delivery.retries === 'standard' && { retry }),
      };
    } catch (error) {
      logger.error({ workspaceId, deliveryId: delivery.id, error }, 'a delivery failed unexpectedly');
      if (error instanceof SecretBoxError) return 'no secret';
      return unsent(delivery, 'internal error');
    }
  }

  function openSlots(workspaceId: string): DeliverySlots {
    const busy = new Map<string, number>();
    const limits = new Map<string, number>();
    let underWay = 0;
    let finished: DeliveryResult[] = [];
    let recording: Promise<void> | null = null;
    let notify = (): void => {};
    let forgetting: NodeJS.Timeout | undefined;

    /** Records all results that arrived while the previous ones were written, in one statement. */
    async function record(): Promise<void> {
      for (let failures = 0; finished.length > 0;) {
        const results = finished;
        finished = [];
        try {
          await withTenant(pools, workspaceId, async (db) => {
            await finishDeliveries(db, results);
            await planRetries(db, results, currentTime());
            const failed = results.filter(({ success }) => !success);
            await alarmFailingWebhooks(
              db,
              failed.map(({ id }) => id),
              currentTime(),
            );
          });
          failures = 0;
        } catch (error) {
          if (++failures > RECORD_RETRIES) {
            logger.error({ workspaceId, results: results.length, error }, 'lost the results of deliveries');
            return;
          }
          finished = [...results, ...finished];
          await pause(RECORD_RETRY_MS);
        }
      }
    }

    function leave(webhookId: string): void {
      underWay -= 1;
      const left = (busy.get(webhookId) ?? 1) - 1;
      if (left > 0) busy.set(webhookId, left);
      else busy.delete(webhookId);
      if (underWay === 0) forgetLater();
      notify();
    }

    function end(webhookId: string, result: DeliveryResult): Promise<void> {
      if (!isTestTime()) onDelivery(result);
      finished.push(result);
      const inProgress = busy.get(webhookId) ?? 1;
      limits.set(webhookId, nextLimit(limits.get(webhookId) ?? FIRST_LIMIT, inProgress, result.success));
      leave(webhookId);
      recording ??= record().finally(() => (recording = null));
      return recording;
    }

    /** Returns a delivery to the queue. Without its secret, its webhook gets none until the key may be there. */
    async function giveBack(delivery: StartedDelivery, why: StillToSend): Promise<void> {
      const { id, webhookId } = delivery;
      if (why === 'no secret') {
        limits.set(webhookId, 0);
        setTimeout(() => limits.delete(webhookId), SECRET_AGAIN_MS).unref();
      }
      leave(webhookId);
      await withTenant(pools, workspaceId, (db) => releaseDelivery(db, delivery)).catch((error: unknown) =>
        logger.error({ deliveryId: id, error }, 'a delivery could not be returned to the queue'),
      );
    }

    function forgetLater(): void {
      clearTimeout(forgetting);
      forgetting = setTimeout(() => {
        if (underWay === 0) open.delete(workspaceId);
      }, REMEMBERED_MS).unref();
    }

    function begin({ webhookId }: StartedDelivery, slots: DeliverySlots): void {
      busy.set(webhookId, (busy.get(webhookId) ?? 0) + 1);
      underWay += 1;
      open.set(workspaceId, slots);
    }

    function finish(done: Promise<void>): void {
      const settled = done.finally(() => running.delete(settled));
      running.add(settled);
    }

    return {
      busy,
      limits,
      get underWay() {
        return underWay;
      },
      start(delivery) {
        begin(delivery, this);
        finish(
          send(workspaceId, delivery).then((result) =>
            typeof result === 'string' ? giveBack(delivery, result) : end(delivery.webhookId, result),
          ),
        );
      },
      refuse(delivery, error) {
        begin(delivery, this);
        finish(end(delivery.webhookId, unsent(delivery, error)));
      },
      async progress() {
        const { promise, resolve } = Promise.withResolvers<void>();
        notify = resolve;
        await promise;
      },
    };
  }

  return {
    slots: (workspaceId) => open.get(workspaceId) ?? openSlots(workspaceId),
    async close() {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

type StillToSend = 'no secret' | 'too late';

const sinceMs = (at: Date): number => Math.max(0, realTime().getTime() - at.getTime());

/** A delivery whose contact was not erased. */
type Sendable = StartedDelivery & { body: string };
const isSendable = (delivery: StartedDelivery): delivery is Sendable => delivery.body !== null;

/** The message that the event is about; null: none. */
const messageOf = ({ body }: Sendable): string | null =>
  /"messageId":"([0-9a-f]{24})"/.exec(body)?.[1] ?? null;
