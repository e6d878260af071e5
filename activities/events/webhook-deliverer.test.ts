import { pino } from 'pino';
import { expect, test, vi } from 'vitest';
import { FIRST_LIMIT } from '#domain/events/delivery-limit.ts';
import { createWebhookDeliverer } from './webhook-deliverer.ts';

const delivery = (id: number) => ({
  id: String(id),
  webhookId: 'hook',
  eventId: 'event',
  event: 'message.sent' as const,
  url: 'https://client.example',
  body: '{}',
  secretSealed: '',
  attemptCount: 0,
  isReplayOf: null,
  retries: 'none' as const,
  previousSecretSealed: null,
  createdAt: new Date(),
  claimedAt: new Date(),
});

test('an endpoint keeps for ten idle minutes what it has been given at once', async () => {
  vi.useFakeTimers();
  const answer = { status: 200, error: null, latencyMs: 1, connected: true, blocked: false, body: '' };
  const deliverer = createWebhookDeliverer({
    // Without a database, results are not recorded, which changes no limits.
    pools: {} as never,
    egress: { post: async () => answer } as never,
    secrets: { open: () => Buffer.alloc(32).toString('base64') } as never,
    logger: pino({ level: 'silent' }),
    onDelivery() {},
    onEventDelivered() {},
  });
  const slots = deliverer.slots('workspace');
  for (let id = 0; id < FIRST_LIMIT; id += 1) slots.start(delivery(id));
  await vi.advanceTimersByTimeAsync(1);
  expect(slots.underWay).toBe(0);
  const limit = slots.limits.get('hook');
  expect(limit).toBeGreaterThan(FIRST_LIMIT);
  await vi.advanceTimersByTimeAsync(9 * 60_000);
  expect(deliverer.slots('workspace').limits.get('hook')).toBe(limit);
  await vi.advanceTimersByTimeAsync(2 * 60_000);
  expect(deliverer.slots('workspace').limits.get('hook')).toBeUndefined();
  vi.useRealTimers();
});

test('a process that was suspended after it has claimed a delivery does not send it', async () => {
  const post = vi.fn();
  const deliverer = createWebhookDeliverer({
    pools: {} as never,
    egress: { post } as never,
    secrets: { open: () => Buffer.alloc(32).toString('base64') } as never,
    logger: pino({ level: 'silent' }),
    onDelivery() {},
    onEventDelivered() {},
  });
  deliverer.slots('workspace').start({ ...delivery(1), claimedAt: new Date(Date.now() - 20_000) });
  await deliverer.close();
  expect(post).not.toHaveBeenCalled();
});
