import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { NoRows } from '#db/rows.ts';
import { systemDb, type SystemTransaction, withSystem } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { transferLine } from '#test/support/agency-lines.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLead,
  createLine,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { PNG, uploaded, wav } from '#test/support/files.ts';
import { callBack, replyEvent, writeIn } from '#test/support/inbound.ts';
import { race, stayOpen } from '#test/support/locks.ts';
import { firstMailTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';

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
    // Of another list: the pages must not just end.
    const foreign = await api('GET', `/api/replies?cursor=${newId()}`);
    expect([foreign.status, foreign.body.issues?.[0]?.path]).toEqual([400, 'cursor']);
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
    const link = await fetch(app.url + body.conversations[0].inboxHref, { redirect: 'manual' });
    expect([link.status, link.headers.get('location')]).toEqual([
      302,
      `/console/inbox/${encodeURIComponent(ada)}`,
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

  it('replies through another line of the workspace if the one that was written to has left', async () => {
    const { agency, first, second } = await createAgencyWithTwoWorkspaces(app);
    const [wroteTo, other] = [await createLine(app, first.id, 'sms'), await createLine(app, first.id, 'sms')];
    const contact = phone();
    await callBack(app, wroteTo, replyEvent(contact, 'Hello?'));
    await eventually(async () => (await first.api('GET', '/api/replies')).body.replies.length === 1);
    expect((await transferLine(agency.api, wroteTo, second)).status).toBe(200);
    const reply = { phone: contact, message: 'Hi' };
    expect(await first.api('POST', '/api/inbox/send-reply', reply)).toMatchObject({
      status: 201,
      body: { messageType: 'sms', fromLineId: other },
    });
    const { draft } = (await first.api('POST', '/api/knowledge-base/drafts', reply)).body;
    const approval = { replyId: draft.replyId, action: 'approve' };
    expect((await first.api('POST', '/api/knowledge-base/auto-replies', approval)).status).toBe(200);
    await eventually(async () => (await sentTo(app, contact)).length === 2);
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
    const messageId = await sent(api, { recipientPhone: to });
    await callBack(app, lineId, replyEvent(to, 'STOP'));
    expect(await api('POST', '/api/fallback-sms', { messageId })).toMatchObject({
      status: 201,
      body: { status: 'failed', errorMessage: 'recipient_opted_out' },
    });
    expect(await sentTo(app, to)).toHaveLength(1);
  });
});

describe("a team's inbox", () => {
  const hour = 3_600_000;
  const inAnHour = (): string => new Date(Date.now() + hour).toISOString();

  interface Team extends WorkspaceWithLine {
    /** The owner's session, and that of a colleague. */
    owner: ApiClient;
    colleague: ApiClient;
    colleagueId: string;
  }

  async function createTeam(): Promise<Team> {
    const workspace = await createWorkspaceWithLine(app);
    const { id: organizationId, ownerId } = workspace;
    const colleagueId = `user_${organizationId}`;
    await insertRow(app, 'users', {
      id: colleagueId,
      email: `${colleagueId}@example.test`,
      name: 'Mia Okafor',
    });
    await insertRow(app, 'workspace_members', {
      workspace_id: organizationId,
      user_id: colleagueId,
      role: 'org:member',
    });
    return {
      ...workspace,
      colleagueId,
      owner: await sessionClient(app, { userId: ownerId, organizationId, role: 'org:admin' }),
      colleague: await sessionClient(app, { userId: colleagueId, organizationId, role: 'org:member' }),
    };
  }

  async function writtenBy({ lineId }: Team, text = 'Hello', from = phone()): Promise<string> {
    await callBack(app, lineId, replyEvent(from, text, { at: new Date() }));
    return from;
  }

  const of = async (api: ApiClient, address: string) => (await api('GET', thread(address))).body.conversation;
  const listed = async (api: ApiClient, query: string): Promise<string[]> => {
    const { status, body } = await api('GET', `/api/conversations?${query}`);
    expect(status, query).toBe(200);
    return body.conversations.map(({ address }: { address: string }) => address);
  };

  it('closes, snoozes and assigns conversations, with an event for each change, and opens them when the contact writes', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    const endpoint = await startTestEndpoint();
    const events = ['conversation.assigned', 'conversation.status_changed'];
    expect((await team.api('POST', '/api/webhooks', { url: endpoint.url, events })).status).toBe(201);
    expect(await of(team.owner, address)).toMatchObject({
      status: 'open',
      snoozedUntil: null,
      assigneeId: null,
    });
    const closed = await team.owner('PATCH', thread(address), {
      status: 'closed',
      assigneeId: team.colleagueId,
    });
    expect(closed).toMatchObject({
      status: 200,
      body: { conversation: { address, status: 'closed', assigneeId: team.colleagueId } },
    });
    // Nothing changes, so nothing is told.
    await team.owner('PATCH', thread(address), { status: 'closed', assigneeId: team.colleagueId });
    await eventually(async () => endpoint.received.length === 2);
    const by = { type: 'user', id: team.ownerId };
    expect(endpoint.received.map(({ json }) => json)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: events[1], address, from: 'open', to: 'closed', by }),
        expect.objectContaining({ event: events[0], address, from: null, to: team.colleagueId, by }),
      ]),
    );
    await writtenBy(team, 'One more thing', address);
    expect(await of(team.owner, address)).toMatchObject({ status: 'open', assigneeId: team.colleagueId });
    const reopened = await eventually(async () => endpoint.received[2]);
    expect(reopened.json).toMatchObject({ from: 'closed', to: 'open', by: { type: 'system', id: null } });

    const snoozedUntil = inAnHour();
    await team.api('PATCH', thread(address), { status: 'snoozed', snoozedUntil });
    expect(await of(team.owner, address)).toMatchObject({ status: 'snoozed', snoozedUntil });
    await writtenBy(team, 'Hello?', address);
    expect(await of(team.owner, address)).toMatchObject({ status: 'open', snoozedUntil: null });

    const { entries } = (await team.owner('GET', '/api/audit-log?action=conversation.updated')).body;
    expect(entries.map(({ changes }: { changes: object }) => changes)).toEqual([
      { status: 'snoozed', snoozedUntil },
      { status: 'closed', assigneeId: team.colleagueId },
      { status: 'closed', assigneeId: team.colleagueId },
    ]);
    expect(JSON.stringify(entries)).not.toContain(address);

    expect((await team.owner('DELETE', `/api/team/${team.colleagueId}`)).status).toBe(200);
    expect((await of(team.owner, address)).assigneeId).toBeNull();
    await eventually(async () =>
      endpoint.received.some(
        ({ json }) => json.event === events[0] && json.to === null && json.from === team.colleagueId,
      ),
    );
  });

  it('takes back what a response contains: a time that is null', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    await team.api('PATCH', thread(address), { status: 'snoozed', snoozedUntil: inAnHour() });
    const open = { status: 'open', snoozedUntil: null };
    expect((await team.api('PATCH', thread(address), open)).status).toBe(200);
    expect(await of(team.owner, address)).toMatchObject(open);
  });

  it('says which field of a change is wrong', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    const wrong = async (body: object) => {
      const answer = await team.owner('PATCH', thread(address), body);
      expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION_ERROR']);
      return answer.body.issues[0].path;
    };
    expect(await wrong({ status: 'snoozed' })).toBe('snoozedUntil');
    expect(await wrong({ status: 'closed', snoozedUntil: inAnHour() })).toBe('snoozedUntil');
    expect(await wrong({ status: 'snoozed', snoozedUntil: '2026-01-01T00:00:00Z' })).toBe('snoozedUntil');
    expect(await wrong({ assigneeId: 'user_of_nobody' })).toBe('assigneeId');
    expect(await wrong({ status: 'done' })).toBe('status');
    expect((await team.owner('PATCH', thread(phone()), { status: 'closed' })).status).toBe(404);
    expect(await of(team.owner, address)).toMatchObject({ status: 'open', assigneeId: null });
  });

  it('ends a snooze at its time, by the clock of test mode', async () => {
    const { api } = await openTestMode(app, await createWorkspaceWithLine(app));
    const { line } = (await api('POST', '/api/test/lines', { channelType: 'imessage' })).body;
    const from = phone();
    expect((await api('POST', '/api/test/inbound', { from, lineId: line._id, text: 'Hi' })).status).toBe(200);
    await api('PATCH', thread(from), { status: 'snoozed', snoozedUntil: inAnHour() });
    expect([await listed(api, 'status=open'), await listed(api, 'status=snoozed')]).toEqual([[], [from]]);
    await advanceClock(api, 2 * 3600);
    expect([await listed(api, 'status=open'), await listed(api, 'status=snoozed')]).toEqual([[from], []]);
    expect(await of(api, from)).toMatchObject({ status: 'open', snoozedUntil: null });
    const past = await api('PATCH', thread(from), { status: 'snoozed', snoozedUntil: inAnHour() });
    expect([past.status, past.body.issues?.[0].path]).toEqual([400, 'snoozedUntil']);
  });

  it('filters the list by any combination, in pages', async () => {
    const team = await createTeam();
    const otherLine = await createLine(app, team.id);
    const addresses: string[] = [];
    for (const text of ['The flat', 'The dog', 'The keys', 'The deposit'])
      addresses.push(await writtenBy(team, text));
    const [flat = '', dog = '', keys = '', deposit = ''] = addresses;
    const elsewhere = await writtenBy({ ...team, lineId: otherLine }, 'Another line');
    await createLead(app, team.id, { first_name: 'Ada', last_name: 'Lovelace', phones: [dog] });
    await team.owner('PATCH', thread(flat), { status: 'closed' });
    await team.owner('PATCH', thread(dog), { assigneeId: team.ownerId });
    await team.owner('PATCH', thread(keys), {
      status: 'snoozed',
      snoozedUntil: inAnHour(),
      assigneeId: team.colleagueId,
    });
    await team.owner('POST', `${thread(deposit)}/tags`, { tags: ['VIP'] });
    await team.owner('POST', `${thread(deposit)}/notes`, { text: 'Prefers the ground floor' });
    expect(await listed(team.owner, '')).toEqual([elsewhere, deposit, keys, dog, flat]);
    expect(await listed(team.owner, 'status=open')).toEqual([elsewhere, deposit, dog]);
    expect(await listed(team.owner, 'status=closed')).toEqual([flat]);
    expect(await listed(team.owner, 'status=snoozed')).toEqual([keys]);
    expect(await listed(team.owner, 'assignee=me')).toEqual([dog]);
    expect(await listed(team.colleague, 'assignee=me')).toEqual([keys]);
    expect(await listed(team.api, `assignee=${team.ownerId}`)).toEqual([dog]);
    expect(await listed(team.owner, 'assignee=none&status=open')).toEqual([elsewhere, deposit]);
    expect(await listed(team.owner, 'tag=vip')).toEqual([deposit]);
    expect(await listed(team.owner, `line=${otherLine}`)).toEqual([elsewhere]);
    expect(await listed(team.owner, 'q=lovelace')).toEqual([dog]);
    expect(await listed(team.owner, 'q=THE%20KEYS')).toEqual([keys]);
    expect(await listed(team.owner, 'q=ground%20floor')).toEqual([deposit]);
    expect(await listed(team.owner, `q=${encodeURIComponent(flat.slice(1))}`)).toEqual([flat]);
    expect(await listed(team.owner, 'q=100%25')).toEqual([]);
    expect(await listed(team.owner, 'q=the&status=open&assignee=me')).toEqual([dog]);
    expect(await team.api('GET', '/api/conversations?assignee=me')).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'assignee' }] },
    });
    const first = (await team.owner('GET', '/api/conversations?status=open&limit=2')).body;
    const second = await listed(team.owner, `status=open&limit=2&cursor=${first.nextCursor}`);
    expect(second).toEqual([dog]);
  });

  it('counts unread messages for each user, and for a key those that nobody answered', async () => {
    const team = await createTeam();
    const address = await writtenBy(team, 'First');
    await writtenBy(team, 'Second', address);
    const unreadOf = async (api: ApiClient) => {
      const { unread, unreadCount } = await of(api, address);
      const { unreadConversations } = (await api('GET', '/api/conversations')).body;
      return [unread, unreadCount, unreadConversations];
    };
    for (const api of [team.owner, team.colleague, team.api])
      expect(await unreadOf(api)).toEqual([true, 2, 1]);
    expect(await team.owner('POST', `${thread(address)}/read`)).toMatchObject({
      status: 200,
      body: { conversation: { unread: false, unreadCount: 0 } },
    });
    expect(await unreadOf(team.owner)).toEqual([false, 0, 0]);
    for (const api of [team.colleague, team.api]) expect(await unreadOf(api)).toEqual([true, 2, 1]);
    expect([await listed(team.owner, 'unread=true'), await listed(team.owner, 'unread=false')]).toEqual([
      [],
      [address],
    ]);
    expect(await listed(team.colleague, 'unread=true')).toEqual([address]);
    expect((await team.api('POST', `${thread(address)}/read`)).status).toBe(403);
    await writtenBy(team, 'Third', address);
    expect(await unreadOf(team.owner)).toEqual([true, 1, 1]);
    await team.api('POST', '/api/inbox/send-reply', { phone: address, message: 'Answered' });
    await eventually(async () => !(await of(team.api, address)).unread);

    // Of what was there before, nothing is unread for somebody who joins.
    const userId = `user_new_${team.id}`;
    await insertRow(app, 'users', { id: userId, email: `${userId}@example.test` });
    await insertRow(app, 'workspace_members', { workspace_id: team.id, user_id: userId, role: 'org:member' });
    const joined = await sessionClient(app, { userId, organizationId: team.id, role: 'org:member' });
    expect(await unreadOf(joined)).toEqual([false, 0, 0]);
  });

  it('has notes, which are not sent and alert those whom they mention', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    const before = (await team.owner('GET', thread(address))).body.messages;
    const text = `Ask @[${team.colleagueId}] about the deposit`;
    const { status, body } = await team.owner('POST', `${thread(address)}/notes`, { text });
    expect(status).toBe(201);
    expect(body.note).toMatchObject({
      address,
      text,
      author: { type: 'user', id: team.ownerId },
      mentions: [{ userId: team.colleagueId, name: 'Mia Okafor' }],
    });
    const mail = await firstMailTo(app, `${team.colleagueId}@example.test`);
    expect(mail.subject).toContain('mentioned you in a note');
    expect(mail.text).toContain('Ask @Mia Okafor about the deposit');
    await team.api('POST', `${thread(address)}/notes`, { text: 'From a program' });
    const notes = await team.colleague('GET', `${thread(address)}/notes?limit=1`);
    expect(notes.body.notes).toMatchObject([{ text: 'From a program', author: { type: 'key' } }]);
    const older = await team.colleague('GET', `${thread(address)}/notes?cursor=${notes.body.nextCursor}`);
    expect(older.body).toMatchObject({ notes: [{ text }], nextCursor: null });
    expect((await team.owner('GET', thread(address))).body.messages).toEqual(before);
    expect(
      await team.owner('POST', `${thread(address)}/notes`, { text: 'Hi @[user_of_nobody]' }),
    ).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'text' }] },
    });
  });

  it('tells of a snooze that has ended before anything else changes', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    const endpoint = await startTestEndpoint();
    const events = ['conversation.status_changed'];
    await team.api('POST', '/api/webhooks', { url: endpoint.url, events });
    await team.owner('PATCH', thread(address), { status: 'snoozed', snoozedUntil: inAnHour() });
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update conversations set snoozed_until = now() - interval '1 minute'
      where workspace_id = ${team.id} and address = ${address}`);
    await team.owner('PATCH', thread(address), { status: 'closed' });
    await eventually(async () => endpoint.received.length === 3);
    const told = endpoint.received.map(({ json: { from, to, by } }) => [from, to, by.type].join(' '));
    expect(told.toSorted()).toEqual(['open closed user', 'open snoozed user', 'snoozed open system']);
  });

  it('keeps filters by their names, shared or of one user', async () => {
    const team = await createTeam();
    const save = async (api: ApiClient, body: object) => api('POST', '/api/saved-filters', body);
    const own = await save(team.owner, { name: ' VIPs ', view: 'open', search: 'tag:vip' });
    expect(own).toMatchObject({
      status: 201,
      body: { savedFilter: { name: 'VIPs', view: 'open', search: 'tag:vip', shared: false } },
    });
    const shared = await save(team.colleague, { name: 'Left over', view: 'unanswered', shared: true });
    expect(await save(team.api, { name: 'Of a key', view: 'all' })).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'shared' }] },
    });
    expect((await save(team.owner, { name: 'No such view', view: 'inbox' })).body.issues[0].path).toBe(
      'view',
    );
    const names = async (api: ApiClient): Promise<string[]> =>
      (await api('GET', '/api/saved-filters')).body.savedFilters.map(({ name }: { name: string }) => name);
    expect(await names(team.owner)).toEqual(['Left over', 'VIPs']);
    for (const api of [team.colleague, team.api]) expect(await names(api)).toEqual(['Left over']);

    const { _id } = own.body.savedFilter;
    const path = `/api/saved-filters/${_id}`;
    for (const [method, body] of [['PATCH', { name: 'Mine' }], ['DELETE']] as const)
      expect((await team.colleague(method, path, body)).status).toBe(404);
    expect(
      (await team.owner('PATCH', path, { name: 'All VIPs', shared: true })).body.savedFilter,
    ).toMatchObject({
      _id,
      name: 'All VIPs',
      search: 'tag:vip',
      shared: true,
    });
    // Whoever keeps a shared one to themselves takes it from the others.
    expect((await team.colleague('PATCH', path, { shared: false })).status).toBe(200);
    expect(await names(team.owner)).toEqual(['Left over']);
    expect(await names(team.colleague)).toEqual(['Left over', 'All VIPs']);
    expect((await team.owner('DELETE', `/api/saved-filters/${shared.body.savedFilter._id}`)).status).toBe(
      200,
    );
    expect(await names(team.owner)).toEqual([]);
    expect((await team.owner('DELETE', `/api/team/${team.colleagueId}`)).status).toBe(200);
    expect(
      await systemDb(app.pools).any(sql.type(z.unknown())`
        select id from saved_filters where workspace_id = ${team.id}`),
    ).toEqual([]);
  });
});

describe('what the inbox shows of a message and of a contact', () => {
  it('tells when a message was read, who reacted, and the types and sizes of files', async () => {
    const workspace = await createWorkspaceWithLine(app);
    const { api, lineId, key } = workspace;
    const to = phone();
    const audio = wav(2);
    const url = await uploaded(app, key, { name: 'hello.wav', content: audio, type: 'audio/wav' });
    const messageId = await sent(api, {
      recipientPhone: to,
      message: undefined,
      attachmentUrls: [url],
      voiceNote: true,
    });
    const carrierMessageId = (await sentTo(app, to)).at(0)?.id ?? '';
    const readAt = new Date().toISOString();
    const about = { carrierMessageId, at: new Date(readAt) };
    await callBack(
      app,
      lineId,
      { kind: 'read', eventId: newId(), ...about },
      { kind: 'reaction', eventId: newId(), ...about, reaction: 'love', removed: false, from: to },
    );
    await writeIn(app, {
      lineId,
      from: to,
      text: 'Like this?',
      attachments: [{ name: 'photo.png', contentType: 'image/png', base64: PNG.toString('base64') }],
    });
    const messages = await eventually(async () => {
      const found = (await api('GET', thread(to))).body.messages;
      return found[0].direction === 'in' && found[0].attachments.length > 0 && found;
    });
    expect(messages).toMatchObject([
      {
        direction: 'in',
        readAt: null,
        attachments: [{ name: 'photo.png', contentType: 'image/png', size: PNG.length }],
      },
      {
        messageId,
        status: 'delivered',
        voiceNote: true,
        readAt,
        deliveredAt: expect.any(String),
        errorMessage: null,
        attachments: [{ url, name: 'hello.wav', contentType: 'audio/wav', size: audio.length }],
        reactions: [{ reaction: 'love', from: to }],
      },
    ]);
  });

  it('has everything about a contact in one timeline, in pages', async () => {
    const workspace = await createWorkspaceWithLine(app);
    const { api, lineId } = workspace;
    const own = phone();
    const email = `${newId()}@example.test`;
    const lead = { firstName: 'Ada', phone: own, email };
    const created = (await api('POST', '/api/leads', { leads: [lead] })).body;
    const [leadId] = created.leadIds;
    const stranger = phone();
    await callBack(app, lineId, replyEvent(stranger, 'Somebody else', { at: new Date() }));
    const { campaign } = (
      await api('POST', '/api/campaigns', {
        name: 'Spring',
        listId: created.listId,
        start: true,
        steps: [{ message: 'Hello', delay: {} }],
      })
    ).body;
    await eventually(async () => (await sentTo(app, own)).length === 1);
    await callBack(app, lineId, replyEvent(own, 'Hi there', { at: new Date() }));
    await api('POST', '/api/consents', { address: email, status: 'granted', source: 'form' });
    await api('POST', `${thread(own)}/notes`, { text: 'Called on Monday' });
    await api('POST', '/api/opt-outs', { address: email });
    await callBack(app, lineId, {
      kind: 'call',
      eventId: newId(),
      at: new Date(),
      callId: newId(),
      from: own,
      to: '+14155550100',
      status: 'requested',
    });
    const path = `/api/leads/${leadId}/timeline`;
    type Entry = { type: string; at: string } & Record<string, unknown>;
    const entries: Entry[] = await eventually(async () => {
      const found: Entry[] = (await api('GET', path)).body.entries;
      const isDelivered = JSON.stringify(found).includes('"delivered"');
      return found.length >= 8 && isDelivered && found;
    });
    expect(entries.map(({ type }) => type).toSorted()).toEqual([
      'call',
      'campaign_joined',
      'campaign_left',
      'consent',
      'message',
      'message',
      'note',
      'opt_out',
    ]);
    expect(entries.map(({ at }) => at)).toEqual(
      entries
        .map(({ at }) => at)
        .toSorted()
        .toReversed(),
    );
    const of = (type: string) => entries.filter((entry) => entry.type === type);
    expect(of('campaign_joined')).toMatchObject([{ campaign: { _id: campaign._id, name: 'Spring' } }]);
    expect(of('message')).toMatchObject([
      { address: own, message: { direction: 'in', message: 'Hi there' } },
      { address: own, message: { direction: 'out', message: 'Hello', campaignId: campaign._id } },
    ]);
    expect(of('consent')).toMatchObject([{ consent: { address: email, source: 'form' } }]);
    expect(of('opt_out')).toMatchObject([{ optOut: { address: email, change: 'opted_out', source: 'api' } }]);
    expect(of('note')).toMatchObject([{ note: { text: 'Called on Monday' } }]);
    expect(of('call')).toMatchObject([{ call: { from: own } }]);
    const paged: Entry[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await api('GET', `${path}?limit=3${cursor && `&cursor=${cursor}`}`);
      paged.push(...body.entries);
      cursor = body.nextCursor;
    }
    expect(paged).toEqual(entries);
  });
});
