import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { openEventStream } from '#test/support/event-stream.ts';
import { createLead, createWorkspaceWithLine } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { findTraces } from '#test/support/traces.ts';

let app: TestApp;
let world: Awaited<ReturnType<typeof createWorkspaceWithLine>>;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  world = await createWorkspaceWithLine(app);
  receiver = await startEndpoint();
  const events = ['message.reply', 'message.edited', 'message.ai_draft', 'contact.opted_out'];
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
    expect(await groupWith(cleo)).toMatchObject({ optedOut: false });
    expect(await sentTo(app, ada)).toEqual([]);
  });

  it('is erased with the participant who wrote it, and the others stay', async () => {
    const { api, id: workspaceId } = world;
    const [ada, ben] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, { phones: [ada] });
    const group = { ...newGroup([ada, ben]), name: 'Zebulon and Ben' };
    await writes(ada, 'Zebulon was here', group);
    await writes(ben, 'Ben stays', group);
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
      messages: [{ message: 'Ben stays' }],
    });
  });
});
