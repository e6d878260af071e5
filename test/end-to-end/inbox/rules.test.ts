import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { runRule } from '#db/commands/inbox/rules.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { currentTime } from '#domain/base/clock.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  createLead,
  createLine,
  createWorkspaceWithLine,
  insertRow,
  type WorkspaceWithLine,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { firstMailTo } from '#test/support/mails.ts';
import { refuseUpdates } from '#test/support/refused-updates.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';
import { ruleRunnerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
let api: ApiClient;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => {
  workspace = await createWorkspaceWithLine(app);
  ({ api } = workspace);
});

const thread = (address: string): string => `/api/conversations/${encodeURIComponent(address)}`;
const CLOSED = { hours: [{ days: [0], start: '00:00', end: '00:01' }], closedOn: [] };
const HELLO = { text: 'We have your message' };

async function createRule(on: string, ...actions: object[]): Promise<string> {
  return createRuleWith({ on, do: actions });
}
async function createRuleWith(fields: object): Promise<string> {
  const { status, body } = await api('POST', '/api/rules', { name: 'Greeting', ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.rule._id;
}
/** The message is stored when this returns. */
async function write(from: string, text = 'Hello', fields: Parameters<typeof replyEvent>[2] = {}) {
  expect(await callBack(app, workspace.lineId, replyEvent(from, text, fields))).toBe(200);
}
const texts = async (contact: string): Promise<string[]> =>
  (await sentTo(app, contact)).map(({ text }) => text);
const leadOf = async (contact: string) =>
  (await api('GET', `/api/leads?search=${encodeURIComponent(contact)}`)).body.leads[0];
/** What rules did about a contact, newest first. */
async function deeds(contact: string) {
  const lead = await leadOf(contact);
  if (!lead) return [];
  const { body } = await api('GET', `/api/leads/${lead._id}/timeline`);
  return body.entries.filter(({ type }: { type: string }) => type === 'rule');
}
const conversation = async (contact: string) => (await api('GET', thread(contact))).body.conversation;
const waiting = (workspaceId: string) =>
  systemDb(app.pools).anyFirst(sql.type(z.object({ id: z.string() }))`
    select id from rule_runs where workspace_id = ${workspaceId} and due_at is not null order by id`);
/** Until rules have looked at everything that has happened. */
const settled = () => eventually(async () => (await waiting(workspace.id)).length === 0);

describe('a rule', () => {
  it('answers a contact, and does with them what it says', async () => {
    const listId = (await api('POST', '/api/lists', { name: 'Wrote' })).body.list._id;
    const ruleId = await createRule('reply', {
      addTags: ['wrote'],
      setFields: { 'customFields.via': 'text' },
      moveToListId: listId,
      assign: 'round_robin',
      reply: { text: 'Thanks {{ firstName }}, we answer soon' },
      snooze: { hours: 2 },
    });
    const contact = phone();
    const leadId = await createLead(app, workspace.id, { phones: [contact], first_name: 'Ada' });
    await write(contact);
    await eventually(async () => (await texts(contact)).length === 1);
    expect(await texts(contact)).toEqual(['Thanks Ada, we answer soon']);
    const { lead } = (await api('GET', `/api/leads/${leadId}`)).body;
    expect(lead).toMatchObject({ tags: ['wrote'], customFields: { via: 'text' } });
    expect((await api('GET', `/api/leads?listId=${listId}`)).body.leads).toHaveLength(1);
    expect(await conversation(contact)).toMatchObject({ status: 'snoozed', assigneeId: workspace.ownerId });
    const [deed] = await deeds(contact);
    expect(deed).toMatchObject({
      rule: { _id: ruleId, name: 'Greeting' },
      on: 'reply',
      did: ['addTags', 'setFields', 'moveToListId', 'assign', 'reply', 'snooze'],
      withheld: null,
    });
    const message = (await api('GET', `/api/messages/${deed.messageId}`)).body;
    expect(message).toMatchObject({ source: 'rule', fromLineId: workspace.lineId });
    const { events } = (await api('GET', `/api/messages/${deed.messageId}/timeline`)).body;
    expect(events[0].text).toBe('Sent by the rule “Greeting”.');
  });

  it('that always fails about one contact holds up no other, and is counted as failing', async () => {
    await createRule('reply', { reply: HELLO });
    const [poison, contact] = [phone(), phone()];
    const heal = await refuseUpdates(app.ownerUrl, 'rule_runs', `new.address = '${poison}'`);
    await write(poison);
    await eventually(async () => (await waiting(workspace.id)).length === 1);
    await write(contact);
    await eventually(async () => (await texts(contact)).length === 1);
    const failing = systemDb(app.pools);
    await eventually(async () =>
      failing.exists(
        sql.type(NoRows)`select 1 from set_aside where workflow_id = ${ruleRunnerId(workspace.id)}`,
      ),
    );
    expect(await texts(poison)).toEqual([]);
    await heal();
    await eventually(async () => (await texts(poison)).length === 1);
  });

  it('answers nobody: the contact still waits for an answer', async () => {
    await createRule('reply', { reply: HELLO });
    const contact = phone();
    await write(contact);
    await eventually(async () => (await texts(contact)).length === 1);
    expect((await api('GET', '/api/conversations/counts')).body.counts).toMatchObject({
      open: 1,
      unanswered: 1,
    });
  });

  it('texts a contact once in 12 hours, and then again', async () => {
    const { api: test } = await openTestMode(app, workspace);
    const { line } = (await test('POST', '/api/test/lines', { channelType: 'imessage' })).body;
    expect(
      (await test('POST', '/api/rules', { name: 'Hi', on: 'reply', do: [{ reply: HELLO }] })).status,
    ).toBe(201);
    const from = phone();
    const says = async (text: string) =>
      expect((await test('POST', '/api/test/inbound', { from, lineId: line._id, text })).status).toBe(200);
    const sent = async () =>
      (await test('GET', '/api/messages')).body.messages.filter(
        ({ source }: { source: string }) => source === 'rule',
      ).length;
    await says('One');
    await eventually(async () => (await sent()) === 1);
    await says('Two');
    await advanceClock(test, 11 * 3600);
    await says('Three');
    await advanceClock(test, 60);
    expect(await sent()).toBe(1);
    await advanceClock(test, 3600);
    await says('Four');
    await eventually(async () => (await sent()) === 2);
  });

  it('texts no automatic reply, no opt-out, nobody who may have asked to be left alone, and no second time', async () => {
    await createRule('reply', { addTags: ['seen'], reply: HELLO });
    const [away, stopped, doubtful, suppressed, twice] = [phone(), phone(), phone(), phone(), phone()];
    await write(away, 'Auto-reply: I am driving', { autoReply: true });
    await write(stopped, 'STOP');
    await write(doubtful, 'please stop texting me');
    await api('POST', '/api/opt-outs', { address: suppressed });
    await write(suppressed);
    await write(twice, 'One');
    await write(twice, 'Two');
    await settled();
    await eventually(async () => (await texts(twice)).length === 1);
    for (const silent of [away, stopped, doubtful, suppressed]) expect(await texts(silent)).toEqual([]);
    const reasons = async (contact: string) =>
      (await deeds(contact)).map(({ withheld }: { withheld: string }) => withheld);
    expect(await reasons(doubtful)).toEqual(['opt_out_suspected']);
    expect(await reasons(suppressed)).toEqual(['opted_out']);
    expect(await reasons(twice)).toEqual(['texted_lately', null]);
    for (const contact of [away, stopped]) expect(await leadOf(contact)).toBeUndefined();
  });

  it('judges its conditions by the message that it is about, and tells whom it concerns', async () => {
    const when = [{ field: 'replied', op: 'contains', value: 'price' }];
    await createRuleWith({ when, do: [{ notify: true, close: true }], on: 'reply' });
    const contact = phone();
    const owner = `${workspace.ownerId}@example.test`;
    await createLead(app, workspace.id, { phones: [contact], contact_owner_email: owner });
    await write(contact, 'What is the price?');
    await settled();
    expect(await conversation(contact)).toMatchObject({ status: 'closed' });
    expect((await firstMailTo(app, owner)).subject).toContain('Greeting');
    await write(contact, 'Thank you');
    await settled();
    expect(await deeds(contact)).toMatchObject([
      { judged: [{ branch: null, condition: when[0], holds: true }] },
    ]);
    expect((await conversation(contact)).status).toBe('open');
  });

  it('answers outside of the opening hours only, with a snippet', async () => {
    const snippet = (await api('POST', '/api/snippets', { name: 'Closed', text: 'We are closed' })).body
      .snippet;
    await createRule('reply', { reply: { snippetId: snippet._id, outsideHoursOnly: true } });
    const [open, closed] = [phone(), phone()];
    await write(open);
    await settled();
    await api('PUT', '/api/workspace/opening-hours', CLOSED);
    await write(closed);
    await eventually(async () => (await texts(closed)).length === 1);
    expect(await texts(closed)).toEqual(['We are closed']);
    expect(await texts(open)).toEqual([]);
  });

  it('obeys a withdrawn consent', async () => {
    await createRule('reply', { reply: HELLO });
    const contact = phone();
    await api('POST', '/api/consents', {
      address: contact,
      channel: 'any',
      status: 'revoked',
      source: 'verbal',
    });
    await write(contact);
    await settled();
    expect(await texts(contact)).toEqual([]);
  });

  it('is done once, whatever is delivered again, at the same time, or after a crash', async () => {
    const contact = phone();
    await createRule('reply', { addTags: ['once'], reply: HELLO });
    const event = replyEvent(contact, 'Hello');
    for (let time = 0; time < 3; time += 1) expect(await callBack(app, workspace.lineId, event)).toBe(200);
    await eventually(async () => (await texts(contact)).length > 0);
    const count = () =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
        select count(*)::int count from rule_runs where workspace_id = ${workspace.id}`);
    expect(await count()).toBe(1);

    const other = phone();
    const runId = newId();
    await systemDb(app.pools).query(sql.type(z.unknown())`
      insert into rule_runs (workspace_id, id, rule_id, rule_name, trigger, address, line_id, happened_at, due_at)
      select workspace_id, ${runId}, rule_id, rule_name, trigger, ${other}, line_id, now(), now() + interval '1 hour'
      from rule_runs where workspace_id = ${workspace.id}`);
    const run = (fails = false) =>
      withTenant(app.pools, workspace.id, async (db) => {
        await runRule(db, runId, currentTime());
        if (fails) throw new Error('the process dies');
      });
    await expect(run(true)).rejects.toThrow('dies');
    expect(await leadOf(other)).toBeUndefined();
    await Promise.allSettled([run(), run(), run()]);
    await run();
    await eventually(async () => (await texts(other)).length > 0);
    expect(await texts(other)).toHaveLength(1);
    expect((await leadOf(other)).tags).toEqual(['once']);
  });

  it('leaves nothing behind of a contact who is erased', async () => {
    await createRule('reply', { addTags: ['seen'] });
    const contact = phone();
    await write(contact);
    await settled();
    const lead = await leadOf(contact);
    await api('DELETE', `/api/leads/${lead._id}?erase=true`);
    const left = () =>
      systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
        select count(*)::int count from rule_runs where workspace_id = ${workspace.id}`);
    await eventually(async () => (await left()) === 0);
  });
});

describe('a missed call', () => {
  const line = '+14155550177';
  const call = (from: string, status: 'ringing' | 'answered' | 'billed' | 'failed', callId: string) => ({
    kind: 'call' as const,
    eventId: newId(),
    at: new Date(),
    callId,
    from,
    to: line,
    status,
  });

  it('is answered by a text from the line that was called', async () => {
    const called = await createLine(app, workspace.id, 'imessage', { phone: line });
    await createRule('missed_call', { reply: { text: 'Sorry we missed you' } });
    const [missed, answered, theirs] = [phone(), phone(), phone()];
    for (const status of ['ringing', 'failed', 'failed'] as const)
      await callBack(app, called, call(missed, status, `missed ${missed}`));
    for (const status of ['ringing', 'answered', 'billed'] as const)
      await callBack(app, called, call(answered, status, `answered ${answered}`));
    // We called them.
    await callBack(app, called, { ...call(line, 'failed', `ours ${theirs}`), to: theirs });
    await eventually(async () => (await texts(missed)).length === 1);
    await settled();
    const [sent] = await sentTo(app, missed);
    expect(sent).toMatchObject({ text: 'Sorry we missed you', lineId: called });
    expect(await texts(answered)).toEqual([]);
    expect(await texts(theirs)).toEqual([]);
    expect(await deeds(missed)).toMatchObject([{ on: 'missed_call', did: ['reply'] }]);
    expect((await conversation(missed)).lastDirection).toBe('out');
  });
});

describe('a conversation that opens', () => {
  it('is one with a first message, one that the contact opens again, or one that somebody opens', async () => {
    await createRule('conversation_opened', { addTags: ['opened'] });
    const contact = phone();
    const opened = async (count: number) => {
      await settled();
      expect(await deeds(contact)).toHaveLength(count);
    };
    await write(contact);
    await opened(1);
    await write(contact, 'And another thing');
    await opened(1);
    await api('PATCH', thread(contact), { status: 'closed' });
    await write(contact, 'One more');
    await opened(2);
    await api('PATCH', thread(contact), { status: 'closed' });
    await api('PATCH', thread(contact), { status: 'open' });
    await opened(3);
    await api('PATCH', thread(contact), { status: 'open' });
    await opened(3);
  });
});

describe('a tag that is added', () => {
  it('is one of those that a rule names, on the lead or the conversation', async () => {
    await createRuleWith({ on: 'tag_added', tags: ['VIP'], do: [{ assign: 'round_robin' }] });
    const [one, other] = [phone(), phone()];
    for (const contact of [one, other]) await write(contact);
    const leadId = await createLead(app, workspace.id, { phones: [one] });
    await api('POST', `/api/leads/${leadId}/tags`, { tags: ['cold'] });
    await settled();
    expect((await conversation(one)).assigneeId).toBeNull();
    await api('POST', `/api/leads/${leadId}/tags`, { tags: ['vip'] });
    await api('POST', '/api/conversations/bulk', { addresses: [other], change: { addTags: ['Vip'] } });
    await settled();
    for (const contact of [one, other])
      expect((await conversation(contact)).assigneeId).toBe(workspace.ownerId);
    expect(await deeds(one)).toHaveLength(1);
    await api('POST', `/api/leads/${leadId}/tags`, { tags: ['VIP'] });
    await settled();
    expect(await deeds(one)).toHaveLength(1);
  });

  it('triggers nothing if a rule or a campaign added it: what a rule does triggers no rule', async () => {
    await createRuleWith({ on: 'tag_added', do: [{ close: true, addTags: ['second'] }] });
    await createRule('conversation_opened', { addTags: ['first'], snooze: { minutes: 1 }, reply: HELLO });
    await createRule('reply', { addTags: ['third'], close: true });
    const contact = phone();
    await write(contact);
    await eventually(async () => (await texts(contact)).length === 1);
    await settled();
    expect((await deeds(contact)).map(({ on }: { on: string }) => on)).toEqual([
      'reply',
      'conversation_opened',
    ]);
    expect((await leadOf(contact)).tags).toEqual(['first', 'third']);
  });
});

describe('a contact whom nobody answers', () => {
  it('is seen to after some time, once, whatever is sent automatically', async () => {
    const { api: test } = await openTestMode(app, workspace);
    const { line } = (await test('POST', '/api/test/lines', { channelType: 'imessage' })).body;
    const rules = [
      { name: 'Hello', on: 'reply', do: [{ reply: HELLO }] },
      {
        name: 'Late',
        on: 'no_answer_for',
        after: { hours: 2 },
        do: [{ addTags: ['late'], snooze: { days: 9 } }],
      },
    ];
    for (const rule of rules) expect((await test('POST', '/api/rules', rule)).status).toBe(201);
    const [waits, answered, again] = [phone(), phone(), phone()];
    const says = async (from: string) =>
      expect((await test('POST', '/api/test/inbound', { from, lineId: line._id, text: 'Hi' })).status).toBe(
        200,
      );
    const late = async () => {
      const { leads } = (await test('GET', '/api/leads')).body;
      return leads.flatMap(({ tags, phone: number }: { tags: string[]; phone: string }) =>
        tags.includes('late') ? [number] : [],
      );
    };
    const answer = async (to: string) =>
      expect((await test('POST', '/api/inbox/send-reply', { phone: to, message: 'Yes?' })).status).toBe(201);
    for (const from of [waits, answered, again]) await says(from);
    await advanceClock(test, 3600);
    expect(await late()).toEqual([]);
    await says(waits);
    await answer(answered);
    await answer(again);
    await advanceClock(test, 60);
    await says(again);
    await advanceClock(test, 3600);
    await eventually(async () => (await late()).length > 0);
    expect(await late()).toEqual([waits]);
    await advanceClock(test, 3600);
    await eventually(async () => (await late()).length > 1);
    expect((await late()).toSorted()).toEqual([waits, again].toSorted());
  });
});

test('assigns nobody any more to a member who was removed', async () => {
  const { id: organizationId, ownerId } = workspace;
  const userId = `user_${newId()}`;
  await insertRow(app, 'users', { id: userId, email: `${userId}@example.test`, name: 'Mia Okafor' });
  await insertRow(app, 'workspace_members', {
    workspace_id: organizationId,
    user_id: userId,
    role: 'org:member',
  });
  await createRule('reply', { assign: userId });
  const [before, after] = [phone(), phone()];
  await write(before);
  await settled();
  expect((await conversation(before)).assigneeId).toBe(userId);
  const owner = await sessionClient(app, { userId: ownerId, organizationId, role: 'org:admin' });
  expect((await owner('DELETE', `/api/team/${userId}`)).status).toBe(200);
  await write(after);
  await settled();
  for (const contact of [before, after]) expect((await conversation(contact)).assigneeId).toBeNull();
});

describe('a draft that waits', () => {
  it('is assigned to whose turn it is', async () => {
    await createRule('draft', { assign: 'round_robin' });
    const [written, drafted] = [phone(), phone()];
    for (const contact of [written, drafted]) await write(contact);
    const draft = { phone: written, message: 'Shall we talk?' };
    expect((await api('POST', '/api/knowledge-base/drafts', draft)).status).toBe(201);
    await settled();
    expect((await conversation(written)).assigneeId).toBe(workspace.ownerId);
    expect((await conversation(drafted)).assigneeId).toBeNull();
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    await write(drafted, 'Is it still free?');
    await eventually(async () => (await conversation(drafted)).assigneeId === workspace.ownerId);
  });
});

describe('a dry run', () => {
  const dryRun = async (fields: object) => {
    const { status, body } = await api('POST', '/api/rules/dry-run', { on: 'reply', ...fields });
    expect(status, JSON.stringify(body)).toBe(200);
    return body.dryRun;
  };
  const hoursAgo = (hours: number): Date => new Date(Date.now() - hours * 3_600_000);

  it('says what a rule would have done, and does nothing', async () => {
    const [often, stopped] = [phone(), phone()];
    for (const hours of [20, 19, 2]) await write(often, `${hours} hours ago`, { at: hoursAgo(hours) });
    await write(often, 'On holiday', { at: hoursAgo(1), autoReply: true });
    await write(stopped, 'What is the price?', { at: hoursAgo(3) });
    await api('POST', '/api/opt-outs', { address: stopped });
    const leadId = await createLead(app, workspace.id, { phones: [often] });
    const all = await dryRun({ do: [{ reply: HELLO, addTags: ['wrote'] }] });
    expect(all).toMatchObject({
      happened: 4,
      matched: 4,
      did: { reply: 2, addTags: 4 },
      withheld: { texted_lately: 1, opted_out: 1 },
      isPartial: false,
    });
    expect(all.examples[0]).toMatchObject({
      address: often,
      leadId,
      did: ['addTags', 'reply'],
      withheld: null,
    });
    const when = [{ field: 'replied', op: 'contains', value: 'price' }];
    const asked = await dryRun({ when, do: [{ notify: true }] });
    expect(asked).toMatchObject({ happened: 4, matched: 1, did: { notify: 1 }, withheld: {} });
    expect(await dryRun({ on: 'conversation_opened', do: [{ close: true }] })).toMatchObject({ happened: 2 });
    expect(await texts(often)).toEqual([]);
    expect((await leadOf(often)).tags).toEqual([]);
    expect(await deeds(often)).toEqual([]);
  });

  it('knows who waited, whose call was missed, and which drafts there were', async () => {
    const [answered, waits] = [phone(), phone()];
    await write(answered, 'Hello', { at: hoursAgo(1) });
    await write(waits, 'Hello', { at: hoursAgo(5) });
    await write(waits, 'Hello?', { at: hoursAgo(4) });
    await api('POST', '/api/inbox/send-reply', { phone: answered, message: 'Hi' });
    await eventually(async () => (await texts(answered)).length === 1);
    const late = { on: 'no_answer_for', do: [{ notify: true }] };
    expect(await dryRun({ ...late, after: { hours: 2 } })).toMatchObject({ happened: 1, matched: 1 });
    expect(await dryRun({ ...late, after: { minutes: 30 } })).toMatchObject({ happened: 2 });
    expect(await dryRun({ ...late, after: { hours: 6 } })).toMatchObject({ happened: 0, examples: [] });

    await api('POST', '/api/knowledge-base/drafts', { phone: waits, message: 'Sorry to keep you waiting' });
    expect(await dryRun({ on: 'draft', do: [{ notify: true }] })).toMatchObject({ happened: 1 });
    const event = { kind: 'call' as const, at: new Date(), from: phone(), to: '+14155550166' };
    for (const status of ['ringing', 'failed'] as const)
      await callBack(app, workspace.lineId, { ...event, status, callId: 'missed', eventId: newId() });
    expect(await dryRun({ on: 'missed_call', do: [{ reply: HELLO }] })).toMatchObject({
      happened: 1,
      did: { reply: 1 },
    });
  });

  it('knows when tags were added, whether there was a rule about it or not', async () => {
    const [one, other] = [phone(), phone()];
    for (const contact of [one, other]) await write(contact);
    const leadId = await createLead(app, workspace.id, { phones: [one] });
    await api('POST', `/api/leads/${leadId}/tags`, { tags: ['VIP', 'cold'] });
    await api('POST', `/api/leads/${leadId}/tags`, { tags: ['vip'] });
    await api('POST', '/api/conversations/bulk', { addresses: [other], change: { addTags: ['Cold'] } });
    const tagged = (tags?: string[]) => dryRun({ on: 'tag_added', tags, do: [{ notify: true }] });
    expect(await tagged()).toMatchObject({ happened: 2, matched: 2, did: { notify: 2 } });
    expect(await tagged(['Vip'])).toMatchObject({ happened: 1, examples: [{ address: one, leadId }] });
    await api('DELETE', `/api/leads/${leadId}?erase=true`);
    await eventually(async () => (await tagged()).happened === 1);
  });
});

describe('the rules of a workspace', () => {
  it('can be listed, changed and deleted, and are on the audit log', async () => {
    const id = await createRule('reply', { addTags: ['a'] });
    const changed = await api('PATCH', `/api/rules/${id}`, { name: 'Calls', on: 'missed_call' });
    expect(changed.body.rule).toMatchObject({ name: 'Calls', on: 'missed_call', do: [{ addTags: ['a'] }] });
    expect((await api('GET', '/api/rules')).body.rules).toEqual([changed.body.rule]);
    const late = await api('PATCH', `/api/rules/${id}`, { on: 'no_answer_for' });
    expect([late.status, late.body.issues[0].path]).toEqual([400, 'after']);
    const after = { hours: 2 };
    const waiting = await api('PATCH', `/api/rules/${id}`, { on: 'no_answer_for', after });
    expect(waiting.body.rule).toMatchObject({ on: 'no_answer_for', after: { minutes: 120 } });
    expect((await api('PATCH', `/api/rules/${id}`, { on: 'reply' })).body.rule.after).toBeUndefined();
    expect((await api('DELETE', `/api/rules/${id}`)).status).toBe(200);
    expect((await api('DELETE', `/api/rules/${id}`)).status).toBe(404);
    const { ownerId: userId, id: organizationId } = workspace;
    const owner = await sessionClient(app, { userId, organizationId, role: 'org:admin' });
    const { entries } = (await owner('GET', '/api/audit-log?targetType=rule')).body;
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'rule.deleted',
      'rule.updated',
      'rule.updated',
      'rule.updated',
      'rule.created',
    ]);
  });

  it.each<[object, string]>([
    [{ on: 'never' }, 'on'],
    [{ do: [] }, 'do'],
    [{ do: [{}] }, 'do.0'],
    [{ do: [{ reply: {} }] }, 'do.0.reply.text'],
    [{ do: [{ reply: { text: '{{ name' } }] }, 'do.0.reply.text'],
    [{ do: [{ close: true, snooze: { hours: 1 } }] }, 'do.0.snooze'],
    [{ do: [{ setFields: { email: 'x' } }] }, 'do.0.setFields.email'],
    [{ when: [{ field: 'replied', op: 'gt' }] }, 'when.0.op'],
    [{ name: ' ' }, 'name'],
    [{ on: 'no_answer_for' }, 'after'],
    [{ on: 'no_answer_for', after: { days: 31 } }, 'after'],
    [{ after: { days: 1 } }, 'after'],
    [{ tags: ['vip'] }, 'tags'],
  ])('name the field that is wrong: %j', async (fields, path) => {
    const input = { name: 'A rule', on: 'reply', do: [{ close: true }], ...fields };
    const { status, body } = await api('POST', '/api/rules', input);
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.issues[0].path).toBe(path);
  });

  it('name what does not exist', async () => {
    const missing = newId();
    for (const action of [
      { reply: { snippetId: missing } },
      { moveToListId: missing },
      { assign: 'user_x' },
    ]) {
      const { status, body } = await api('POST', '/api/rules', { name: 'A', on: 'reply', do: [action] });
      expect([status, body.error]).toEqual([404, expect.stringContaining(`do.0.`)]);
    }
  });
});
