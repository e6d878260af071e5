import { z } from 'zod';
import type { ZodOpenApiPathItemObject } from 'zod-openapi';
import type { DeliveredEvent } from '#domain/events/event.ts';
import { EVENT_EXAMPLES } from '#domain/events/examples.ts';
import { EVENT_PAYLOADS } from '#domain/events/payloads.ts';

const SUMMARIES: Record<DeliveredEvent, string> = {
  'message.sent': 'A message was sent: accepted by the carrier, not yet confirmed by the device',
  'message.delivered': 'The carrier reported that a message has arrived',
  'message.canceled':
    'A message is not sent: a caller canceled it, or its sequence, campaign or lead ended. None when a contact is erased',
  'message.failed': 'A message failed permanently',
  'message.fallback': 'The recipient has no iMessage, or the primary channel is unavailable',
  'message.opened': 'The recipient read a message, where read receipts are supported',
  'message.reply': 'A lead or contact replied',
  'message.reaction': 'A lead or contact reacted to a message',
  'message.edited': 'A lead or contact edited a message',
  'message.unsent': 'A lead or contact took a message back',
  'message.ai_draft': 'The AI copilot, a user or a program drafted a message for review',
  'message.ai_draft_approved': 'A draft was approved and sent, from any channel',
  'message.ai_draft_rejected': 'A draft was rejected, from any channel',
  'line.down': 'A line sends nothing: it failed three checks in a row, or its carrier takes no messages',
  'line.up': 'A line that was down can send again',
  'ai.budget_exhausted':
    "The day's budget for the language model is used up: no drafts are written until tomorrow",
  'line.reputation_changed': 'The reputation of a line changed its state',
  'contact.opt_out_suspected': 'A contact asks to be left alone in other words than STOP',
  'contact.opted_out': 'A contact opted out: nothing more is sent to the address',
  'contact.opted_in': 'A contact who had opted out may be written to again',
  'lead.created': 'A lead was saved, except by an import, which ends with import.completed, or for a message',
  'lead.updated': 'The fields of a lead changed',
  'lead.deleted': 'A lead was deleted, except with its list or by an erasure',
  'campaign.will_be_late': 'The forecast says that a campaign will not be finished by `finishBy`',
  'campaign.step': 'A lead came to a step of a campaign that calls a webhook (`do {webhook}`)',
  'campaign.completed': 'Every lead of a campaign has finished or stopped',
  'call.ended': 'A call ended or failed',
  'import.completed': 'The import of a file has ended; `import.error` says why it stopped early, if it did',
  'conversation.assigned': 'A conversation was assigned to a member, or to nobody',
  'conversation.status_changed':
    'A conversation was opened, snoozed or closed, or its snooze ended, which is told within two minutes',
  'webhook.ping': 'A test ping of POST /api/webhooks/{id}/health-check',
};

/** The headers of every delivery. */
const DeliveryHeaders = z.object({
  'X-Svc-Event': z.string().meta({ description: "The event's name." }),
  'X-Svc-Event-Id': z.string().meta({ description: 'The same for a replay.' }),
  'X-Svc-Delivery-Id': z.string().meta({ description: 'Unique per delivery.' }),
  'X-Svc-Timestamp': z.string().meta({
    description: 'The time of this delivery in Unix seconds. Reject deliveries older than 5 minutes.',
  }),
  'X-Svc-Signature': z.string().meta({
    description:
      '`v1,` and the base64 of HMAC-SHA256 over `{event id}.{timestamp}.{raw body}`; the key is the base64 after `whsec_`. For 24 hours after a rotation there are several signatures, separated by spaces.',
  }),
  'X-Svc-Replay': z.literal('true').optional().meta({ description: 'Only on a replay.' }),
  'webhook-id': z
    .string()
    .meta({ description: 'The same as `X-Svc-Event-Id`, for the Standard Webhooks libraries.' }),
  'webhook-timestamp': z.string().meta({ description: 'As `X-Svc-Timestamp`.' }),
  'webhook-signature': z.string().meta({ description: 'As `X-Svc-Signature`.' }),
});

/** The `webhooks` of the OpenAPI document: every event with its body and an example. */
export const openApiWebhooks = (): Record<string, ZodOpenApiPathItemObject> =>
  Object.fromEntries(
    Object.entries(EVENT_PAYLOADS).map(([name, schema]) => {
      const event = name as DeliveredEvent;
      return [
        event,
        {
          // As a component, because openapi-generator would write calls of the webhooks, which do not compile.
          id: event,
          post: {
            operationId: `on.${event}`,
            tags: ['Events'],
            summary: SUMMARIES[event],
            security: [],
            requestParams: { header: DeliveryHeaders },
            requestBody: {
              required: true,
              content: { 'application/json': { schema, example: EVENT_EXAMPLES[event] } },
            },
            responses: {
              '2XX': {
                description:
                  'The event was received. Any other status, or no response within 10 seconds, is a failure, which is retried only for webhooks with `retries: "standard"`.',
              },
            },
          },
        },
      ];
    }),
  );
