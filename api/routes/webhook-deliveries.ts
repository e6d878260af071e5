import { z } from 'zod';
import { insertEvent } from '#db/commands/outbox/events.ts';
import { findStoredDelivery, listDeliveries, presentDelivery } from '#db/queries/webhook-log.ts';
import { findWebhook } from '#db/queries/webhooks.ts';
import { pingPayload } from '#domain/events/ping.ts';
import { Id } from '#domain/ids.ts';
import { DeliveryReport, WebhookDelivery } from '#domain/webhook.ts';
import { ApiError } from '../http/errors.ts';
import { NextCursor, page, PageQuery } from '../http/page.ts';
import { workspaceRoute } from '../http/route.ts';
import { redeliver } from '../webhook-redelivery.ts';
import { WebhookParams, webhookNotFound } from './webhooks.ts';

export const webhookDeliveryRoutes = [
  workspaceRoute({
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/api/webhooks/{id}/deliveries',
    tag: 'Webhooks',
    summary: 'The delivery log of a webhook, newest first, kept for 30 days',
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
    id: 'replayWebhookDelivery',
    method: 'POST',
    path: '/api/webhooks/{id}/deliveries/{deliveryId}/replay',
    tag: 'Webhooks',
    transaction: false,
    summary: 'Send a past delivery again',
    description:
      'The stored body, byte for byte, to the present URL and signed with the present secret, with `X-Svc-Replay: true`, the `X-Svc-Event-Id` of the original and a new `X-Svc-Delivery-Id`. A second attempt follows only when no connection came about. Answers `502` when the endpoint did not return 2xx.',
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
          return { eventId, event, body, isReplayOf: original.isReplayOf ?? id };
        },
        now,
      );
      return { status: report.success ? 200 : 502, body: report };
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
      'An event `webhook.ping`, signed like every other, whatever the webhook subscribes to. Answers as a replay does.',
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
            eventId: await insertEvent(db, 'webhook.ping', body, now),
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
