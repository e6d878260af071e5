import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { withSystem } from '#db/connection/transactions.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace } from '#test/support/factories.ts';
import { type Front, startFront } from '#test/support/front.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';

const MESSAGES = 120;

let twilio: TwilioStandIn;
let app: TestApp;
let api: ApiClient;
let lineId: string;
let otherLineId: string;
/** In front of the carrier: refuses all messages while it is overloaded, and forwards all other requests. */
let front: Front;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  front = await startFront(twilio.url);
  front.refusal = { status: 429, body: { code: 20429, message: 'Too many requests' } };
  app = await sharedApp();
  const workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  [lineId, otherLineId] = [
    await createLine(app, workspace.id, 'sms'),
    await createLine(app, workspace.id, 'sms'),
  ];
  const config = { accountSid: TWILIO_ACCOUNT.sid, authToken: TWILIO_ACCOUNT.authToken, baseUrl: front.url };
  await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'twilio', config });
});
afterAll(async () => {
  await front.close();
  await twilio.stop();
});

const count = (status: string) =>
  withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ count: z.int() }))`
      select count(*) count from messages where line_id = ${lineId} and status = ${status}`),
  );

test('messages wait while the carrier refuses all of them, with few retries, and are sent once it accepts again', async () => {
  const recipients = Array.from({ length: MESSAGES }, () => phone());
  for (let start = 0; start < MESSAGES; start += 40) {
    const entries = recipients.slice(start, start + 40).map((recipientPhone) =>
      api('POST', '/api/drip', {
        message: 'Hello',
        messageType: 'sms',
        fromLineId: lineId,
        recipientPhone,
      }),
    );
    for (const { status } of await Promise.all(entries)) expect(status).toBe(202);
  }
  await eventually(async () => (await count('scheduled')) === MESSAGES);
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`update messages set scheduled_at = now() where line_id = ${lineId}`),
  );
  const urgent = await api('POST', '/api/messages', {
    message: 'Hello',
    messageType: 'sms',
    fromLineId: lineId,
    recipientPhone: phone(),
  });
  const held = await eventually(async () => {
    const { body } = await api('GET', `/api/messages?lineId=${lineId}&limit=200`);
    const waiting = body.messages.filter(
      ({ holdReason }: { holdReason: string }) => holdReason === 'carrier_pause',
    );
    return waiting.length > 0 && waiting;
  });
  expect(['pending', 'scheduled']).toContain(held[0].status);
  const timeline = await eventually(async () => {
    const { body } = await api('GET', `/api/messages/${held[0]._id}/timeline`);
    return body.waitingFor?.reason === 'carrier_pause' && body;
  });
  expect(timeline.waitingFor.text).toContain(
    'The carrier takes no messages at the moment (“20429: Too many requests”).',
  );
  // Rounds of at most 16 until the circuit opens, and the trials since.
  expect(front.posts).toBeLessThan(MESSAGES);
  const lines = (await api('GET', '/api/lines/by-user')).body.lines;
  expect(lines.find(({ _id }: { _id: string }) => _id === lineId).healthCheck.status).toBe('healthy');

  const elsewhere = phone();
  await api('POST', '/api/messages', {
    message: 'Hello',
    messageType: 'sms',
    fromLineId: otherLineId,
    recipientPhone: elsewhere,
  });
  await eventually(async () => (await sentTo(app, elsewhere)).length === 1);

  const before = front.posts;
  front.refusal = null;
  await eventually(async () => (await count('delivered')) === MESSAGES + 1, 120_000);
  expect(front.posts - before).toBe(MESSAGES + 1);
  for (const to of recipients) expect(twilio.sent.filter((message) => message.to === to)).toHaveLength(1);
  expect((await api('GET', `/api/messages/${urgent.body._id}`)).body.status).toBe('delivered');
}, 180_000);
