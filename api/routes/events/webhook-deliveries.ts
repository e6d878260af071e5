import { z } from 'zod';
import { insertEvent } from '#db/commands/events/events.ts';
import { replayDeliveries } from '#db/commands/events/replay-deliveries.ts';
import {
  findDelivery,
  findStoredDelivery,
  listDeliveries,
  presentDelivery,
} from '#db/queries/events/webhook-log.ts';
import { findWebhook } from '#db/queries/events/webhooks.ts';
import { pingPayload } from '#domain/events/ping.ts';
import { Id } from '#domain/base/ids.ts';
import {
  DeliveryExchange,
  DeliveryReport,
  REPLAYED_AT_ONCE,
  ReplayInput,
  WebhookDelivery,
} from '#domain/events/webhook.ts';
import { ApiError } from '#api/http/errors.ts';
import { NextCursor, page, PageQuery } from '#api/http/page.ts';
import { workspaceRoute } from '#api/http/route.ts';
import { chargeUnsubscribed } from '#api/http/unsubscribed.ts';
import { redeliver } from './webhook-redelivery.ts';
import { WebhookParams, webhookNotFound } from './webhooks.ts';

export const webhookDeliveryRoutes = [
  workspaceRoute({
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/api/webhooks/{id}/deliveries',
    tag: 'Webhooks',
    summary: 'List the deliveries of a webhook in the last 30 days, newest first',
    params: WebhookParams,
    query: PageQuery,
    responses: {
      200: z.object({
        success: z.literal(true),
        deliveries: z.array(WebhookDelivery),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND'],
    async handler({ db, params, query }) {
      if (!(await findWebhook(db, params.id))) throw webhookNotFound();
      const { items, nextCursor } = page(await listDeliveries(db, params.id, query), query.limit);
      return { status: 200, body: { success: true, deliveries: items.map(presentDelivery), nextCursor } };
    },
  }),

  workspaceRoute({
    id: 'getWebhookDelivery',
    method: 'GET',
    path: '/api/webhooks/{id}/deliveries/{deliveryId}',
    tag: 'Webhooks',
    summary: "Get a delivery with its payload and, if it failed, the endpoint's response",
    params: z.object({ id: Id, deliveryId: Id }),
    responses: { 200: z.object({ success: z.literal(true), delivery: DeliveryExchange }) },
    errors: ['NOT_FOUND'],
    async handler({ db, params }) {
      const found = await findDelivery(db, params.id, params.deliveryId);
      if (!found) throw new ApiError('NOT_FOUND', 'Delivery not found');
      return { status: 200, body: { success: true, delivery: presentDelivery(found) } };
    },
  }),

  workspaceRoute({
    id: 'replayWebhookDelivery',
    method: 'POST',
    path: '/api/webhooks/{id}/deliveries/{deliveryId}/replay',
    tag: 'Webhooks',
    transaction: false,
    summary: 'Send a past delivery again',
    description:
      'Sends the stored body to the current URL, signed with the current secret, with `X-Svc-Replay: true`, the original `X-Svc-Event-Id` and a new `X-Svc-Delivery-Id`. There is a second attempt only if the connection failed. Responds `502` if the endpoint does not return 2xx.',
    params: z.object({ id: Id, deliveryId: Id }),
    responses: { 200: DeliveryReport, 502: DeliveryReport },
    errors: ['NOT_FOUND', 'WEBHOOK_INACTIVE'],
    async handler({ caller, params, now, ...services }) {
      const report = await redeliver(
        services,
        caller.workspace.id,
        params.id,
        async (db) => {
          const original = await findStoredDelivery(db, params.id, params.deliveryId);
          if (!original) throw new ApiError('NOT_FOUND', 'Delivery not found');
          const { id, eventId, event, body } = original;
          await chargeUnsubscribed(services, caller, Math.floor(body.length / 1024));
          return { eventId, event, body, isReplayOf: original.isReplayOf ?? id };
        },
        now,
      );
      return { status: report.success ? 200 : 502, body: report };
    },
  }),

  workspaceRoute({
    id: 'replayWebhookDeliveries',
    method: 'POST',
    path: '/api/webhooks/{id}/replay',
    tag: 'Webhooks',
    idempotent: true,
    summary: 'Send past deliveries of a webhook again',
    description: `Queues the deliveries since a time, or only the failed ones, oldest first, and responds before they are sent. Each is a new delivery with \`X-Svc-Replay: true\` and the original \`X-Svc-Event-Id\`. Leaves out replays, pings, and deliveries that are still in progress or to be attempted again. At most ${REPLAYED_AT_ONCE.toLocaleString('en')} at a time: \`nextCursor\` continues.`,
    params: WebhookParams,
    body: ReplayInput,
    responses: {
      202: z.object({
        success: z.literal(true),
        queued: z.int().meta({ description: 'The number of deliveries to be sent.' }),
        nextCursor: NextCursor,
      }),
    },
    errors: ['NOT_FOUND', 'WEBHOOK_INACTIVE'],
    audit: {
      action: 'webhook.replayed',
      target: 'webhook',
      changes: ['since', 'onlyFailed'],
    },
    async handler({ db, caller, params, body, now, ...services }) {
      const webhook = await findWebhook(db, params.id);
      if (!webhook) throw webhookNotFound();
      if (!webhook.isActive || !webhook.keyLives) throw new ApiError('WEBHOOK_INACTIVE');
      const replayed = await replayDeliveries(db, params.id, { ...body, since: new Date(body.since) }, now);
      await chargeUnsubscribed(services, caller, replayed.queued);
      return { status: 202, body: { success: true, ...replayed } };
    },
  }),

  workspaceRoute({
    id: 'pingWebhook',
    method: 'POST',
    path: '/api/webhooks/{id}/health-check',
    tag: 'Webhooks',
    transaction: false,
    summary: 'Send a test ping',
    description:
      'Sends a signed event `webhook.ping`, regardless of the subscriptions. The response is the same as for a replay, but a ping is never retried.',
    params: WebhookParams,
    responses: { 200: DeliveryReport, 502: DeliveryReport },
    errors: ['NOT_FOUND', 'WEBHOOK_INACTIVE'],
    async handler({ caller, params, now, ...services }) {
      const report = await redeliver(
        services,
        caller.workspace.id,
        params.id,
        async (db) => {
          const body = JSON.stringify(pingPayload(db.workspaceId, params.id, now));
          return {
            eventId: await insertEvent(db, 'webhook.ping', body),
            event: 'webhook.ping',
            body,
            isReplayOf: null,
          };
        },
        now,
      );
      return { status: report.success ? 200 : 502, body: report };
    },
  }),
];
