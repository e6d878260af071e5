import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { type SystemTransaction, withSystem } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { deliverMessage } from '#test/support/messages.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { race, stayOpen } from '#test/support/locks.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

describe('POST /api/fallback-sms', () => {
  it('makes a conversation of a contact whom nothing else has reached', async () => {
    const { api } = await createWorkspaceWithLine(app);
    await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url, { events: ['message.fallback'] });
    const to = phone();
    const { body } = await api('POST', '/api/messages', {
      message: 'By SMS only',
      recipientPhone: to,
      forceFallback: true,
    });
    await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.fallbackSmsDispatched);
    const { conversations } = (await api('GET', '/api/conversations')).body;
    expect(conversations).toMatchObject([
      { address: to, lastDirection: 'out', lastMessage: 'By SMS only', lastOutboundAt: expect.any(String) },
    ]);
    await eventually(async () => endpoint.received.length > 0);
    // No address was tried on the primary channel.
    expect(endpoint.received[0]?.json.data).toEqual({ reason: 'forced' });
    const today = new Date().toISOString().slice(0, 10);
    const ofDay = await api('GET', `/api/analytics/conversations?date=${today}&timezone=UTC`);
    expect(ofDay.body).toMatchObject({ conversations: [{ phone: to, sent: 1, lastMessage: 'By SMS only' }] });
  });

  it('shows why a message that is forced waits for its window', async () => {
    const { api } = await createWorkspaceWithLine(app);
    await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
    const inTwoDays = new Date(Date.now() + 2 * 86_400_000).getUTCDay();
    const { body } = await api('POST', '/api/messages', {
      message: 'By SMS only',
      recipientPhone: phone(),
      forceFallback: true,
      timezone: 'UTC',
      allowedDaysOfWeek: [inTwoDays],
    });
    expect(body).toMatchObject({ status: 'scheduled', holdReason: 'send_window' });
  });

  it('sends an SMS to the recipient of a message through the fallback account', async () => {
    const { api } = await createWorkspaceWithLine(app);
    const to = phone();
    const messageId = await deliverMessage(api, {
      recipientPhone: to,
      message: 'Hello {{ firstName | default: "there" }}',
    });
    expect(await api('POST', '/api/fallback-sms', { messageId })).toMatchObject({
      status: 400,
      body: {
        code: 'FALLBACK_NOT_CONFIGURED',
        error: 'The workspace has no SMS fallback: configure it at PATCH /api/workspace/fallback-config',
      },
    });

    await api('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    for (const message of [undefined, 'Did you see it?']) {
      const { status, body } = await api('POST', '/api/fallback-sms', { messageId, message });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        source: 'fallback-sms',
        recipientPhone: to,
        message: message ?? 'Hello {{ firstName | default: "there" }}',
      });
      await eventually(
        async () => (await api('GET', `/api/messages/${body._id}`)).body.fallbackSmsDispatched,
      );
    }
    expect((await sentTo(app, to)).map(({ channel, text }) => [channel, text])).toEqual([
      ['imessage', 'Hello there'],
      ['sms', 'Hello there'],
      ['sms', 'Did you see it?'],
    ]);
    expect(await api('POST', '/api/fallback-sms', { messageId: '0123456789abcdef01234567' })).toMatchObject({
      status: 404,
    });
  });

  it('has the message as its text if its own is empty, and a configuration that can be sent back', async () => {
    const { api } = await createWorkspaceWithLine(app);
    const { body } = await api('PATCH', '/api/workspace/fallback-config', {
      provider: 'simulated',
      fromNumber: '+14155550100',
      defaultMessage: ' ',
    });
    expect((await api('PATCH', '/api/workspace/fallback-config', body)).status).toBe(200);
    const to = phone('0001');
    const message = {
      recipientPhone: to,
      message: 'Hello',
      smsFallbackEnabled: true,
      smsFallbackMessage: '',
    };
    const { body: accepted } = await api('POST', '/api/messages', message);
    await eventually(
      async () => (await api('GET', `/api/messages/${accepted._id}`)).body.fallbackSmsDispatched,
    );
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['Hello']);
  });

  it('has an account with all fields of changes at the same time', async () => {
    const { id, api } = await createWorkspaceWithLine(app);
    const change = (fields: object) =>
      api('PATCH', '/api/workspace/fallback-config', { provider: 'simulated', ...fields });
    const held = await stayOpen<SystemTransaction>(
      (work) => withSystem(app.pools, work),
      (db) => db.query(sql.type(NoRows)`select from workspaces where id = ${id} for update`),
    );
    const [accountSid, fromNumber] = ['AC1', '+14155550100'];
    const changed = await race(
      app,
      held,
      () => change({ accountSid }),
      () => change({ fromNumber }),
    );
    expect(changed.map(({ status }) => status)).toEqual([200, 200]);
    expect((await api('GET', '/api/workspace/fallback-config')).body.config).toMatchObject({
      accountSid,
      fromNumber,
    });
  });

  it('never sends to a number that opted out', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    await api('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    const to = phone();
    const messageId = await deliverMessage(api, { recipientPhone: to });
    await callBack(app, lineId, replyEvent(to, 'STOP'));
    expect(await api('POST', '/api/fallback-sms', { messageId })).toMatchObject({
      status: 201,
      body: { status: 'failed', errorMessage: 'recipient_opted_out' },
    });
    expect(await sentTo(app, to)).toHaveLength(1);
  });
});
