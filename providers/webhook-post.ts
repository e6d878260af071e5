import type { DeliveredEvent } from '#domain/event.ts';
import { signatureHeaders } from '#domain/webhook-signature.ts';
import type { Egress } from './egress.ts';
import { secretContext, type SecretBox } from './secret-box.ts';

/** An endpoint that does not respond within this has failed. */
export const DELIVERY_TIMEOUT_MS = 10_000;
/** Of an answer: nothing in it is used, so no more of it is read than a friendly endpoint sends. */
const MAX_RESPONSE_BYTES = 64 * 1024;

/** A delivery that is claimed, with all that sending it needs. */
export interface OutgoingDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  event: DeliveredEvent;
  url: string;
  body: string;
  secretSealed: string;
  /** Null unless the secret was rotated within the last day. */
  previousSecretSealed: string | null;
}

export interface PostResult {
  success: boolean;
  responseStatus: number | null;
  error: string | null;
  latencyMs: number;
  /** The endpoint was not reached, no byte of the request left, and another attempt may fare better. */
  retryable: boolean;
}

/** Signs and posts a delivery, once. */
export async function postDelivery(
  { egress, secrets }: { egress: Egress; secrets: SecretBox },
  workspaceId: string,
  delivery: OutgoingDelivery,
  { replay = false, timeoutMs = DELIVERY_TIMEOUT_MS }: { replay?: boolean; timeoutMs?: number } = {},
): Promise<PostResult> {
  const context = secretContext('webhook', workspaceId, delivery.webhookId);
  const sealed = [delivery.secretSealed, delivery.previousSecretSealed].filter((text) => text !== null);
  const headers = signatureHeaders({
    eventId: delivery.eventId,
    deliveryId: delivery.id,
    event: delivery.event,
    timestamp: new Date(),
    body: delivery.body,
    secrets: sealed.map((text) => secrets.open(text, context)),
    replay,
  });
  const { status, error, latencyMs, connected, blocked } = await egress.post(delivery.url, {
    headers: { ...headers, 'content-type': 'application/json' },
    body: delivery.body,
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  const success = error === null && status !== null && status >= 200 && status < 300;
  const reason = success ? null : (error ?? `the endpoint answered ${status}`);
  return { success, responseStatus: status, error: reason, latencyMs, retryable: !connected && !blocked };
}
