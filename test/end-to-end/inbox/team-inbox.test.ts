import { sql } from 'slonik';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  createLead,
  createLine,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { startTestEndpoint } from '#test/support/endpoint.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { firstMailTo, mailsTo } from '#test/support/mails.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';
import { notifierId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const thread = (address: string, query = ''): string =>
  `/api/conversations/${encodeURIComponent(address)}${query}`;

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

  it('assigns conversations by turn to members who are not away and have the fewest open ones', async () => {
    const team = await createTeam();
    const { owner, colleague, colleagueId, ownerId } = team;
    const turn = (address: string) => owner('PATCH', thread(address), { assign: 'round_robin' });
    const assignees: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const { status, body } = await turn(await writtenBy(team));
      expect(status).toBe(200);
      assignees.push(body.conversation.assigneeId);
    }
    const [first, second] = [ownerId, colleagueId].toSorted();
    expect(assignees).toEqual([first, second, first]);
    const both = { assign: 'round_robin', assigneeId: ownerId };
    expect((await owner('PATCH', thread(await writtenBy(team)), both)).status).toBe(400);

    const away = (api: ApiClient, userId: string, body: object) =>
      api('PUT', `/api/team/${userId}/away`, body);
    expect((await away(colleague, ownerId, { away: true })).body.code).toBe('ADMIN_REQUIRED');
    const told = await away(colleague, colleagueId, { away: true, until: inAnHour() });
    expect(told.body.member).toMatchObject({
      userId: colleagueId,
      away: true,
      awayUntil: expect.any(String),
    });
    const addresses = [await writtenBy(team), await writtenBy(team)];
    const bulk = await owner('POST', '/api/conversations/bulk', {
      addresses,
      change: { assign: 'round_robin' },
    });
    expect(bulk.status).toBe(200);
    for (const address of addresses) expect(await of(owner, address)).toMatchObject({ assigneeId: ownerId });

    await away(owner, ownerId, { away: true });
    const nobody = await turn(await writtenBy(team));
    expect([nobody.status, nobody.body.code]).toEqual([409, 'INVALID_STATE']);
    await away(owner, colleagueId, { away: false });
    const back = (await turn(await writtenBy(team))).body.conversation;
    expect(back.assigneeId).toBe(colleagueId);
    const { members } = (await owner('GET', '/api/team')).body;
    expect(
      members.map(({ userId, away: isAway }: { userId: string; away: boolean }) => [userId, isAway]),
    ).toEqual(
      expect.arrayContaining([
        [ownerId, true],
        [colleagueId, false],
      ]),
    );
  });

  it('says when somebody is there', async () => {
    const { owner, colleague } = await createTeam();
    expect((await owner('GET', '/api/workspace/opening-hours')).body).toMatchObject({
      openingHours: { hours: [], closedOn: [] },
      timezone: 'UTC',
      isOpen: true,
    });
    const hours = [{ days: [1], start: '09:00', end: '17:00' }];
    expect((await colleague('PUT', '/api/workspace/opening-hours', { hours })).body.code).toBe(
      'ADMIN_REQUIRED',
    );
    const closedOn = [-1, 0, 1].map((days) =>
      new Date(Date.now() + days * 24 * hour).toISOString().slice(0, 10),
    );
    expect((await owner('PUT', '/api/workspace/opening-hours', { closedOn })).body.isOpen).toBe(false);
    await owner('PUT', '/api/workspace/opening-hours', { hours });
    expect((await colleague('GET', '/api/workspace/opening-hours')).body.openingHours).toEqual({
      hours,
      closedOn: [],
    });
  });

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

  it('finds contacts without a lead by their name, and texts that went out as an SMS', async () => {
    const { api } = await createTeam();
    const provider = { provider: 'simulated', fromNumber: '+14155550199', enabled: true };
    await api('PATCH', '/api/workspace/fallback-config', provider);
    const [email, to] = [`${newId()}@example.com`, phone()];
    const grace = { recipientEmail: email, recipientName: 'Grace Hopper', message: 'Good morning' };
    const instead = { recipientPhone: to, message: 'By the harbour', forceFallback: true };
    for (const message of [grace, instead])
      expect((await api('POST', '/api/messages', message)).status).toBe(201);
    await eventually(async () => (await listed(api, '')).length === 2);
    expect((await of(api, email)).name).toBe('Grace Hopper');
    expect((await of(api, to)).lastMessage).toBe('By the harbour');
    expect(await listed(api, 'q=hopper')).toEqual([email]);
    expect(await listed(api, 'q=harbour')).toEqual([to]);
    expect(await listed(api, 'q=grace%20h%25')).toEqual([]);
  });

  it('searches names, texts and notes without regard to case and accents', async () => {
    const team = await createTeam();
    const keys = await writtenBy(team, 'Where are the keys?');
    const cafe = await writtenBy(team, 'Smørrebrød im Café „Große Straße“, naı\u0308ve%');
    for (const q of ['cafe', 'CAFÉ', 'cafe\u0301', 'smorrebrod', 'grosse STRASSE', 'naïve%'])
      expect(await listed(team.owner, `q=${encodeURIComponent(q)}`), q).toEqual([cafe]);
    await team.owner('POST', `${thread(keys)}/notes`, { text: 'Trägt Müll weg' });
    expect(await listed(team.owner, 'q=mull')).toEqual([keys]);
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

  it('tells of many mentions within minutes in one email', async () => {
    const team = await createTeam();
    const address = await writtenBy(team);
    const mention = (text: string) =>
      team.owner('POST', `${thread(address)}/notes`, { text: `${text} @[${team.colleagueId}]` });
    await mention('First');
    const email = `${team.colleagueId}@example.test`;
    await firstMailTo(app, email);
    for (const text of ['Second', 'Third', 'Fourth']) expect((await mention(text)).status).toBe(201);
    const due = await systemDb(app.pools).anyFirst(sql.type(z.object({ seconds: z.number() }))`
      select extract(epoch from due_at - now())::float8 seconds from notifications
      where workspace_id = ${team.id} and subject like 'note:%'`);
    expect(due).toHaveLength(3);
    for (const seconds of due) {
      expect(seconds).toBeGreaterThan(200);
      expect(seconds).toBeLessThanOrEqual(300);
    }
    await systemDb(app.pools).query(sql.type(z.unknown())`
      update notifications set due_at = now() where workspace_id = ${team.id}`);
    await app.temporal.workflow.getHandle(notifierId(team.id)).signal('notificationsDue');
    const [, mail] = await eventually(async () => {
      const mails = await mailsTo(app, email);
      return mails.length === 2 && mails;
    });
    expect(mail?.subject).toContain('3 notes mention you');
    for (const text of ['Second', 'Third', 'Fourth']) expect(mail?.text).toContain(`${text} @Mia Okafor`);
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
