import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/**
 * A new signing secret: `whsec_` and the base64 of 32 random bytes (Standard Webhooks requires 24 to 64).
 */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export interface SignedDelivery {
  /** The same for replays; receivers deduplicate by it. */
  eventId: string;
  /** Unique per delivery. */
  deliveryId: string;
  /** The name of the event. */
  event: string;
  /** The time of this attempt, because receivers reject old timestamps. Signed in whole seconds. */
  timestamp: Date;
  body: string;
  /** `whsec_…`, the current one first. Every secret signs; for 24 hours after a rotation there are two. */
  secrets: readonly string[];
  replay?: boolean;
}

/**
 * The headers of a delivery: our own, and those of Standard Webhooks 1.0.0, so that its public libraries can verify it.
 * @throws if there is no secret, or if the event id contains a `.`, which separates the parts of the signed content.
 */
export function signatureHeaders(delivery: SignedDelivery): Record<string, string> {
  const { eventId, timestamp, body, secrets } = delivery;
  if (!/^[^.\s]+$/.test(eventId)) throw new Error('an event id must not contain dots or spaces');
  if (secrets.length === 0) throw new Error('a delivery requires at least one secret');
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const signatures = secrets.map((secret) => new Webhook(secret).sign(eventId, timestamp, body)).join(' ');
  return {
    'X-Svc-Event': delivery.event,
    'X-Svc-Event-Id': eventId,
    'X-Svc-Delivery-Id': delivery.deliveryId,
    'X-Svc-Timestamp': seconds,
    'X-Svc-Signature': signatures,
    'webhook-id': eventId,
    'webhook-timestamp': seconds,
    'webhook-signature': signatures,
    ...(delivery.replay && { 'X-Svc-Replay': 'true' }),
  };
}
