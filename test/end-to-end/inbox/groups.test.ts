import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createLead, createLine, createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { findTraces } from '#test/support/traces.ts';

let app: TestApp;
let world: Awaited<ReturnType<typeof createWorkspaceWithLine>>;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  world = await createWorkspaceWithLine(app);
  receiver = await startEndpoint();
  const events = [
    'message.reply',
    'message.sent',
    'message.failed',
    'message.edited',
    'message.reaction',
    'message.ai_draft',
    'contact.opted_out',
  ];
  await world.api('POST', '/api/webhooks', { name: 'all', url: receiver.url, events });
});
afterAll(() => receiver.close());

/** What is written to a group. */
const writes = async (
  from: string,
  text: string,
  group: { id: string; name?: string; participants: string[] },
  fields: Parameters<typeof replyEvent>[2] = {},
) => {
  const event = replyEvent(from, text, { group, ...fields });
  expect(await callBack(app, world.lineId, event)).toBe(200);
  return event.carrierMessageId;
};

const newGroup = (participants: string[]) => ({ id: `iMessage;+;chat${newId()}`, participants });

const groupWith = async (participant: string) => {
  const { conversations } = (await world.api('GET', '/api/conversations?limit=200')).body;
  return conversations.find(
    ({ group }: { group: { participants: string[] } | null }) =>
      group?.participants.includes(participant) ?? false,
  );
};

const told = (event: string, text: string) =>
  eventually(async () => {
    const found = receiver.received.find(
      ({ json }) => json.event === event && JSON.stringify(json).includes(text),
    );
    return found?.json ?? false;
  });

describe('what is written to a group', () => {
  it('is a conversation of its own, with its name, its participants and who wrote what', async () => {
    const [ada, ben] = [phone(), phone()];
    const group = { ...newGroup([ada, ben]), name: 'Flat 7' };
    const stream = await openEventStream(app.url, world.key);
    await writes(ada, 'Is the flat free?', group);
    await writes(ben, 'And the garage?', group);
    // The carrier no longer names the participants, and another number has joined.
    const cleo = phone();
    await writes(cleo, 'I would come along', { ...group, participants: [] });

    const listed = await groupWith(ada);
    const { id } = listed.group;
    expect(listed).toMatchObject({
      address: `group:${id}`,
      name: 'Flat 7',
      group: { id, name: 'Flat 7', participants: [ada, ben, cleo] },
      phone: null,
      email: null,
      leadId: null,
      lineId: world.lineId,
      lastMessage: 'I would come along',
      unreadCount: 3,
    });
    const { body } = await world.api('GET', `/api/conversations/${encodeURIComponent(listed.address)}`);
    expect(body.messages).toMatchObject([
      { message: 'I would come along', participant: cleo, direction: 'in' },
      { message: 'And the garage?', participant: ben },
      { message: 'Is the flat free?', participant: ada },
    ]);
    const reply = await told('message.reply', 'And the garage?');
    expect(reply).toMatchObject({
      group: { id, name: 'Flat 7', participants: [ada, ben] },
      fromLineId: world.lineId,
      data: { reply: { recipientPhone: ben, leadId: null, parentMessages: [] } },
    });
    expect(reply).not.toHaveProperty('campaignId');
    const { replies } = (await world.api('GET', '/api/replies')).body;
    expect(replies[0]).toMatchObject({ recipientPhone: cleo, group: { id } });
    await stream.received(3);
    stream.close();

    // The participants themselves have no conversation.
    expect((await world.api('GET', `/api/conversations/${encodeURIComponent(ada)}`)).status).toBe(404);
    const other = await createWorkspaceWithLine(app);
    const foreign = await other.api('GET', `/api/conversations/${encodeURIComponent(listed.address)}`);
    expect(foreign.status).toBe(404);
  });

  it('is also what the owner of the line writes from their phone', async () => {
    const [ada, ben] = [phone(), phone()];
    const typed = (text: string, group: ReturnType<typeof newGroup>) => {
      const carrierMessageId = newId();
      const about = { kind: 'own_message', eventId: `${carrierMessageId}:own`, carrierMessageId } as const;
      return { ...about, at: new Date(), to: group.id, text, group, fileNames: [] };
    };
    const group = newGroup([ada, ben]);
    await writes(ada, 'Is the cellar free?', group);
    const answer = typed('The cellar is free', { ...group, participants: [] });
    expect(await callBack(app, world.lineId, answer, answer)).toBe(200);
    const { address } = await groupWith(ada);
    const { body } = await world.api('GET', `/api/conversations/${encodeURIComponent(address)}`);
    expect(body.messages).toMatchObject([
      { message: 'The cellar is free', direction: 'out', status: 'sent' },
      { message: 'Is the cellar free?', direction: 'in' },
    ]);
    expect(await told('message.sent', 'The cellar is free')).toMatchObject({
      group: { participants: [ada, ben] },
    });

    // Nobody has written in these yet. One of them is later named by the carrier.
    const [cleo, dora] = [phone(), phone()];
    const other = newGroup([cleo, dora]);
    const unnamed = typed('Who comes?', { ...other, participants: [] });
    expect(await callBack(app, world.lineId, unnamed)).toBe(200);
    expect(await groupWith(cleo)).toBeUndefined();
    expect(await callBack(app, world.lineId, { ...unnamed, group: other })).toBe(200);
    expect(await groupWith(cleo)).toMatchObject({ lastDirection: 'out', lastMessage: 'Who comes?' });
  });

  it('is no reply: it stops no campaign, gets no draft and counts in no metric', async () => {
    const { api, id: workspaceId, lineId } = world;
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0 });
    const lead = phone();
    await createLead(app, workspaceId, { phones: [lead] });
    const { list } = (await api('POST', '/api/lists', { name: newId() })).body;
    await api('POST', '/api/leads', { listId: list._id, leads: [{ firstName: 'Ada', phone: lead }] });
    const steps = [{ message: 'One' }, { message: 'Two', delay: { days: 1 } }];
    const { campaign } = (
      await api('POST', '/api/campaigns', { name: 'Spring', listId: list._id, steps, start: true })
    ).body;
    await eventually(async () => (await sentTo(app, lead)).length === 1);
    await writes(lead, 'Yes, I am interested', newGroup([lead, phone()]));
    await told('message.reply', 'Yes, I am interested');

    const { messages } = (await api('GET', `/api/messages?campaignId=${campaign._id}`)).body;
    expect(messages.map(({ status }: { status: string }) => status)).toContain('scheduled');
    expect((await api('GET', '/api/knowledge-base/auto-replies')).body.autoReplies).toEqual([]);
    const { metrics } = (await api('GET', '/api/analytics')).body;
    expect(metrics).toMatchObject({ replied: 0, uniqueReplied: 0 });
    // A reply to the line is one.
    await callBack(app, lineId, replyEvent(lead, 'To you alone'));
    await eventually(
      async () => (await api('GET', '/api/knowledge-base/auto-replies')).body.autoReplies.length === 1,
    );
    await api('PUT', '/api/knowledge-base', { mode: 'off' });
  });

  it('opts out who writes STOP, or edits a message to it, and nobody else; nobody is answered', async () => {
    const [ada, ben, cleo] = [phone(), phone(), phone()];
    const group = newGroup([ada, ben, cleo]);
    await writes(ada, 'Stop', group);
    const edited = await writes(ben, 'Hello', group);
    const at = new Date();
    const change = { carrierMessageId: edited, text: 'STOP', at };
    await callBack(app, world.lineId, { kind: 'edited', eventId: newId(), ...change });
    const { optOuts } = (await world.api('GET', '/api/opt-outs')).body;
    const addresses = optOuts.map(({ address }: { address: string }) => address);
    expect(addresses).toEqual(expect.arrayContaining([ada, ben]));
    expect(addresses).not.toContain(cleo);
    expect(await told('contact.opted_out', ada)).toMatchObject({ address: ada, source: 'reply' });
    expect(await told('message.edited', ben)).toMatchObject({ message: { message: 'STOP', fromPhone: ben } });
    // To the others alone nothing can be said.
    expect(await groupWith(cleo)).toMatchObject({ optedOut: true });
    expect(await sentTo(app, ada)).toEqual([]);
  });

  it('is erased with the participant who wrote it, and the others stay', async () => {
    const { api, id: workspaceId } = world;
    const [ada, ben] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [ada] });
    const group = { ...newGroup([ada, ben]), name: 'Zebulon and Ben' };
    await writes(ada, 'Zebulon was here', group);
    await writes(ben, 'Ben stays', group);
    const before = await groupWith(ben);
    const ours = (await answer(before.group.id, { message: 'So do we' })).body;
    await settled(ours._id, 'delivered');
    const sent = (await sentTo(app, ada))[0]?.id ?? '';
    const love = { kind: 'reaction', reaction: 'love', removed: false, from: ada, at: new Date() } as const;
    await callBack(app, world.lineId, { ...love, eventId: newId(), carrierMessageId: sent });
    await told('message.reaction', ours._id);
    const exported = (await api('GET', `/api/leads/${leadId}/export`)).body;
    expect(JSON.stringify(exported)).toContain('Zebulon was here');
    expect((await api('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    const { address } = await groupWith(ben);
    await eventually(async () => {
      const traces = await findTraces(app, workspaceId, ['Zebulon', ada]);
      return traces.length === 0;
    }, 30_000);
    const { body } = await api('GET', `/api/conversations/${encodeURIComponent(address)}`);
    expect(body).toMatchObject({
      conversation: { group: { name: null, participants: [ben] } },
      messages: [{ message: 'So do we', reactions: [] }, { message: 'Ben stays' }],
    });
  });
});

/** Writes to a new group. */
const create = (recipients: string[], message: string | string[], fields: object = {}) =>
  world.api('POST', '/api/conversations/groups', {
    fromLineId: world.lineId,
    recipients,
    message,
    ...fields,
  });

const message = async (id: string) => (await world.api('GET', `/api/messages/${id}`)).body;
const settled = (id: string, status: string) =>
  eventually(async () => {
    const found = await message(id);
    return found.status === status && found;
  });
const threadOf = async (groupId: string) =>
  (await world.api('GET', `/api/conversations/${encodeURIComponent(`group:${groupId}`)}`)).body;
const answer = (groupId: string, fields: object) =>
  world.api('POST', '/api/inbox/send-reply', { groupId, ...fields });
/** The group as the carrier knows it. */
const atCarrier = async (participant: string) => {
  const [first] = (await sentTo(app, participant)) as { group?: { id: string; participants: string[] } }[];
  return first?.group ?? { id: '', participants: [] };
};

describe('a group that is created', () => {
  it('gets its first message once, its participants answer in its conversation, and so do we', async () => {
    const [ada, ben] = [phone(), phone()];
    const created = await create([ada, ben.replace('+1', '1 ')], 'Shall we meet on Monday?');
    expect(created).toMatchObject({
      status: 201,
      body: {
        recipientPhone: null,
        recipientEmail: null,
        leadId: null,
        fromLineId: world.lineId,
        source: 'api',
        group: { name: null, participants: [ada, ben] },
        warnings: [],
      },
    });
    const { _id: id, groupId } = created.body;
    expect(created.body.group.id).toBe(groupId);
    await settled(id, 'delivered');
    expect(await sentTo(app, ada)).toMatchObject([{ text: 'Shall we meet on Monday?' }]);
    expect(await sentTo(app, ben)).toEqual(await sentTo(app, ada));
    expect(await told('message.sent', 'Shall we meet on Monday?')).toMatchObject({
      messageId: id,
      group: { id: groupId, participants: [ada, ben] },
      message: { groupId },
    });

    const group = await atCarrier(ada);
    await writes(ben, 'Monday suits me', { id: group.id, participants: [] });
    expect(await told('message.reply', 'Monday suits me')).toMatchObject({ group: { id: groupId } });
    const answered = await answer(groupId, { message: 'At ten, then' });
    expect(answered).toMatchObject({ status: 201, body: { groupId, source: 'inbox' } });
    await settled(answered.body._id, 'delivered');
    const { messages, conversation } = await threadOf(groupId);
    expect(conversation).toMatchObject({ lineId: world.lineId, optedOut: false, lastDirection: 'out' });
    expect(messages).toMatchObject([
      { direction: 'out', message: 'At ten, then', status: 'delivered' },
      { direction: 'in', message: 'Monday suits me', participant: ben },
      { direction: 'out', message: 'Shall we meet on Monday?' },
    ]);
    const sent = (await sentTo(app, ada)) as { group?: object }[];
    expect(sent.map((one) => one.group)).toEqual([group, group]);

    // The same people are the same group.
    const again = await create([ben, ada], 'One more thing');
    expect(again.body.groupId).toBe(groupId);
    const { events } = (await world.api('GET', `/api/messages/${id}/timeline`)).body;
    expect(events.map(({ type }: { type: string }) => type)).toContain('sent');
    // The participants themselves have no conversation.
    expect((await world.api('GET', `/api/conversations/${encodeURIComponent(ada)}`)).status).toBe(404);
  });

  it('is one group, however many requests create it at once', async () => {
    const [ada, ben] = [phone(), phone()];
    const created = await Promise.all(
      Array.from({ length: 5 }, (_, index) => create(index % 2 === 0 ? [ada, ben] : [ben, ada], 'Hello')),
    );
    // They wait for each other, and on a busy machine too long for some.
    const done = created.filter(({ status }) => status !== 503);
    expect(new Set(done.map(({ status, body }) => `${status} ${body.groupId}`)).size).toBe(1);
    expect(done[0]).toMatchObject({
      status: 201,
      body: { group: { participants: expect.arrayContaining([ada, ben]) } },
    });
  });

  it('counts as one new conversation of its line', async () => {
    const lineId = await createLine(app, world.id, 'imessage', { daily_new_limit: 1 });
    const first = await create([phone(), phone(), phone()], 'First', { fromLineId: lineId });
    await settled(first.body._id, 'delivered');
    const second = await create([phone(), phone()], 'Second', { fromLineId: lineId });
    expect(await settled(second.body._id, 'scheduled')).toMatchObject({ holdReason: 'daily_new_cap' });
    // An answer to the first is none.
    const more = await answer(first.body.groupId, { message: 'More' });
    await settled(more.body._id, 'delivered');
    const { lines } = (await world.api('GET', '/api/lines/by-user')).body;
    const { usage } = lines.find(({ _id }: { _id: string }) => _id === lineId);
    expect(usage).toMatchObject({ newMessages: 1, totalMessages: 2 });
  });

  it('is refused with the field that is wrong, and by lines that cannot', async () => {
    const { api, lineId, id: workspaceId } = world;
    const [ada, ben, gone] = [phone(), phone(), phone()];
    await api('POST', '/api/opt-outs', { address: gone });
    const { line } = (await api('GET', `/api/lines/${lineId}`)).body;
    const field = async (recipients: unknown, fields: object = {}) => {
      const { status, body } = await create(recipients as string[], 'Hello', fields);
      return status === 400 ? body.issues[0].path : body.code;
    };
    expect(await field([ada])).toBe('recipients');
    expect(await field([ada, ada])).toBe('recipients');
    expect(await field(Array.from({ length: 21 }, () => phone()))).toBe('recipients');
    expect(await field([ada, 'nobody'])).toBe('recipients.1');
    expect(await field([line.phone, ada])).toBe('recipients.0');
    expect(await field([ada, ben, gone])).toBe('recipients.2');
    expect(await field([ada, ben], { message: '  ' })).toBe('message');
    expect(await field([ada, ben], { fromLineId: newId() })).toBe('NOT_FOUND');
    const sms = await createLine(app, workspaceId, 'sms');
    const refused = await create([ada, ben], 'Hello', { fromLineId: sms });
    expect(refused).toMatchObject({
      status: 409,
      body: { code: 'UNSUPPORTED_BY_CARRIER', capability: 'groups' },
    });
    const other = await createWorkspaceWithLine(app);
    expect(await field([ada, ben], { fromLineId: other.lineId })).toBe('NOT_FOUND');
    const { body } = await create([ada, ben], 'Hello');
    const foreign = await other.api('POST', '/api/inbox/send-reply', {
      groupId: body.groupId,
      message: 'Hi',
    });
    expect(foreign).toMatchObject({ status: 404, body: { code: 'NOT_FOUND' } });
    const wrong = await answer(body.groupId, { message: 'Hi', fromLineId: sms });
    expect(wrong).toMatchObject({ status: 400, body: { issues: [{ path: 'fromLineId' }] } });
  });

  it('is never written to twice, though a response is lost', async () => {
    const [ada, ben] = [phone('0004'), phone()];
    const { body } = await create([ada, ben], 'Only once');
    await settled(body._id, 'delivered');
    expect(await sentTo(app, ben)).toHaveLength(1);
    // The carrier tells the group when it is asked.
    const group = await atCarrier(ben);
    await writes(ben, 'It arrived', { id: group.id, participants: [] });
    expect((await threadOf(body.groupId)).messages[0]).toMatchObject({
      message: 'It arrived',
      participant: ben,
    });
  });

  it('is the conversation of who answers before the carrier has told its id', async () => {
    const [ada, ben] = [phone('0009'), phone()];
    const { body } = await create([ada, ben], 'Are you there?');
    await eventually(async () => (await sentTo(app, ben)).length === 1);
    const { id } = await atCarrier(ben);
    await writes(ben, 'So early', { id, participants: [] });
    expect((await threadOf(body.groupId)).messages[0]).toMatchObject({ message: 'So early' });
    await settled(body._id, 'delivered');
    await writes(ben, 'And later', { id, participants: [ada, ben] });
    expect((await threadOf(body.groupId)).messages[0]).toMatchObject({ message: 'And later' });
  });

  it('is told nothing more once a participant opts out', async () => {
    const [ada, ben] = [phone(), phone()];
    const { body } = await create([ada, ben], 'Dinner?');
    await settled(body._id, 'delivered');
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString();
    const waiting = await answer(body.groupId, {
      message: 'Or lunch, later?',
      scheduledDate: inAnHour,
      cancelIfReply: false,
    });
    expect(waiting).toMatchObject({ status: 201, body: { status: 'scheduled' } });
    const group = await atCarrier(ada);
    await writes(ada, 'Stop', group);
    expect(await message(waiting.body._id)).toMatchObject({
      status: 'failed',
      errorMessage: 'recipient_opted_out',
    });
    expect(await told('message.failed', 'Or lunch, later?')).toMatchObject({ group: { id: body.groupId } });
    expect((await threadOf(body.groupId)).conversation).toMatchObject({ optedOut: true });
    const later = await answer(body.groupId, { message: 'Anyone?' });
    expect(later.body).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
    expect(await sentTo(app, ben)).toHaveLength(1);
    // Nor once the other has done so elsewhere.
    await world.api('DELETE', `/api/opt-outs/${encodeURIComponent(ada)}`);
    const soon = await answer(body.groupId, { message: 'Back again', scheduledDate: inAnHour });
    expect(soon.body.status).toBe('scheduled');
    await callBack(app, world.lineId, replyEvent(ben, 'STOP'));
    expect(await message(soon.body._id)).toMatchObject({ status: 'failed' });
  });

  it('is reacted in, by its participants and by us', async () => {
    const [ada, ben] = [phone(), phone()];
    const { body } = await create([ada, ben], 'We have a date');
    await settled(body._id, 'delivered');
    const group = await atCarrier(ada);
    const [sent] = await sentTo(app, ada);
    const ours = sent?.id ?? '';
    const theirs = await writes(ada, 'Wonderful news', group);
    const about = { kind: 'reaction', at: new Date(), removed: false } as const;
    const love = { ...about, carrierMessageId: ours, eventId: newId(), reaction: 'love', from: ben } as const;
    const laugh = {
      ...about,
      carrierMessageId: theirs,
      eventId: newId(),
      reaction: 'laugh',
      from: ben,
    } as const;
    expect(await callBack(app, world.lineId, love, laugh)).toBe(200);
    const [inbound, outbound] = (await threadOf(body.groupId)).messages;
    expect(outbound.reactions).toMatchObject([{ by: 'contact', reaction: 'love', from: ben }]);
    expect(inbound.reactions).toMatchObject([{ by: 'contact', reaction: 'laugh', from: ben }]);
    expect(await told('message.reaction', inbound.messageId)).toMatchObject({
      group: { id: body.groupId },
      message: { direction: 'in', fromPhone: ben, reaction: 'laugh' },
    });
    // A phone that writes it out.
    await writes(ada, 'Liked “We have a date”', group);
    await writes(ada, 'Loved “We have a date”', group);
    const reacted = await world.api('POST', `/api/messages/${inbound.messageId}/reactions`, {
      reaction: 'like',
    });
    expect(reacted.status).toBe(202);
    const { messages } = await eventually(async () => {
      const found = await threadOf(body.groupId);
      return (
        found.messages[0].reactions.some(
          ({ status, by }: { status: string; by: string }) => by === 'us' && status === 'sent',
        ) && found
      );
    });
    expect(messages).toHaveLength(2);
    expect(messages[1].reactions).toMatchObject([
      { reaction: 'love', from: ben },
      { reaction: 'love', from: ada },
    ]);
  });
});
