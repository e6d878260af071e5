import { createHmac } from 'node:crypto';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { newWebhookSecret, signatureHeaders, type SignedDelivery } from './webhook-signature.ts';

const delivery = (changes: Partial<SignedDelivery> = {}): SignedDelivery => ({
  eventId: '6742f1c09b1e8a00d4c3b2a1',
  deliveryId: '6742f1c09b1e8a00d4c3b2a2',
  event: 'message.sent',
  timestamp: new Date(),
  body: '{"event":"message.sent","message":"grüße 🎉"}',
  secrets: [newWebhookSecret()],
  ...changes,
});

test('a signature matches the published vector of Standard Webhooks', () => {
  const headers = signatureHeaders({
    eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    deliveryId: 'd1',
    event: 'test',
    timestamp: new Date(1_614_265_330_999),
    body: '{"test": 2432232314}',
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });
  const signature = 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=';
  expect(headers).toEqual({
    'X-Svc-Event': 'test',
    'X-Svc-Event-Id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'X-Svc-Delivery-Id': 'd1',
    'X-Svc-Timestamp': '1614265330',
    'X-Svc-Signature': signature,
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': '1614265330',
    'webhook-signature': signature,
  });
});

test('a signature matches the documented recipe, computed without a library', () => {
  const sent = delivery();
  const headers = signatureHeaders(sent);
  const key = Buffer.from(sent.secrets[0]!.slice('whsec_'.length), 'base64');
  const content = `${headers['X-Svc-Event-Id']}.${headers['X-Svc-Timestamp']}.${sent.body}`;
  expect(headers['X-Svc-Signature']).toBe(`v1,${createHmac('sha256', key).update(content).digest('base64')}`);
});

test('the public library verifies an unchanged delivery and refuses a changed one', () => {
  const sent = delivery();
  const headers = signatureHeaders(sent);
  const receiver = new Webhook(sent.secrets[0]!);
  expect(receiver.verify(sent.body, headers)).toEqual(JSON.parse(sent.body));
  expect(() => receiver.verify(`${sent.body} `, headers)).toThrow(WebhookVerificationError);
  expect(() => receiver.verify(sent.body, { ...headers, 'webhook-id': 'other' })).toThrow(
    WebhookVerificationError,
  );
  expect(() => new Webhook(newWebhookSecret()).verify(sent.body, headers)).toThrow(WebhookVerificationError);
});

test('a delivery verifies with both secrets during a rotation', () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()];
  const sent = delivery({ secrets });
  const headers = signatureHeaders(sent);
  expect(headers['X-Svc-Signature']).toMatch(/^v1,\S{44} v1,\S{44}$/);
  for (const secret of secrets) expect(new Webhook(secret).verify(sent.body, headers)).toBeTruthy();
});

test('only a replay has the header X-Svc-Replay', () => {
  expect(signatureHeaders(delivery())).not.toHaveProperty('X-Svc-Replay');
  expect(signatureHeaders(delivery({ replay: false }))).not.toHaveProperty('X-Svc-Replay');
  expect(signatureHeaders(delivery({ replay: true }))).toHaveProperty('X-Svc-Replay', 'true');
});

test('an event id with dots, an empty one and a missing secret are refused', () => {
  expect(() => signatureHeaders(delivery({ eventId: 'a.1614265330' }))).toThrow('must not contain dots');
  expect(() => signatureHeaders(delivery({ eventId: '' }))).toThrow('must not contain dots');
  expect(() => signatureHeaders(delivery({ secrets: [] }))).toThrow('requires at least one secret');
});

test('a secret is whsec_ followed by 32 random bytes', () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newWebhookSecret()).not.toBe(secret);
});
