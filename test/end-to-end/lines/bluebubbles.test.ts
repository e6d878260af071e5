import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, test } from 'vitest';
import { withSystem } from '#db/connection/transactions.ts';
import { type BlueBubblesStandIn, startBlueBubbles } from '#simulator/bluebubbles.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { PNG, uploaded } from '#test/support/files.ts';
import { startTlsProxy } from '#test/support/tls-proxy.ts';

const PASSWORD = 'the password of the Mac';

let app: OwnApp;
let mac: BlueBubblesStandIn;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;

beforeAll(async () => {
  app = await startTestApp({ environment: { INBOX_POLL_SECONDS: '1' } });
});
afterAll(() => app.stop());

beforeEach(async () => {
  mac = await startBlueBubbles(PASSWORD);
  workspace = await createWorkspace(app);
  api = workspace.api;
  lineId = await createLine(app, workspace.id);
  await mac.write(phone(), { text: 'From the time before the line was connected' });
  const config = { url: mac.url, password: PASSWORD, method: 'apple-script' };
  const { status } = await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config });
  if (status !== 200) throw new Error(`not connected: ${status}`);
  return async () => {
    await api('DELETE', `/api/lines/${lineId}`);
    await mac.stop();
  };
});

const message = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const settled = (id: string, status: string) =>
  eventually(async () => {
    const found = await message(id);
    return found.status === status && found;
  });
async function send(to: string, fields: object = {}): Promise<string> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    fromLineId: lineId,
    ...fields,
  });
  expect(status).toBe(201);
  return body._id;
}
const thread = async (of: string) =>
  (await api('GET', `/api/conversations/${encodeURIComponent(of)}`)).body.messages ?? [];
const received = (of: string) =>
  eventually(async () => {
    const inbound = (await thread(of)).filter(({ direction }: { direction: string }) => direction === 'in');
    return inbound.length > 0 && inbound;
  });
const optedOut = (address: string) =>
  eventually(async () => JSON.stringify((await api('GET', '/api/opt-outs')).body).includes(address));

/** What the server reports meanwhile is lost: it ignores failures. */
async function unheard(work: () => Promise<unknown>): Promise<void> {
  const callWebhooks = mac.callWebhooks;
  mac.callWebhooks = async () => {};
  await work();
  mac.callWebhooks = callWebhooks;
}

describe('what the server reported while nobody could receive it', () => {
  it('is found in its list: replies, STOP, reactions and receipts, each once', async () => {
    const [stopped, answered] = [phone(), phone()];
    let guid = '';
    await unheard(async () => {
      const id = await send(answered);
      await eventually(async () => mac.messages.some(({ to }) => to === answered));
      guid = mac.messages.find(({ to }) => to === answered)?.guid ?? '';
      await mac.write(stopped, { text: 'STOP' });
      await mac.write(answered, { text: 'Yes, gladly' });
      await mac.write(answered, {
        text: 'Loved “Hello”',
        associatedMessageGuid: `p:0/${guid}`,
        associatedMessageType: 'love',
      });
      await settled(id, 'delivered');
      await eventually(async () => (await message(id)).reactions.length > 0);
    });
    await optedOut(stopped);
    expect(await received(answered)).toMatchObject([{ message: 'Yes, gladly' }]);

    // Reported again, and read again by the next polls.
    const polls = () => mac.requests.get('/api/v1/message/query') ?? 0;
    await mac.change(guid, {});
    const before = polls();
    await eventually(async () => polls() > before + 1);
    expect(await received(answered)).toHaveLength(1);
    const { conversations } = (await api('GET', '/api/conversations')).body;
    expect(conversations.map(({ address }: { address: string }) => address).toSorted()).toEqual(
      [stopped, answered].toSorted(),
    );
  });

  it('is found by a worker that was down as well', async () => {
    const from = phone();
    await app.stopWorker();
    await unheard(() => mac.write(from, { text: 'STOP' }));
    await app.startWorker();
    await optedOut(from);
  });

  it('is found if the Mac stored it late, with an early date', async () => {
    const from = phone();
    await unheard(async () => {
      const newer = phone();
      const { dateCreated } = await mac.write(newer, { text: 'Newer' });
      await received(newer);
      await mac.write(from, { text: 'STOP', dateCreated: dateCreated - 1 });
    });
    await optedOut(from);
  });
});

test('a message from a short code, which no iMessage has, is from nobody', async () => {
  const from = phone();
  for (const sender of ['72975', from]) await mac.write(sender, { text: 'STOP' });
  await optedOut(from);
  await eventually(async () =>
    (await api('GET', '/api/replies')).body.replies.some(
      ({ warning }: { warning: string | null }) => warning === 'invalid_sender',
    ),
  );
  expect((await api('GET', '/api/opt-outs')).body.optOuts).toMatchObject([{ address: from }]);
});

test('entries of the list that cannot be read do not hide the others', async () => {
  const from = phone();
  await unheard(async () => {
    await mac.write(from, { text: 7 as unknown as string });
    await mac.write(from, { text: 'Readable' });
  });
  expect(await received(from)).toMatchObject([{ message: 'Readable' }]);
});

test('the event of a reply whose files are slow comes before that of its draft', async () => {
  const held = Promise.withResolvers<void>();
  mac.heldFiles = held.promise;
  await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0, documents: [] });
  const from = phone();
  const attachments = [{ guid: 'A1', transferName: 'photo.png', mimeType: 'image/png' }];
  await mac.write(from, { text: 'Is this one still free?', attachments });
  const Told = z.object({ event: z.string() });
  const told = () =>
    withSystem(app.pools, async (db) =>
      (
        await db.any(sql.type(Told)`
          select event from events where workspace_id = ${workspace.id}
            and event in ('message.reply', 'message.ai_draft') order by id`)
      ).map(({ event }) => event),
    );
  await eventually(async () => (await told()).includes('message.ai_draft'));
  held.resolve();
  expect(await told()).toEqual(['message.reply', 'message.ai_draft']);
});

test('an automatic reply that the list names as such is no reply', async () => {
  const from = phone();
  await mac.write(from, { text: 'I am driving with Focus turned on', isAutoReply: true });
  expect(await received(from)).toMatchObject([{ autoReply: true }]);
  expect((await api('GET', '/api/replies')).body.replies).toEqual([]);
});

test('a recipient who turns out not to be on iMessage gets an SMS, if there is to be one', async () => {
  await api('PATCH', '/api/workspace/fallback-config', { enabled: true, provider: 'simulated' });
  const [withSms, without] = [phone(), phone()];
  for (const to of [withSms, without]) mac.fault(to, { kind: 'error_later', code: 22 });
  const id = await send(withSms, { smsFallbackEnabled: true });
  const other = await send(without);
  await settled(id, 'fallback');
  await eventually(async () => (await message(id)).fallbackSmsDispatched);
  expect(await sentTo(app, withSms)).toHaveLength(1);
  expect((await settled(other, 'fallback')).errorMessage).toBe('not on iMessage');
  expect(await sentTo(app, without)).toEqual([]);
});

test('STOP in a group opts its participant out, and what is written there is no reply', async () => {
  const from = phone();
  const chats = [{ guid: 'iMessage;+;chat42' }];
  await mac.write(from, { text: 'See you all there', chats });
  await mac.write(from, { text: 'Stop.', chats });
  await optedOut(from);
  expect((await api('GET', '/api/replies')).body.replies).toMatchObject([
    { group: { participants: [from] } },
  ]);
  expect(await thread(from)).toEqual([]);
});

test('a line whose helper is not connected is unhealthy, and says so', async () => {
  const config = { url: mac.url, password: PASSWORD, method: 'private-api' };
  const connect = () => api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config });
  mac.info.private_api = true;
  const { status, body } = await connect();
  expect([status, body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
  expect(body.error).toContain('The helper of the Private API is not connected');
  mac.info.helper_connected = true;
  expect((await connect()).status).toBe(200);
});

test('a text with other line ends is stored as it was sent', async () => {
  const id = await send(phone(), { message: 'line one\r\nline two' });
  expect((await settled(id, 'delivered')).message).toBe('line one\nline two');
});

test('an event about an unknown message changes nothing', async () => {
  await mac.callWebhooks('updated-message', { guid: randomUUID(), isFromMe: true, isDelivered: true });
  expect((await api('GET', '/api/conversations')).body.conversations).toEqual([]);
});

describe('what we do to messages', () => {
  beforeEach(async () => {
    Object.assign(mac.info, { private_api: true, helper_connected: true });
    const config = { url: mac.url, password: PASSWORD, method: 'private-api' };
    await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config });
  });

  it('is declared by its carrier: AppleScript can only send', async () => {
    const able = async () => (await api('GET', `/api/lines/${lineId}`)).body.line.capabilities;
    expect(await able()).toEqual(expect.arrayContaining(['reactions', 'edit', 'unsend', 'groups']));
    const config = { url: mac.url, password: PASSWORD, method: 'apple-script' };
    await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config });
    expect(await able()).toEqual(['voice_notes', 'attachments']);
  });

  it('takes its routes, each once', async () => {
    const to = phone();
    const id = await send(to);
    await settled(id, 'delivered');
    const { guid } = await mac.write(to, { text: 'Yes' });
    const [{ messageId }] = await received(to);
    expect((await api('POST', `/api/messages/${messageId}/reactions`, { reaction: 'love' })).status).toBe(
      202,
    );
    expect((await api('PATCH', `/api/messages/${id}`, { message: 'Hello again' })).status).toBe(202);
    expect((await api('POST', `/api/messages/${id}/unsend`)).status).toBe(202);
    await eventually(async () => (await message(id)).unsentAt !== null);
    const sent = mac.messages.find((known) => known.to === to)?.guid;
    expect(mac.done).toMatchObject([
      { route: 'react', guid, body: { reaction: 'love' } },
      { route: 'edit', guid: sent, body: { editedMessage: 'Hello again' } },
      { route: 'unsend', guid: sent },
    ]);
    const { reactions } = (await thread(to)).find(
      (item: { messageId: string }) => item.messageId === messageId,
    );
    expect(reactions).toMatchObject([{ by: 'us', reaction: 'love', status: 'sent' }]);
    // What the server reports of it is not something that a person did on the Mac.
    expect(await thread(to)).toHaveLength(2);
  });

  it('is a group that is created, written to, answered and reacted in', async () => {
    const [ada, ben] = [phone(), phone()];
    const created = await api('POST', '/api/conversations/groups', {
      fromLineId: lineId,
      recipients: [ada, ben],
      message: 'Shall we meet?',
    });
    expect(created).toMatchObject({ status: 201 });
    await settled(created.body._id, 'delivered');
    const { groupId } = created.body;
    const [group] = mac.groups;
    expect(group?.participants).toEqual([ada, ben]);
    // The Mac names the participants only in its list.
    const chats = [
      { guid: group?.guid, displayName: 'Us', participants: [{ address: ada }, { address: ben }] },
    ];
    const { guid } = await mac.write(ben, { text: 'Gladly', chats });
    await mac.write(ada, {
      text: 'Loved “Shall we meet?”',
      chats,
      associatedMessageGuid: `p:0/${mac.messages[0]?.guid}`,
      associatedMessageType: 'love',
    });
    // To the photo of the same message, if it had one.
    await mac.write(ada, {
      text: 'Laughed at an image',
      chats,
      associatedMessageGuid: `p:1/${mac.messages[0]?.guid}`,
      associatedMessageType: 'laugh',
    });
    const groupThread = async () =>
      (await api('GET', `/api/conversations/${encodeURIComponent(`group:${groupId}`)}`)).body;
    const { messages, conversation } = await eventually(async () => {
      const found = await groupThread();
      return found.messages.length === 2 && found.messages[1].reactions.length === 2 && found;
    });
    expect(conversation).toMatchObject({ name: 'Us', group: { id: groupId, participants: [ada, ben] } });
    expect(messages).toMatchObject([
      { message: 'Gladly', participant: ben },
      {
        message: 'Shall we meet?',
        reactions: [
          { by: 'contact', reaction: 'love', from: ada },
          { by: 'contact', part: 1, reaction: 'laugh', from: ada },
        ],
      },
    ]);
    const [reply] = messages;
    await api('POST', `/api/messages/${reply.messageId}/reactions`, { reaction: 'like' });
    const answer = await api('POST', '/api/inbox/send-reply', {
      groupId,
      message: 'Monday',
      replyToMessageId: reply.messageId,
    });
    await settled(answer.body._id, 'delivered');
    expect(mac.messages).toMatchObject([
      { chat: group?.guid, text: 'Shall we meet?' },
      { chat: group?.guid, text: 'Monday', replyTo: guid },
    ]);
    await eventually(async () => mac.done.length > 0);
    expect(mac.done).toMatchObject([{ route: 'react', guid, body: { chatGuid: group?.guid } }]);
    expect(await thread(ada)).toEqual([]);
  });

  it('is nothing in a group in which somebody has opted out, though they have not written there', async () => {
    const [ada, ben] = [phone(), phone()];
    await api('POST', '/api/opt-outs', { address: ada });
    const chats = [
      { guid: `iMessage;+;chat${randomUUID()}`, participants: [{ address: ada }, { address: ben }] },
    ];
    await mac.write(ben, { text: 'Who is coming?', chats });
    const [reply] = (await api('GET', '/api/replies')).body.replies;
    expect(reply.group.participants.toSorted()).toEqual([ada, ben].toSorted());
    const { body } = await api('POST', '/api/inbox/send-reply', {
      groupId: reply.group.id,
      message: 'All of us',
    });
    expect(body).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
  });

  it('is a group of which the first response is lost, and which gets one message', async () => {
    const [ada, ben] = [phone(), phone()];
    mac.fault(ada, { kind: 'response_lost' });
    const { body } = await api('POST', '/api/conversations/groups', {
      fromLineId: lineId,
      recipients: [ada, ben],
      message: 'Only once',
    });
    await settled(body._id, 'delivered');
    await mac.write(ben, { text: 'It came', chats: [{ guid: mac.groups[0]?.guid }] });
    await eventually(async () => {
      const { messages } = (
        await api('GET', `/api/conversations/${encodeURIComponent(`group:${body.groupId}`)}`)
      ).body;
      return messages[0].message === 'It came';
    });
    expect(mac.messages).toHaveLength(1);
  });

  it('names the message that a contact answers, ours or theirs', async () => {
    const to = phone();
    const id = await send(to);
    await settled(id, 'delivered');
    const ours = mac.messages.find((sent) => sent.to === to)?.guid;
    const first = await mac.write(to, { text: 'To yours', threadOriginatorGuid: ours });
    await mac.write(to, { text: 'To mine', threadOriginatorGuid: first.guid });
    await mac.write(to, { text: 'To one that is not known', threadOriginatorGuid: 'gone' });
    await mac.write(to, { text: 'To none' });
    const named = await eventually(async () => {
      const shown = await thread(to);
      return shown.length === 5 && shown;
    });
    const item = (text: string) => named.find(({ message }: { message: string }) => message === text);
    const answered = (text: string) => item(text).replyToMessageId;
    expect(answered('To yours')).toBe(id);
    expect(answered('To mine')).toBe(item('To yours').messageId);
    expect([answered('To one that is not known'), answered('To none')]).toEqual([null, null]);
  });

  it('is said by a message: what it answers, and its effect', async () => {
    const to = phone();
    const { guid } = await mac.write(to, { text: 'Which one?' });
    const [{ messageId }] = await received(to);
    const id = await send(to, { replyToMessageId: messageId, effect: 'invisible_ink' });
    await settled(id, 'delivered');
    expect(mac.messages.filter((known) => known.to === to)).toMatchObject([
      { replyTo: guid, effectId: 'com.apple.MobileSMS.expressivesend.invisibleink' },
    ]);
    expect(await message(id)).toMatchObject({ replyToMessageId: messageId, transport: 'imessage' });

    // The first message of a conversation.
    const stranger = phone();
    mac.stranger(stranger);
    await settled(await send(stranger, { effect: 'balloons' }), 'delivered');
    expect(mac.messages.find((known) => known.to === stranger)?.effectId).toBe(
      'com.apple.messages.effect.CKHappyBirthdayEffect',
    );
  });

  it('is done in the conversation: typing, and telling that messages were read', async () => {
    const to = phone();
    const chat = `iMessage;-;${to}`;
    expect((await api('PATCH', `/api/lines/${lineId}`, { readReceipts: 'on_reply' })).status).toBe(200);
    await mac.write(to, { text: 'Which one?' });
    await received(to);
    const type = (state: string) =>
      api('POST', `/api/conversations/${encodeURIComponent(to)}/typing`, { state });
    expect((await type('on')).status).toBe(202);
    await eventually(async () => mac.done.length === 1);
    expect((await type('off')).status).toBe(202);
    await eventually(async () => mac.done.length === 2);
    await api('POST', '/api/inbox/send-reply', { phone: to, message: 'The red one' });
    await eventually(async () => mac.done.length === 3);
    expect(mac.done).toMatchObject([
      { route: 'typing', guid: chat },
      { route: 'stop typing', guid: chat },
      { route: 'read', guid: chat },
    ]);
  });

  it('is a text with files in one message', async () => {
    const to = phone();
    await mac.write(to, { text: 'Do you have photos?' });
    await received(to);
    const files = [{ name: 'a.png' }, { name: 'b.png' }];
    const attachmentUrls = [];
    for (const { name } of files)
      attachmentUrls.push(await uploaded(app, workspace.key, { name, content: PNG }));
    await settled(await send(to, { message: 'Here they are', attachmentUrls }), 'delivered');
    expect(mac.messages.filter((sent) => sent.to === to)).toMatchObject([
      { text: 'Here they are', file: { name: 'a.png' }, moreFiles: [{ name: 'b.png' }] },
    ]);
    // One whose response is lost is found with its files.
    const lost = phone();
    mac.fault(lost, { kind: 'response_lost' });
    await settled(
      await send(lost, { message: 'Here it is', attachmentUrls: attachmentUrls.slice(0, 1) }),
      'delivered',
    );
    expect(mac.messages.filter((sent) => sent.to === lost)).toHaveLength(1);
  });

  it('is left out by AppleScript', async () => {
    const config = { url: mac.url, password: PASSWORD, method: 'apple-script' };
    await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config });
    const to = phone();
    await settled(await send(to, { effect: 'slam' }), 'delivered');
    expect(mac.messages.find((known) => known.to === to)?.effectId).toBeNull();
  });

  it('is not repeated if the response is lost, and found at the server', async () => {
    const to = phone();
    await mac.write(to, { text: 'Hello' });
    const [{ messageId }] = await received(to);
    mac.fault(to, { kind: 'response_lost' });
    await api('POST', `/api/messages/${messageId}/reactions`, { reaction: 'like' });
    await eventually(async () => (await thread(to))[0].reactions[0]?.status === 'sent');
    expect(mac.done).toHaveLength(1);
    const asked = phone();
    mac.fault(asked, { kind: 'response_lost' });
    const id = await send(asked);
    await settled(id, 'delivered');
    await api('PATCH', `/api/messages/${id}`, { message: 'Hello again' });
    await eventually(async () => (await message(id)).editedAt !== null);
    await api('POST', `/api/messages/${id}/unsend`);
    await eventually(async () => (await message(id)).unsentAt !== null);
    expect(mac.done).toHaveLength(3);
    const { status, body } = await api('POST', `/api/messages/${messageId}/reactions`, {
      reaction: 'emoji',
      emoji: '🔥',
    });
    expect([status, body.code]).toEqual([409, 'UNSUPPORTED_BY_CARRIER']);
  });
});

describe('what contacts edit and unsend', () => {
  it('is shown as they left it, and reported', async () => {
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url, {
      events: ['message.reply', 'message.edited', 'message.unsent'],
    });
    const told = (event: string) => endpoint.received.filter(({ json }) => json.event === event);
    const [editor, remover] = [phone(), phone()];
    const first = await mac.write(editor, { text: 'At five?' });
    const second = await mac.write(remover, { text: 'A secret', attachments: [{ guid: 'A1' }] });
    const [{ messageId }] = await received(editor);
    await received(remover);

    const at = Date.now();
    await mac.change(first.guid, { text: 'At six?', dateEdited: at });
    await mac.change(second.guid, { text: null, attachments: [], dateEdited: at, partCount: 0 });
    const editedAt = new Date(at).toISOString();
    expect(await thread(editor)).toMatchObject([{ message: 'At six?', editedAt, unsentAt: null }]);
    expect(await thread(remover)).toMatchObject([
      { message: '', attachments: [], editedAt: null, unsentAt: editedAt },
    ]);
    await eventually(async () => told('message.edited').length > 0 && told('message.unsent').length > 0);
    expect(told('message.edited').map(({ json }) => json)).toMatchObject([
      {
        messageId,
        message: { messageId, direction: 'in', message: 'At six?', editedAtUtc: editedAt, fromPhone: editor },
      },
    ]);
    const [{ json: unsent } = { json: null }] = told('message.unsent');
    expect(unsent.message).toMatchObject({ direction: 'in', unsentAtUtc: editedAt, fromPhone: remover });
    expect(JSON.stringify(unsent)).not.toContain('secret');
    expect(JSON.stringify((await api('GET', '/api/replies')).body)).not.toContain('secret');

    // The server reports the same again, and an older state late.
    await mac.change(first.guid, {});
    await mac.change(first.guid, { text: 'At four?', dateEdited: at - 1000 });
    expect(await thread(editor)).toMatchObject([{ message: 'At six?' }]);
    expect(told('message.edited')).toHaveLength(1);
  });

  it('opts them out if they edit it to STOP, also if nobody received that', async () => {
    const [heard, unheardOf, inGroup] = [phone(), phone(), phone()];
    const first = await mac.write(heard, { text: 'Ok' });
    const second = await mac.write(unheardOf, { text: 'Ok' });
    const chats = [{ guid: 'iMessage;+;chat7' }];
    const third = await mac.write(inGroup, { text: 'Ok', chats });
    await Promise.all([received(heard), received(unheardOf)]);
    await mac.change(first.guid, { text: 'STOP', dateEdited: Date.now() });
    await mac.change(third.guid, { text: 'STOP', dateEdited: Date.now() });
    await optedOut(heard);
    await optedOut(inGroup);
    await unheard(async () => {
      await mac.change(second.guid, { text: 'Stop', dateEdited: Date.now() });
      await optedOut(unheardOf);
    });
  });
});

describe('an edited message', () => {
  const suspected = async (): Promise<string[]> =>
    (await api('GET', '/api/opt-outs/suspected?limit=100')).body.suspicions.map(
      ({ address }: { address: string }) => address,
    );

  it('is judged by what the contact wrote, not by what they quote of ours', async () => {
    const offer = 'Your table is booked. To stop texting you, reply STOP.';
    const [asks, quotes] = [phone(), phone()];
    for (const to of [asks, quotes]) await settled(await send(to, { message: offer }), 'delivered');
    const first = await mac.write(asks, { text: 'Ok' });
    const second = await mac.write(quotes, { text: 'Ok' });
    await Promise.all([received(asks), received(quotes)]);
    await mac.change(second.guid, {
      text: `“${offer}” What does that mean?`,
      dateEdited: Date.now(),
    });
    await mac.change(first.guid, { text: 'Please stop texting me', dateEdited: Date.now() });
    await eventually(async () => (await suspected()).includes(asks));
    expect(await suspected()).toEqual([asks]);
    expect((await api('GET', '/api/opt-outs')).body.optOuts).toEqual([]);
  });

  it('opts out the address that it answers, too', async () => {
    const to = phone();
    const email = `ada${to.slice(1)}@icloud.example`;
    const id = await send(to);
    await settled(id, 'delivered');
    const threadOriginatorGuid = mac.messages.find((sent) => sent.to === to)?.guid;
    const { guid } = await mac.write(email, { text: 'Ok', threadOriginatorGuid });
    await received(email);
    await mac.change(guid, { text: 'STOP', dateEdited: Date.now() });
    await Promise.all([optedOut(email), optedOut(to)]);
    expect((await settled(await send(to), 'failed')).errorMessage).toBe('recipient_opted_out');
  });

  it('keeps its former texts for the export of the contact, and for nobody else', async () => {
    const from = phone();
    const { guid } = await mac.write(from, { text: 'At five?' });
    await received(from);
    const at = Date.now();
    await mac.change(guid, { text: 'At six?', dateEdited: at });
    await mac.change(guid, { text: 'At seven?', dateEdited: at + 1000 });
    await eventually(async () => (await thread(from))[0]?.message === 'At seven?');
    expect(JSON.stringify(await thread(from))).not.toContain('At five?');
    const { leadIds } = (await api('POST', '/api/leads', { leads: [{ phone: from }] })).body;
    const { status, body } = await api('GET', `/api/leads/${leadIds[0]}/export`);
    expect(status).toBe(200);
    expect(body.replies).toMatchObject([
      {
        message: 'At seven?',
        formerTexts: [
          { text: 'At five?', until: new Date(at).toISOString() },
          { text: 'At six?', until: new Date(at + 1000).toISOString() },
        ],
      },
    ]);
  });
});

describe('a server with a certificate of an authority of its own', () => {
  const folder = join(import.meta.dirname, '../../fixtures/tls');

  it('can be used once the line trusts the authority, in both directions', async () => {
    const proxy = await startTlsProxy(folder);
    onTestFinished(() => proxy.close());
    proxy.to(Number(new URL(mac.url).port));
    const config = { url: `https://localhost:${proxy.port}`, password: PASSWORD, method: 'apple-script' };
    const connect = (more: object) =>
      api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config: { ...config, ...more } });
    const refused = await connect({});
    expect([refused.status, refused.body.code]).toEqual([502, 'CARRIER_NOT_USABLE']);
    const caCertificates = readFileSync(join(folder, 'authority.pem'), 'utf8');
    expect(await connect({ caCertificates })).toMatchObject({ status: 200 });
    await settled(await send(phone()), 'delivered');
    const from = phone();
    await unheard(async () => {
      await mac.write(from, { text: 'STOP' });
      await optedOut(from);
    });
  });
});

describe('what a person sends from the phone or the Mac', () => {
  const outbound = async (of: string) =>
    (await thread(of)).filter(({ direction }: { direction: string }) => direction === 'out');

  it('is a part of the conversation, once, and answers it', async () => {
    await api('PUT', '/api/knowledge-base', { mode: 'copilot', debounceSeconds: 0, documents: [] });
    const contact = phone();
    await mac.write(contact, { text: 'Is it still free?' });
    const drafts = async () => (await api('GET', '/api/knowledge-base/auto-replies')).body.autoReplies;
    const [draft] = await eventually(async () => {
      const open = await drafts();
      return open.length > 0 && open;
    });
    expect(draft.status).toBe('drafted');

    const { guid } = await mac.write(contact, { text: 'Yes, it is', isFromMe: true });
    const [sent] = await eventually(async () => {
      const found = await outbound(contact);
      return found.length > 0 && found;
    });
    expect(sent).toMatchObject({ message: 'Yes, it is', lineId, status: 'sent' });
    expect(await message(sent.messageId)).toMatchObject({ source: 'device', fromLineId: lineId });
    expect((await drafts()).map(({ status }: { status: string }) => status)).toEqual(['claimed']);
    const { conversations } = (await api('GET', '/api/conversations')).body;
    expect(conversations).toMatchObject([{ lastDirection: 'out', lastMessage: 'Yes, it is' }]);

    await mac.change(guid, { isDelivered: true, dateDelivered: Date.now() });
    await settled(sent.messageId, 'delivered');
    expect(await outbound(contact)).toHaveLength(1);
  });

  it('is found in the list, counts for the line, and can be to somebody new', async () => {
    const usage = async () => (await api('GET', '/api/lines/by-user')).body.lines[0].usage;
    expect(await usage()).toMatchObject({ totalMessages: 0, newMessages: 0 });
    const contact = phone();
    await unheard(async () => {
      await mac.write(contact, { text: 'Hello, it is me', isFromMe: true, handle: null });
      await eventually(async () => (await outbound(contact)).length > 0);
    });
    expect(await usage()).toMatchObject({ totalMessages: 1, newMessages: 1 });
  });

  it('is never what was sent through the product', async () => {
    const [plain, withFile, partly, fileLost] = [phone(), phone(), phone(), phone()];
    // Numbers of another area that end alike.
    const area = /^\+1(\d)/;
    const alike = (to: string): string =>
      to.replace(area, (_, digit: string) => `+1${digit === '2' ? 3 : 2}`);
    const [lost, failed] = [alike(plain), alike(withFile)];
    mac.fault(lost, { kind: 'response_lost' });
    mac.fault(failed, { kind: 'error_though_sent', code: null });
    mac.fault(partly, { kind: 'file_refused' });
    mac.fault(fileLost, { kind: 'file_response_lost' });
    const url = await uploaded(app, workspace.key, { name: 'photo.png', content: PNG });
    for (const to of [plain, lost, failed]) await send(to);
    for (const to of [withFile, partly, fileLost]) await send(to, { attachmentUrls: [url] });
    for (const to of [withFile, fileLost])
      await eventually(async () => mac.messages.filter((sent) => sent.to === to).length === 2);
    await eventually(async () =>
      (await outbound(partly)).some(({ status }: { status: string }) => status === 'failed'),
    );
    await eventually(async () =>
      (await outbound(plain)).some(({ status }: { status: string }) => status === 'delivered'),
    );
    const polls = () => mac.requests.get('/api/v1/message/query') ?? 0;
    const before = polls();
    await eventually(async () => polls() > before + 3);
    for (const to of [plain, lost, withFile, failed, partly, fileLost])
      expect([to, ...(await outbound(to))]).toHaveLength(2);
    await eventually(async () => (await outbound(fileLost))[0].status === 'delivered');
  });

  it('is no reaction, and to a group none to its participant', async () => {
    const contact = phone();
    const chat = { guid: 'iMessage;+;chat9', participants: [{ address: contact }, { address: phone() }] };
    await mac.write(contact, { text: 'Hi all', isFromMe: true, chats: [chat] });
    await mac.write(contact, {
      text: 'Loved “Hi”',
      isFromMe: true,
      associatedMessageGuid: 'p:0/M1',
      associatedMessageType: 'love',
    });
    const polls = () => mac.requests.get('/api/v1/message/query') ?? 0;
    const before = polls();
    await eventually(async () => polls() > before + 1);
    expect(await thread(contact)).toEqual([]);
    const { conversations } = (await api('GET', '/api/conversations')).body;
    expect(conversations[0]).toMatchObject({ lastMessage: 'Hi all', group: { name: null } });
  });
});

describe('a server that gets another address', () => {
  const urlOf = async () => (await api('GET', `/api/lines/${lineId}/carrier`)).body.connection.config.url;

  it('is followed there, if it is the same server', async () => {
    const [registered] = mac.webhooks;
    const moved = await startBlueBubbles(PASSWORD);
    const stranger = await startBlueBubbles('another password');
    await mac.callWebhooks('new-server', stranger.url);
    await mac.callWebhooks('new-server', moved.url);
    await mac.callWebhooks('new-server', 'no address');
    expect(await urlOf()).toBe(mac.url);
    await fetch(`${moved.url}/api/v1/webhook?password=${encodeURIComponent(PASSWORD)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(registered),
    });
    await mac.callWebhooks('new-server', moved.url);
    expect(await urlOf()).toBe(moved.url);
    const to = phone();
    await settled(await send(to), 'delivered');
    expect(moved.messages.map((sent) => sent.to)).toEqual([to]);
    await Promise.all([moved.stop(), stranger.stop()]);
  });

  it('that nobody heard of says so, still reports STOP, and is followed when it tells again', async () => {
    const [registered] = mac.webhooks;
    const moved = await startBlueBubbles(PASSWORD);
    await fetch(`${moved.url}/api/v1/webhook?password=${encodeURIComponent(PASSWORD)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(registered),
    });
    await unheard(() => mac.callWebhooks('new-server', moved.url));
    const former = mac;
    mac = moved;
    await former.stop();
    const check = (await api('GET', `/api/lines/check-availability?id=${lineId}`)).body;
    expect(check).toMatchObject({ status: 'degraded', failures: [{ check: 'probe' }, { check: 'inbox' }] });
    const [waiting, stopped] = [phone(), phone()];
    const id = await send(waiting);
    await moved.write(stopped, { text: 'STOP' });
    await optedOut(stopped);
    expect(moved.messages.filter(({ to }) => to === waiting)).toEqual([]);

    await moved.callWebhooks('new-server', moved.url);
    expect(await urlOf()).toBe(moved.url);
    await settled(id, 'delivered');
    expect(moved.messages.filter(({ to }) => to === waiting)).toHaveLength(1);
    const again = (await api('GET', `/api/lines/check-availability?id=${lineId}`)).body;
    expect(again).toMatchObject({ status: 'healthy', failures: [] });
  });

  it('keeps one webhook of the line: former ones are deleted', async () => {
    const [registered] = mac.webhooks;
    const former = (registered?.url ?? '')
      .replace('localhost', 'former.example')
      .replace(/secret=.*/, 'secret=former');
    const another = 'https://another.example/hook';
    for (const url of [former, another])
      await fetch(`${mac.url}/api/v1/webhook?password=${encodeURIComponent(PASSWORD)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url, events: ['new-message'] }),
      });
    const config = { url: mac.url, password: PASSWORD, method: 'apple-script' };
    expect(
      (await api('PUT', `/api/lines/${lineId}/carrier`, { provider: 'bluebubbles', config })).status,
    ).toBe(200);
    expect(mac.webhooks.map(({ url }) => url)).toEqual([registered?.url, another]);
  });
});
