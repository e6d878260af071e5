import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { z } from 'zod';
import { withTenant } from '#db/connection/transactions.ts';
import { createWorkspaceWithLine, insertRow } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const countsOf = async (api: ApiClient): Promise<Record<string, number>> => {
  const { status, body } = await api('GET', '/api/conversations/counts');
  expect(status).toBe(200);
  return body.counts;
};

describe('what waits for a person', () => {
  it('counts the conversations of each view exactly, and a campaign answers nobody', async () => {
    const { api, lineId, id: organizationId, ownerId } = await createWorkspaceWithLine(app);
    const owner = await sessionClient(app, { userId: ownerId, organizationId, role: 'org:admin' });
    expect(await countsOf(api)).toEqual({
      open: 0,
      unanswered: 0,
      unread: 0,
      mine: 0,
      unassigned: 0,
      snoozed: 0,
      drafts: 0,
      suspected: 0,
    });
    const contacts = Array.from({ length: 5 }, phone);
    for (const from of contacts)
      await callBack(app, lineId, replyEvent(from, 'Can you send me the report?', { at: new Date() }));
    const [answered = '', told = '', closed = '', mine = '', snoozed = ''] = contacts;

    const reply = await api('POST', '/api/inbox/send-reply', { phone: answered, message: 'Here it is.' });
    expect(reply.status).toBe(201);
    const listId = (await api('POST', '/api/lists', { name: 'News' })).body.list._id;
    await api('POST', '/api/leads', { listId, leads: [{ phones: [told] }] });
    const steps = [{ message: 'Our news', messageType: 'sms' }];
    const campaign = await api('POST', '/api/campaigns', { name: 'News', listId, steps, start: true });
    expect(campaign.status).toBe(201);
    for (const address of [answered, told])
      await eventually(async () => {
        const { conversation } = (await api('GET', `/api/conversations/${address}`)).body;
        return conversation.lastDirection === 'out';
      });
    await api('PATCH', `/api/conversations/${closed}`, { status: 'closed' });
    await api('PATCH', `/api/conversations/${mine}`, { assigneeId: ownerId });
    const snoozedUntil = new Date(Date.now() + 3_600_000).toISOString();
    await api('PATCH', `/api/conversations/${snoozed}`, { status: 'snoozed', snoozedUntil });
    await owner('POST', `/api/conversations/${mine}/read`);

    const counts = { open: 3, unanswered: 2, unassigned: 2, snoozed: 1, drafts: 0, suspected: 0 };
    expect(await countsOf(owner)).toEqual({ ...counts, unread: 2, mine: 1 });
    // For a key, which reads nothing, a conversation is unread until something was sent.
    expect(await countsOf(api)).toEqual({ ...counts, unread: 1, mine: 0 });
    const { body: unanswered } = await api('GET', '/api/conversations?unanswered=true');
    const addresses = unanswered.conversations.map(({ address }: { address: string }) => address);
    expect(addresses.toSorted()).toEqual([told, mine].toSorted());
  });

  it('counts a reply as an answer from its acceptance, unless it does not leave or the contact writes meanwhile', async () => {
    const { api, lineId } = await createWorkspaceWithLine(app);
    const [waits, planned, canceled, again, refused] = [phone(), phone(), phone(), phone(), phone('0002')];
    const contacts = [waits, planned, canceled, again, refused];
    const write = (from: string) =>
      callBack(app, lineId, replyEvent(from, 'Is it free?', { at: new Date() }));
    const expectUnanswered = async (...expected: string[]): Promise<void> => {
      const addressesOf = async (unanswered: boolean): Promise<string[]> =>
        (await api('GET', `/api/conversations?unanswered=${unanswered}`)).body.conversations
          .map(({ address }: { address: string }) => address)
          .toSorted();
      expect(await addressesOf(true)).toEqual(expected.toSorted());
      expect(await addressesOf(false)).toEqual(contacts.filter((one) => !expected.includes(one)).toSorted());
      expect(await countsOf(api)).toMatchObject({ unanswered: expected.length });
      const { items } = (await api('GET', '/api/attention')).body;
      const counted = items.find(({ kind }: { kind: string }) => kind === 'unanswered');
      expect(counted?.count ?? 0).toBe(expected.length);
    };
    for (const from of contacts) await write(from);
    await expectUnanswered(...contacts);

    await api('POST', `/api/lines/${lineId}/pause`, {});
    const ids = new Map<string, string>();
    for (const to of contacts) {
      const scheduledDate = to === planned && new Date(Date.now() + 86_400_000).toISOString();
      const reply = { phone: to, message: 'It is.', ...(scheduledDate && { scheduledDate }) };
      const { status, body } = await api('POST', '/api/inbox/send-reply', reply);
      expect(status).toBe(201);
      ids.set(to, body._id);
    }
    await expectUnanswered();
    expect((await api('POST', `/api/messages/${ids.get(canceled)}/cancel`)).status).toBe(200);
    await write(again);
    await expectUnanswered(canceled, again);

    await api('POST', `/api/lines/${lineId}/resume`, {});
    for (const to of [waits, again, refused])
      await eventually(async () => {
        const { status } = (await api('GET', `/api/messages/${ids.get(to)}`)).body;
        return status === (to === refused ? 'failed' : 'delivered');
      });
    await expectUnanswered(canceled, again, refused);
  });

  it('lists what needs a person, with its count and since when', async () => {
    const { api, lineId, id: workspaceId, ownerId } = await createWorkspaceWithLine(app);
    const owner = await sessionClient(app, {
      userId: ownerId,
      organizationId: workspaceId,
      role: 'org:admin',
    });
    const itemsOf = async () => (await api('GET', '/api/attention')).body.items;
    expect(await itemsOf()).toEqual([]);
    const at = new Date();
    await callBack(app, lineId, replyEvent(phone(), 'Is it still available?', { at }));
    expect((await api('POST', `/api/lines/${lineId}/pause`, {})).status).toBe(200);
    const key = await owner('POST', '/api/keys', { name: 'Import', expiresInDays: 3 });
    expect(key.status).toBe(201);
    await insertRow(app, 'webhooks', {
      workspace_id: workspaceId,
      id: lineId,
      name: 'CRM',
      url: 'https://crm.example.com/hook',
      events: ['message.sent'],
      secret_sealed: 'x',
      last_success_at: new Date(at.getTime() - 7_200_000),
      last_failure_at: new Date(at.getTime() - 3_600_000),
    });
    const anyTime = expect.stringMatching(/^\d{4}-/);
    const of = (kind: string, href: string, more = {}) => ({
      kind,
      reason: null,
      count: 1,
      since: anyTime,
      href: `/console/${href}`,
      ...more,
    });
    expect(await itemsOf()).toEqual([
      of('lines', 'lines', { reason: 'line_paused' }),
      of('unanswered', 'inbox?filter=unanswered', { since: at.toISOString() }),
      of('failing_webhooks', 'webhooks', { since: new Date(at.getTime() - 3_600_000).toISOString() }),
      of('expiring_keys', 'settings?tab=keys'),
    ]);
  });

  it('names lines that are slowed down, until somebody overrides that, and messages that failed lately', async () => {
    const { api, lineId, id } = await createWorkspaceWithLine(app);
    const kinds = async () =>
      (await api('GET', '/api/attention')).body.items.map(({ kind }: { kind: string }) => kind);
    const failed = await api('POST', '/api/messages', { recipientPhone: phone('0002'), message: 'Hello' });
    await eventually(
      async () => (await api('GET', `/api/messages/${failed.body._id}`)).body.status === 'failed',
    );
    expect(await kinds()).toEqual(['failed_messages']);
    const change = (assignment: ReturnType<typeof sql.fragment>) =>
      withTenant(app.pools, id, (db) =>
        db.query(sql.type(z.unknown())`update lines set ${assignment} where id = ${lineId}`),
      );
    await change(sql.fragment`reputation_state = 'watch', reputation_since = now()`);
    expect(await kinds()).toEqual(['throttled_lines', 'failed_messages']);
    await change(sql.fragment`reputation_override_until = now() + interval '1 hour'`);
    await change(sql.fragment`reputation_override_reason = 'a test'`);
    expect(await kinds()).toEqual(['failed_messages']);
    const yesterday = sql.fragment`updated_at = now() - interval '25 hours'`;
    await withTenant(app.pools, id, (db) =>
      db.query(sql.type(z.unknown())`update messages set ${yesterday} where id = ${failed.body._id}`),
    );
    expect(await kinds()).toEqual([]);
  });

  it('counts no draft that is not offered, because its contact may want to be left alone', async () => {
    const { api, lineId } = await createWorkspaceWithLine(app);
    const [asked, left] = [phone(), phone()];
    await callBack(app, lineId, replyEvent(asked, 'How much is it?', { at: new Date() }));
    await callBack(app, lineId, replyEvent(left, 'Please take me off your list', { at: new Date() }));
    for (const to of [asked, left]) {
      const written = await api('POST', '/api/knowledge-base/drafts', { phone: to, message: 'We call you.' });
      expect(written.status).toBe(201);
    }
    expect(await countsOf(api)).toMatchObject({ drafts: 1, suspected: 1, open: 2 });
    const items = (await api('GET', '/api/attention')).body.items;
    expect(items).toContainEqual(expect.objectContaining({ kind: 'drafts', count: 1 }));
    const addressesOf = async (query: string) =>
      (await api('GET', `/api/conversations?${query}`)).body.conversations.map(
        ({ address }: { address: string }) => address,
      );
    expect(await addressesOf('drafted=true')).toEqual([asked]);
    expect(await addressesOf('drafted=false')).toEqual([left]);
    const draftsTo = async (address: string) =>
      (
        await api(
          'GET',
          `/api/knowledge-base/auto-replies?status=drafted&address=${encodeURIComponent(address)}`,
        )
      ).body.autoReplies.length;
    expect([await draftsTo(asked), await draftsTo(left)]).toEqual([1, 0]);
    const suspectedOf = async (address: string) =>
      (await api('GET', `/api/opt-outs/suspected?address=${encodeURIComponent(address)}`)).body.suspicions
        .length;
    expect([await suspectedOf(asked), await suspectedOf(left)]).toEqual([0, 1]);
  });

  it('marks a conversation as unread again', async () => {
    const { lineId, id: organizationId, ownerId } = await createWorkspaceWithLine(app);
    const owner = await sessionClient(app, { userId: ownerId, organizationId, role: 'org:admin' });
    const from = phone();
    await callBack(app, lineId, replyEvent(from, 'Hello', { at: new Date() }));
    const unread = async () => (await countsOf(owner))['unread'];
    expect(await unread()).toBe(1);
    await owner('POST', `/api/conversations/${from}/read`);
    expect(await unread()).toBe(0);
    const { status, body } = await owner('DELETE', `/api/conversations/${from}/read`);
    expect({ status, conversation: body.conversation }).toMatchObject({
      status: 200,
      conversation: { unread: true, unreadCount: 1 },
    });
    expect(await unread()).toBe(1);
  });
});
