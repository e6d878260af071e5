import { z } from 'zod';
import { WorkspaceId } from '../ids.ts';

/** The test ping of `POST /api/webhooks/{id}/health-check`: goes to one webhook, whatever it subscribes to. */
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
  message: 'A test ping: this webhook is reached and its signature can be verified.',
  data: { webhookId },
});
