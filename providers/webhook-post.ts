import type { DeliveredEvent } from '#domain/events/event.ts';
import { signatureHeaders } from '#domain/events/webhook-signature.ts';
import type { Egress } from './egress.ts';
import { secretContext, type SecretBox } from './secret-box.ts';

/** A delivery fails if the endpoint does not respond within this time. */
export const DELIVERY_TIMEOUT_MS = 10_000;
/** Up to this size the body is read, because only then can the connection be reused. */
const MAX_RESPONSE_BYTES = 64 * 1024;
/** How much of a failed response's body is stored, in characters. */
const MAX_KEPT_BODY = 2000;

/** A claimed delivery, with everything required to send it. */
export interface OutgoingDelivery {
  id: string;
  webhookId: string;
  eventId: string;
  event: DeliveredEvent;
  url: string;
  body: string;
  secretSealed: string;
  /** Null unless the secret was rotated within `ROTATION_HOURS`. */
  previousSecretSealed: string | null;
}

export interface PostResult {
  success: boolean;
  responseStatus: number | null;
  error: string | null;
  latencyMs: number;
  /** The beginning of the endpoint's response; null if it succeeded, or was empty. */
  responseBody: string | null;
  /** The connection failed, before or after the request was sent, and a retry may succeed. */
  retryable: boolean;
  /** The URL, or an address that it resolves to, is not allowed. */
  blocked: boolean;
  /** The header `Retry-After` of the response. */
  retryAfter: string | null;
}

/** Signs and posts a delivery, once. */
export async function postDelivery(
  { egress, secrets }: { egress: Egress; secrets: SecretBox },
  workspaceId: string,
  delivery: OutgoingDelivery,
  {
    replay = false,
    timeoutMs = DELIVERY_TIMEOUT_MS,
    traceHeaders = {},
  }: { replay?: boolean; timeoutMs?: number; traceHeaders?: { traceparent?: string } } = {},
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
  const {
    status,
    error,
    latencyMs,
    blocked,
    body,
    retryAfter = null,
  } = await egress.post(delivery.url, {
    headers: { ...traceHeaders, ...headers, 'content-type': 'application/json' },
    body: delivery.body,
    timeoutMs,
    maxResponseBytes: MAX_RESPONSE_BYTES,
  });
  // The endpoint has answered in time, whatever happens to the body of its response.
  const success = status !== null && status >= 200 && status < 300;
  const reason = success ? null : (error ?? `the endpoint responded ${status}`);
  const retryable = status === null && error !== 'timeout' && !blocked;
  const responseBody = success ? null : keptBody(body);
  return {
    success,
    responseStatus: status,
    error: reason,
    latencyMs,
    responseBody,
    retryable,
    blocked,
    retryAfter,
  };
}

/** Without characters that PostgreSQL cannot store. */
function keptBody(body: string): string | null {
  const kept = body.slice(0, MAX_KEPT_BODY).toWellFormed().replaceAll('\0', '\uFFFD');
  return kept === '' ? null : kept;
}
