import { z } from 'zod';
import { DeliveredEvent, EventPattern } from './event.ts';
import { Id, WorkspaceId } from '../base/ids.ts';
import { Instant } from '../base/moment.ts';
import { oneLine } from '../base/text.ts';

export const Retries = z.enum(['none', 'standard']).meta({
  id: 'WebhookRetries',
  description:
    '`none`: each event is sent once. `standard`: after a network error, 408, 429 or 5xx, it is sent again after 5 seconds, 1 minute, 10 minutes, 1, 6 and 24 hours, or when `Retry-After` says if that is later; 410 deactivates the webhook.',
});
export type Retries = z.infer<typeof Retries>;

const filter = (description: string) => z.array(Id).max(100).meta({ description });

/** Which events a webhook gets of those that it subscribes to. */
export const WebhookFilters = z.object({
  lineIds: filter(
    'Only events about these lines, or about messages and replies on them; empty: of all lines.',
  ),
  campaignIds: filter('Only events about these campaigns, or about messages of theirs; empty: of all.'),
  tags: z.array(z.string().trim().min(1).max(100)).max(100).meta({
    description:
      'Only events about contacts whose conversation or lead has one of these tags when the event happens; empty: about all.',
  }),
});
export type WebhookFilters = z.infer<typeof WebhookFilters>;

/** A webhook registration. */
export const Webhook = z
  .object({
    _id: Id,
    workspaceId: WorkspaceId,
    name: z.string(),
    url: z.string().meta({
      description:
        'Keys without the scope `manage` and members who are no admins see only its host, and `/…` in place of the path.',
    }),
    events: z.array(EventPattern),
    ...WebhookFilters.shape,
    retries: Retries,
    isActive: z.boolean(),
    failureCount: z.int(),
    lastSuccessAt: z.iso.datetime().nullable(),
    lastFailureAt: z.iso.datetime().nullable(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
  })
  .meta({ id: 'Webhook' });
export type Webhook = z.infer<typeof Webhook>;

export const WebhookInput = z
  .object({
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https URL' })
      .max(2000, 'must be at most 2000 characters'),
    events: z.array(EventPattern).min(1).max(50),
    name: z.string().max(200).overwrite(oneLine).optional(),
    ...WebhookFilters.partial().shape,
    retries: Retries.optional().meta({ description: 'Default: `none`.' }),
    isActive: z.boolean().optional().meta({
      description:
        'Default: true. false: nothing is delivered. Pending deliveries are sent when it is true again; events in the meantime are not.',
    }),
  })
  .meta({ id: 'WebhookInput' });
export type WebhookInput = z.infer<typeof WebhookInput>;

export const WebhookPatch = WebhookInput.partial().meta({ id: 'WebhookPatch' });
export type WebhookPatch = z.infer<typeof WebhookPatch>;

/** How long the previous secret keeps signing after a rotation. */
export const ROTATION_HOURS = 24;

/** An entry of the delivery log. */
export const WebhookDelivery = z
  .object({
    id: Id,
    eventId: Id.meta({ description: '`X-Svc-Event-Id`; the same in a replay.' }),
    event: DeliveredEvent,
    isReplayOf: Id.optional(),
    success: z.boolean().nullable().meta({ description: 'null: in progress.' }),
    responseStatus: z.int().nullable(),
    error: z
      .string()
      .nullable()
      .meta({ description: '`interrupted`: a crash interrupted it; it may have arrived.' }),
    latencyMs: z.int().nullable(),
    attemptCount: z.int(),
    nextAttemptAt: z.iso.datetime().optional().meta({
      description: 'Present while the delivery is to be attempted again, see `retries` of the webhook.',
    }),
    createdAt: z.iso.datetime(),
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDelivery = z.infer<typeof WebhookDelivery>;

/** An entry of the delivery log with what was sent and answered. */
export const DeliveryExchange = WebhookDelivery.extend({
  requestBody: z
    .string()
    .nullable()
    .meta({ description: 'The payload, exactly as it was sent. null: its contact was erased.' }),
  responseBody: z.string().nullable().meta({
    description:
      'The first 2,000 characters of the response. null: the delivery succeeded or is a replay, the response was empty, or the contact was erased.',
  }),
}).meta({ id: 'DeliveryExchange' });

/** Which deliveries to send again. */
export const ReplayInput = z
  .object({
    since: Instant.meta({ description: 'The earliest time of the deliveries.' }),
    onlyFailed: z.boolean().default(false).meta({ description: 'true: without those that succeeded.' }),
    cursor: Id.optional().meta({ description: 'The `nextCursor` of the previous response.' }),
  })
  .meta({ id: 'ReplayInput' });

/** How many deliveries one request replays. */
export const REPLAYED_AT_ONCE = 10_000;

/** The result of a replay or a test ping. */
export const DeliveryReport = z
  .object({
    success: z.boolean().meta({ description: 'The endpoint returned 2xx.' }),
    deliveryId: Id,
    isReplayOf: Id.nullable().meta({ description: 'null: a test ping.' }),
    responseStatus: z.int().nullable(),
    error: z.string().nullable(),
    latencyMs: z.int().meta({ description: 'The total, including a second attempt.' }),
    attemptCount: z.int().min(1).max(2),
  })
  .meta({ id: 'DeliveryReport' });
export type DeliveryReport = z.infer<typeof DeliveryReport>;
