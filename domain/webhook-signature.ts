import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';

/**
 * A new signing secret: `whsec_` and the base64 of 32 random bytes (the Standard Webhooks scheme asks for 24
 * to 64).
 */
export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export interface SignedDelivery {
  /** Stays the same over replays: what a receiver keys on. */
  eventId: string;
  /** New with every delivery. */
  deliveryId: string;
  /** The event's name. */
  event: string;
  /** Of this attempt, not of the event: receivers refuse old ones. Whole seconds are signed. */
  timestamp: Date;
  /** The raw body, signed byte for byte. */
  body: string;
  /** `whsec_…`, the current one first. Each of them signs: for 24 hours after a rotation there are two. */
  secrets: readonly string[];
  replay?: boolean;
}

/**
 * The headers of a delivery: ours, and beside them those of Standard Webhooks 1.0.0, so that
 * its public libraries verify the delivery as it is.
 * @throws when the event id contains a `.`, which separates the parts of the signed content, or there is no
 * secret.
 */
export function signatureHeaders(delivery: SignedDelivery): Record<string, string> {
  const { eventId, timestamp, body, secrets } = delivery;
  if (!/^[^.\s]+$/.test(eventId)) throw new Error('an event id to sign must be without dots and spaces');
  if (secrets.length === 0) throw new Error('a delivery needs a secret to sign with');
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
