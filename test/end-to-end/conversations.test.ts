import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { createLead, createLine, createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
const thread = (address: string, query = ''): string =>
  `/api/conversations/${encodeURIComponent(address)}${query}`;

async function sent(api: ApiClient, body: object): Promise<string> {
  const response = await api('POST', '/api/messages', { message: 'Hello', ...body });
  expect(response.status).toBe(201);
  await eventually(
    async () => (await api('GET', `/api/messages/${response.body._id}`)).body.status === 'delivered',
  );
  return response.body._id;
}

describe('GET /api/replies', () => {
  it('lists one item per conversation, newest first, in pages', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const contacts = [phone(), phone(), phone()] as const;
    for (const [index, from] of contacts.entries()) {
      await callBack(app, lineId, replyEvent(from, `first ${index}`, { at: at(index) }));
      await callBack(app, lineId, replyEvent(from, `second ${index}`, { at: at(10 + index) }));
    }
    const first = (await api('GET', '/api/replies?limit=2')).body;
    expect(first.replies.map(({ recipientPhone }: { recipientPhone: string }) => recipientPhone)).toEqual([
      contacts[2],
      contacts[1],
    ]);
    const second = (await api('GET', `/api/replies?limit=2&cursor=${first.nextCursor}`)).body;
    expect(second).toMatchObject({
      success: true,
      nextCursor: null,
      replies: [{ recipientPhone: contacts[0], respondedAtUtc: at(10).toISOString() }],
    });
    expect(second.replies[0].recentReplies.map(({ message }: { message: string }) => message)).toEqual([
      'second 0',
      'first 0',
    ]);
  });

  it('filters by lead, line and time', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const otherLine = await createLine(app, workspaceId);
    const [ada, eve] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [ada] });
    await callBack(app, lineId, replyEvent(ada, 'early', { at: at(1) }));
    await callBack(app, lineId, replyEvent(eve, 'middle', { at: at(2) }));
    await callBack(app, otherLine, replyEvent(ada, 'late', { at: at(3) }));
    const ids = async (query: string): Promise<string[]> =>
      (await api('GET', `/api/replies?${query}`)).body.replies.map(
        ({ respondedAtUtc }: { respondedAtUtc: string }) => respondedAtUtc,
      );
    const [early, middle, late] = [at(1), at(2), at(3)].map((date) => date.toISOString());
    expect(await ids('')).toEqual([late, middle]);
    expect(await ids(`leadId=${leadId}`)).toEqual([late]);
    expect(await ids(`lineId=${lineId}`)).toEqual([middle, early]);
    expect(await ids(`since=${late}`)).toEqual([late]);
    expect(await ids(`until=${middle}`)).toEqual([middle, early]);
    expect(await api('GET', '/api/replies?since=yesterday')).toMatchObject({
      status: 400,
      body: { code: 'VALIDATION_ERROR' },
    });
  });
});

describe('conversations', () => {
  it('are listed by their last activity and shown in both directions', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const [ada, eve] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, {
      first_name: 'Ada',
      last_name: 'Lovelace',
      phones: [ada],
    });
    await callBack(app, lineId, replyEvent(eve, 'Anyone there?', { at: at(1) }));
    const messageId = await sent(api, { leadId, message: 'Hi {{ firstName }}' });

    const { body } = await api('GET', '/api/conversations');
    expect(body.conversations).toMatchObject([
      {
        address: ada,
        phone: ada,
        email: null,
        leadId,
        name: 'Ada Lovelace',
        lineId,
        lastMessage: 'Hi Ada',
        lastDirection: 'out',
        tags: [],
        optedOut: false,
        inboxHref: `/inbox/${ada}`,
      },
      {
        address: eve,
        leadId: null,
        name: eve,
        lastMessage: 'Anyone there?',
        lastDirection: 'in',
        lastAt: at(1).toISOString(),
      },
    ]);
    const first = (await api('GET', '/api/conversations?limit=1')).body;
    const second = (await api('GET', `/api/conversations?limit=1&cursor=${first.nextCursor}`)).body;
    expect([...first.conversations, ...second.conversations]).toEqual(body.conversations);
    expect(second.nextCursor).toBeNull();

    await callBack(app, lineId, replyEvent(ada, 'Hello back', { at: new Date(Date.now() + 1000) }));
    const whole = await api('GET', thread(ada));
    expect(whole.body.conversation).toMatchObject({
      address: ada,
      lastMessage: 'Hello back',
      lastDirection: 'in',
    });
    expect(whole.body.messages).toMatchObject([
      { direction: 'in', message: 'Hello back', originalMessageId: messageId, status: null, lineId },
      { direction: 'out', message: 'Hi Ada', messageId, status: 'delivered', lineId },
    ]);
    const newest = (await api('GET', thread(ada, '?limit=1'))).body;
    const older = (await api('GET', thread(ada, `?limit=1&cursor=${newest.nextCursor}`))).body;
    expect([...newest.messages, ...older.messages]).toEqual(whole.body.messages);
    expect(older.nextCursor).toBeNull();
  });

  it('refuse a forged cursor by name or treat it as a position', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const from = phone();
    await callBack(app, lineId, replyEvent(from, 'Hello'));
    const forge = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const value of [[1, 'a\0b'], [1, '\ud800'], [-8.64e15, 'a'], [8.64e15, 'a'], [1.5, 'a'], {}]) {
      for (const path of [thread(from), '/api/conversations', '/api/opt-outs']) {
        expect(await api('GET', `${path}?cursor=${forge(value)}`), path).toMatchObject({
          status: 400,
          body: { code: 'VALIDATION_ERROR', issues: [{ path: 'cursor' }] },
        });
      }
    }
    for (const value of [
      [0, ''],
      [Date.UTC(9999, 0), '~'],
      [1, "' or 1=1 --"],
    ])
      expect((await api('GET', `${thread(from)}?cursor=${forge(value)}`)).status).toBe(200);
  });

  it('have tags without duplicates', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const from = phone();
    await callBack(app, lineId, replyEvent(from, 'Hello'));
    const { status, body } = await api('POST', `${thread(from)}/tags`, {
      tags: ['Interested', 'vip', 'interested'],
    });
    expect(status).toBe(200);
    expect(body.conversation.tags).toEqual(['interested', 'vip']);
    expect((await api('GET', thread(from))).body.conversation.tags).toEqual(['interested', 'vip']);
    expect((await api('POST', `${thread(from)}/tags`, { tags: [] })).body.conversation.tags).toEqual([]);
    expect(await api('POST', `${thread(from)}/tags`, { tags: 'vip' })).toMatchObject({ status: 400 });
  });

  it('are visible to their own workspace only', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const stranger = await createWorkspaceWithLine(app);
    const from = phone();
    await callBack(app, lineId, replyEvent(from, 'Hello'));
    expect((await api('GET', thread(from))).status).toBe(200);
    expect(await stranger.api('GET', thread(from))).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND' },
    });
    expect(await stranger.api('POST', `${thread(from)}/tags`, { tags: ['x'] })).toMatchObject({
      status: 404,
    });
    expect((await stranger.api('GET', '/api/replies')).body.replies).toEqual([]);
    expect((await stranger.api('GET', '/api/conversations')).body.conversations).toEqual([]);
  });
});

describe('POST /api/inbox/send-reply', () => {
  it('replies to the address that wrote last, from the line it wrote to', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const wroteTo = await createLine(app, workspaceId, 'sms');
    const [old, current] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [old, current] });
    await callBack(app, lineId, replyEvent(old, 'long ago', { at: at(1) }));
    await callBack(app, wroteTo, replyEvent(current, 'now', { at: at(2) }));
    const { status, body } = await api('POST', '/api/inbox/send-reply', { leadId, message: 'Hi' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      source: 'inbox',
      fromLineId: wroteTo,
      messageType: 'sms',
      recipientPhone: current,
      leadId,
    });
    await eventually(async () => (await sentTo(app, current))[0]?.lineId === wroteTo);
    expect(await api('POST', '/api/inbox/send-reply', { phone: old, message: 'Hi' })).toMatchObject({
      status: 201,
      body: { fromLineId: lineId },
    });
    expect(
      await api('POST', '/api/inbox/send-reply', { phone: current, message: 'Hi', fromLineId: lineId }),
    ).toMatchObject({ body: { fromLineId: lineId } });
  });

  it.each([
    ['no contact', { message: 'x' }, 400, 'VALIDATION_ERROR'],
    ['no text', { phone: '+14155550177' }, 400, 'VALIDATION_ERROR'],
    ['an unknown lead', { leadId: '0123456789abcdef01234567', message: 'x' }, 404, 'NOT_FOUND'],
    [
      'an unknown line',
      { phone: '+14155550177', message: 'x', fromLineId: '0123456789abcdef01234567' },
      404,
      'NOT_FOUND',
    ],
  ])('refuses %s', async (_what, body, status, code) => {
    const { api } = await createWorkspaceWithLine(app);
    expect(await api('POST', '/api/inbox/send-reply', body)).toMatchObject({ status, body: { code } });
  });
});

describe('POST /api/fallback-sms', () => {
  it('makes a conversation of a contact whom nothing else has reached', async () => {
    const { api } = await createWorkspaceWithLine(app);
    await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
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
    const today = new Date().toISOString().slice(0, 10);
    const ofDay = await api('GET', `/api/analytics/conversations?date=${today}&timezone=UTC`);
    expect(ofDay.body).toMatchObject({ conversations: [{ phone: to, sent: 1, lastMessage: 'By SMS only' }] });
  });

  it('sends an SMS to the recipient of a message through the fallback account', async () => {
    const { api } = await createWorkspaceWithLine(app);
    const to = phone();
    const messageId = await sent(api, {
      recipientPhone: to,
      message: 'Hello {{ firstName | default: "there" }}',
    });
    expect(await api('POST', '/api/fallback-sms', { messageId })).toMatchObject({
      status: 400,
      body: { code: 'FALLBACK_NOT_CONFIGURED' },
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

  it('never sends to a number that opted out', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    await api('PATCH', '/api/workspace/fallback-config', {
      enabled: true,
      provider: 'simulated',
      fromNumber: '+14155550100',
    });
    const to = phone();
    const messageId = await sent(api, { recipientPhone: to });
    await callBack(app, lineId, replyEvent(to, 'STOP'));
    expect(await api('POST', '/api/fallback-sms', { messageId })).toMatchObject({
      status: 201,
      body: { status: 'failed', errorMessage: 'recipient_opted_out' },
    });
    expect(await sentTo(app, to)).toHaveLength(1);
  });
});
