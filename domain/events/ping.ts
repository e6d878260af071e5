import { z } from 'zod';
import { WorkspaceId } from '../base/ids.ts';

/** The test ping of `POST /api/webhooks/{id}/health-check`, sent to one webhook regardless of its subscriptions. */
export const WebhookPing = z.object({
  event: z.literal('webhook.ping'),
  timestamp: z.iso.datetime(),
  workspaceId: WorkspaceId,
  messageId: z.null(),
  message: z.string(),
  data: z.object({ webhookId: z.string() }),
});

export const pingPayload = (
  workspaceId: string,
  webhookId: string,
  now: Date,
): z.infer<typeof WebhookPing> => ({
  event: 'webhook.ping',
  timestamp: now.toISOString(),
  workspaceId,
  messageId: null,
  message: 'Test ping: the webhook is reachable and its signature can be verified.',
  data: { webhookId },
});
