import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { type SystemDb, withSystem, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import type { Channel } from '#domain/base/channel.ts';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLead, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent, writeIn } from '#test/support/inbound.ts';
import { type Endpoint, type Received, startEndpoint, verify } from '#test/support/endpoint.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lineId: string;
let call: ApiClient;
let receiver: Endpoint;
let secret: string;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  call = apiClient(app.url, workspace.key);
  receiver = await startEndpoint();
  const events = ['message.sent', 'message.failed', 'message.opened', 'message.reply', 'message.reaction'];
  const { body } = await call('POST', '/api/webhooks', { name: 'all', url: receiver.url, events });
  secret = body.secret;
});
afterAll(async () => {
  await receiver.close();
});

async function send(to: string, fields: object = {}): Promise<string> {
  const { status, body } = await call('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    ...fields,
  });
  expect(status).toBe(201);
  return body._id;
}

const told = (event: string, matches: (payload: Received['json']) => boolean): Received[] =>
  receiver.received.filter(({ json: payload }) => payload.event === event && matches(payload));

/** Waits for the first delivery of an event that matches. */
async function delivery(event: string, matches: (payload: Received['json']) => boolean): Promise<Received> {
  return eventually(async () => told(event, matches)[0]);
}

/** The simulated carrier's id of the message that was sent to the address. */
const sentTo = (to: string): Promise<string> =>
  eventually(async () => {
    const { messages } = (await (
      await fetch(`${app.url}/simulated/carrier/sent?to=${encodeURIComponent(to)}`)
    ).json()) as { messages: { id: string }[] };
    return messages[0]?.id ?? false;
  });

const from = (address: string) => (payload: Received['json']) =>
  payload.data.reply.recipientPhone === address;

async function repliesOf(address: string) {
  const { status, body } = await call('GET', '/api/replies?limit=200');
  expect(status).toBe(200);
  return body.replies.filter((reply: { recipientPhone: string }) => reply.recipientPhone === address);
}

test('a change of a conversation and its line do not block each other', async () => {
  const to = phone();
  await callBack(app, lineId, replyEvent(to, 'Hello?'));
  const pacer = linePacerId(lineId);
  const wakeAt = () =>
    withSystem(app.pools, (db) =>
      db.oneFirst(sql.type(z.object({ wakeAt: z.string() }))`
        select wake_at::text wake_at from workflow_wakes where workflow_id = ${pacer}`),
    );
  const id = await send(to, { scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
  await withTenant(app.pools, workspace.id, async (db) => {
    await db.query(sql.unsafe`update conversations set tags = tags where address = ${to}`);
    await withSystem(app.pools, (other) =>
      other.query(sql.unsafe`update messages set scheduled_at = now() where id = ${id}`),
    );
    // The message may not have started its pacer yet.
    await eventually(() =>
      app.temporal.workflow
        .getHandle(pacer)
        .signal('messagesDue')
        .then(() => true),
    );
    // Rounds complete without waiting for this transaction, which wakes the pacer as a reply does.
    const first = await eventually(async () => {
      const at = await wakeAt();
      return at !== 'infinity' && Date.parse(at) < Date.now() + 60_000 && at;
    });
    await eventually(async () => (await wakeAt()) !== first);
    wake(db, pacer, new Date(), 'messagesDue');
  });
  await eventually(async () => {
    const { body } = await call('GET', `/api/messages/${id}`);
    return ['sent', 'delivered'].includes(body.message?.status ?? body.status);
  });
});

describe('a reply', () => {
  it('is stored and reported with the same context in the event and the API', async () => {
    const to = phone('0005');
    const leadId = await createLead(app, workspace.id, {
      first_name: 'Grace',
      last_name: 'Hopper',
      phones: [to],
    });
    const messageId = await send(to, {
      leadId,
      message: 'Hi {{ firstName }}',
      batchId: 'b-1',
      stepIndex: 2,
      crmAContactId: 'crm-7',
    });
    const reply = await delivery('message.reply', from(to));
    verify(reply, secret);
    expect(reply.json).toMatchObject({
      event: 'message.reply',
      workspaceId: workspace.id,
      message: 'Sounds good, tell me more',
      leadId,
      firstName: 'Grace',
      lastName: 'Hopper',
      phone: to,
      lead: { _id: leadId, phones: [to] },
      fromLineId: lineId,
      recipientName: 'Grace Hopper',
      originalMessageId: messageId,
      originalMessage: 'Hi Grace',
      crmAContactId: 'crm-7',
      parentMessages: [{ messageId, message: 'Hi Grace', batchId: 'b-1', stepIndex: 2 }],
    });
    expect(reply.json).not.toHaveProperty('attachmentDownloadUrls');
    expect(Date.parse(reply.json.repliedAtUtc)).toBeGreaterThan(Date.now() - 60_000);
    expect(await repliesOf(to)).toEqual([reply.json.data.reply]);
    expect(reply.json.data.reply).toMatchObject({
      leadId,
      messageId: reply.json.messageId,
      name: 'Grace Hopper',
      recipientEmail: null,
      recentReplies: [{ messageId: reply.json.messageId, message: 'Sounds good, tell me more' }],
    });
  });

  it('is reported without a lead or message if its number is unknown', async () => {
    const to = phone();
    await writeIn(app, { lineId, from: to, text: 'Hello?' });
    const { json: payload } = await delivery('message.reply', from(to));
    expect(payload).toMatchObject({ message: 'Hello?', recipientName: to, parentMessages: [] });
    for (const field of ['leadId', 'lead', 'originalMessageId', 'campaignId', 'attachmentUrls'])
      expect(payload).not.toHaveProperty(field);
    expect(await repliesOf(to)).toEqual([expect.objectContaining({ leadId: null, name: to })]);
  });

  it('is stored once when the carrier repeats it', async () => {
    const to = phone();
    const event = replyEvent(to, 'Once');
    expect(await callBack(app, lineId, event)).toBe(200);
    expect(await callBack(app, lineId, event, { ...event, eventId: newId() })).toBe(200);
    await delivery('message.reply', from(to));
    const after = phone();
    await callBack(app, lineId, replyEvent(after, 'Later'));
    await delivery('message.reply', from(after));
    expect(told('message.reply', from(to))).toHaveLength(1);
    expect((await repliesOf(to))[0].recentReplies).toHaveLength(1);
  });

  it("is refused without the carrier's signature", async () => {
    const response = await fetch(`${app.url}/callbacks/carriers/simulated/${lineId}`, {
      method: 'POST',
      body: '{}',
    });
    expect(response.status).toBe(401);
  });

  it('gets a 400 if it is signed but invalid', async () => {
    const event = replyEvent(phone(), 'Hello') as object;
    expect(await callBack(app, lineId, { ...event, kind: 'unheard' } as never)).toBe(400);
  });

  it('is stored up to 100,000 characters and reported up to 20,000', async () => {
    const to = phone();
    await writeIn(app, { lineId, from: to, text: 'é'.repeat(1_500_000) });
    const { json: payload } = await delivery('message.reply', from(to));
    expect(payload.message).toBe('é'.repeat(20_000));
    const [reply] = await repliesOf(to);
    expect(reply.recentReplies[0].message).toBe(payload.message);
    const today = new Date().toISOString().slice(0, 10);
    const { conversations } = (await call('GET', `/api/analytics/conversations?date=${today}`)).body;
    expect(conversations.find((one: { phone: string }) => one.phone === to).lastMessage).toBe(
      payload.message,
    );
    const kept = await withSystem(app.pools, (db) =>
      db.oneFirst(sql.type(z.object({ body: z.string() }))`
        select body from inbound_messages where id = ${payload.messageId}`),
    );
    expect(kept).toBe('é'.repeat(100_000));
  });

  it('is ordered by the time it was written, not received', async () => {
    const to = phone();
    const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
    const texts = Array.from({ length: 12 }, (_, index) =>
      replyEvent(to, `reply ${index}`, { at: at(index) }),
    );
    for (const event of texts.toReversed()) await callBack(app, lineId, event);
    const [reply] = await repliesOf(to);
    expect(reply).toMatchObject({ messageId: expect.any(String), respondedAtUtc: at(11).toISOString() });
    expect(reply.recentReplies.map(({ message }: { message: string }) => message)).toEqual(
      Array.from({ length: 10 }, (_, index) => `reply ${11 - index}`),
    );
  });

  it('is stored but not reported if the carrier marks it as automatic', async () => {
    const to = phone();
    await writeIn(app, { lineId, from: to, text: 'I am out of the office', autoReply: true });
    const thread = await eventually(async () => {
      const { status, body } = await call('GET', `/api/conversations/${encodeURIComponent(to)}`);
      return status === 200 && body;
    });
    expect(thread.messages).toEqual([
      expect.objectContaining({ direction: 'in', autoReply: true, message: 'I am out of the office' }),
    ]);
    expect(await repliesOf(to)).toEqual([]);
    expect(told('message.reply', from(to))).toEqual([]);
  });
});

describe('a message to a contact who has written', () => {
  it('is sent although the cap of new conversations is used up', async () => {
    const other = await createWorkspace(app);
    const ask = apiClient(app.url, other.key);
    const capped = await createLine(app, other.id, 'imessage', { hourly_new_limit: 1 });
    const [first, second, third] = [phone(), phone(), phone()];
    const ids: string[] = [];
    for (const recipientPhone of [first, second, third]) {
      ids.push((await ask('POST', '/api/messages', { message: 'Hello', recipientPhone })).body._id);
    }
    const message = async (id = '') => (await ask('GET', `/api/messages/${id}`)).body;
    await eventually(async () => (await message(ids[0])).status === 'delivered');
    await eventually(async () => (await message(ids[2])).holdReason === 'hourly_new_cap');
    await writeIn(app, { lineId: capped, from: third, text: 'Are you there?' });
    await eventually(async () => (await message(ids[2])).status === 'delivered');
    expect(await message(ids[1])).toMatchObject({ status: 'scheduled', holdReason: 'hourly_new_cap' });
    const { body } = await ask('GET', '/api/lines/by-user');
    expect(body.lines[0].usage).toMatchObject({ newMessages: 1, totalMessages: 2 });
  });
});

describe('a text of a phone', () => {
  const OFFER = 'Hi Ada, your table is booked. To stop texting you, reply STOP to unsubscribe.';

  async function delivered(to: string, fields: object = {}): Promise<string> {
    const messageId = await send(to, { message: OFFER, ...fields });
    await eventually(
      async () => (await call('GET', `/api/messages/${messageId}`)).body.status === 'delivered',
    );
    return messageId;
  }

  it.each([
    [`Liked “${OFFER}”`, { reaction: 'like', removed: false }],
    ['Reacted 🔥 to "Hi Ada, your table…"', { reaction: 'emoji', emoji: '🔥', removed: false }],
    [`Gefällt „${OFFER}“`, { reaction: 'like', removed: false }],
    [`A adoré « ${OFFER} »`, { reaction: 'love', removed: false }],
  ])('that reports a reaction is one: %s', async (text, expected) => {
    const to = phone();
    const messageId = await delivered(to);
    await callBack(app, lineId, replyEvent(to, text));
    const { json: payload } = await delivery('message.reaction', ({ messageId: id }) => id === messageId);
    expect(payload.message).toMatchObject({ messageId, ...expected, fromPhone: to });
    expect(await repliesOf(to)).toEqual([]);
    const { body } = await call('GET', '/api/opt-outs/suspected');
    expect(body.suspicions.map(({ address }: { address: string }) => address)).not.toContain(to);
  });

  it('is a reply if it quotes nothing that the contact got, and is not judged by the quotation', async () => {
    const [to, other] = [phone(), phone()];
    await delivered(to);
    await callBack(app, lineId, replyEvent(other, `Liked “${OFFER}”`));
    await callBack(app, lineId, replyEvent(other, 'Loved an image'));
    await callBack(app, lineId, replyEvent(to, `What is this? ${OFFER}`));
    await eventually(async () => (await repliesOf(other)).length > 0 && (await repliesOf(to)).length > 0);
    const { body } = await call('GET', '/api/opt-outs/suspected');
    const suspected = body.suspicions.map(({ address }: { address: string }) => address);
    expect(suspected).not.toContain(to);
    expect(suspected).not.toContain(other);
    expect((await call('GET', `/api/opt-outs/${encodeURIComponent(to)}`)).body.optedOut).toBe(false);
  });

  it('that it sends while its owner drives is automatic', async () => {
    const to = phone();
    await delivered(to);
    await callBack(
      app,
      lineId,
      replyEvent(
        to,
        'I’m driving with Do Not Disturb While Driving turned on. I’ll see your message when I get where I’m going.',
      ),
    );
    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(body.messages.find(({ direction }: { direction: string }) => direction === 'in')).toMatchObject({
      autoReply: true,
    });
    expect(await repliesOf(to)).toEqual([]);
  });
});

describe('reactions and reads', () => {
  it('are stored with their message and reported by an event', async () => {
    const to = phone('0006');
    const messageId = await send(to);
    const { json: payload } = await delivery('message.reaction', ({ messageId: id }) => id === messageId);
    expect(payload).toMatchObject({
      workspaceId: workspace.id,
      message: { messageId, reaction: 'love', removed: false, fromPhone: to },
    });
    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(body.messages[0].reactions).toEqual([expect.objectContaining({ reaction: 'love', from: to })]);
    expect((await call('GET', `/api/messages/${messageId}`)).body.reactions).toEqual(
      body.messages[0].reactions,
    );
    expect(await repliesOf(to)).toEqual([]);
  });

  it('are any emoji, of which the last counts, or a sticker', async () => {
    const to = phone();
    const messageId = await send(to);
    const carrierMessageId = await sentTo(to);
    await eventually(
      async () => (await call('GET', `/api/messages/${messageId}`)).body.status === 'delivered',
    );
    const about = { kind: 'reaction', at: new Date(), carrierMessageId, removed: false, from: to } as const;
    await callBack(app, lineId, { ...about, eventId: newId(), reaction: 'emoji', emoji: '🔥' });
    await callBack(app, lineId, { ...about, eventId: newId(), reaction: 'emoji', emoji: '👀' });
    await callBack(app, lineId, { ...about, eventId: newId(), reaction: 'sticker' });
    const shown = (await call('GET', `/api/messages/${messageId}`)).body.reactions;
    expect(
      shown.map(({ reaction, emoji }: { reaction: string; emoji?: string }) => emoji ?? reaction),
    ).toEqual(['👀', 'sticker']);
    const later = new Date(Date.now() + 1000);
    await callBack(app, lineId, {
      ...about,
      eventId: newId(),
      at: later,
      reaction: 'emoji',
      emoji: '👀',
      removed: true,
    });
    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(body.messages[0].reactions).toMatchObject([{ reaction: 'sticker' }]);
    await eventually(
      async () => told('message.reaction', ({ messageId: id }) => id === messageId).length === 4,
    );
    const payloads = told('message.reaction', ({ messageId: id }) => id === messageId);
    expect(payloads.filter(({ json }) => json.message.emoji === '👀' && json.message.removed)).toHaveLength(
      1,
    );
  });

  it('reach the same state when they arrive out of order', async () => {
    const to = phone();
    const messageId = await send(to);
    const carrierMessageId = await sentTo(to);
    const reaction = (minute: number, removed: boolean) => ({
      kind: 'reaction' as const,
      eventId: newId(),
      at: new Date(Date.UTC(2026, 0, 1, 12, minute)),
      carrierMessageId,
      reaction: 'laugh' as const,
      removed,
      from: to,
    });
    await eventually(
      async () => (await call('GET', `/api/messages/${messageId}`)).body.status === 'delivered',
    );
    await callBack(app, lineId, reaction(2, true));
    await callBack(app, lineId, reaction(1, false));
    const { body } = await call('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(body.messages[0].reactions).toEqual([]);
    await callBack(app, lineId, reaction(3, false));
    await eventually(
      async () => told('message.reaction', ({ messageId: id }) => id === messageId).length === 2,
    );
  });

  it('report that a message was opened', async () => {
    const to = phone('0010');
    const messageId = await send(to);
    const { json: payload } = await delivery('message.opened', ({ messageId: id }) => id === messageId);
    expect(payload).toMatchObject({
      message: { _id: messageId, readAt: expect.any(String) },
      data: { readAt: expect.any(String) },
    });
  });
});

/** Whether all twelve files are stored. Asks the database, since the API limits reads. */
const storedFiles = (db: SystemDb, replyId: string): Promise<boolean> =>
  db.oneFirst(sql.type(z.object({ all: z.boolean() }))`
    select count(*) = 12 "all" from attachments where inbound_message_id = ${replyId} and status = 'stored'`);

describe('the files of a reply', () => {
  it('are available in part with the event and in full soon after, at links that need no key', async () => {
    const to = phone('0008');
    await send(to);
    const { json: payload } = await delivery('message.reply', from(to));
    expect(payload.attachmentDownloadUrls.length).toBeGreaterThan(0);
    expect(payload.attachmentNames).toHaveLength(payload.attachmentDownloadUrls.length);
    expect(payload.attachmentUrls).toHaveLength(payload.attachmentDownloadUrls.length);

    const file = await fetch(payload.attachmentDownloadUrls[0]);
    expect(file.status).toBe(200);
    expect(file.headers.get('content-type')).toBe('image/png');
    expect(file.headers.get('content-disposition')).toContain(payload.attachmentNames[0]);
    expect(file.headers.get('x-content-type-options')).toBe('nosniff');
    expect(
      Buffer.from(await file.arrayBuffer())
        .subarray(1, 4)
        .toString(),
    ).toBe('PNG');
    expect((await fetch(payload.attachmentUrls[0])).status).toBe(403);

    await eventually(() => withSystem(app.pools, (db) => storedFiles(db, payload.messageId)), 28_000);
    const [full] = await repliesOf(to);
    expect(full.attachmentNames).toEqual(Array.from({ length: 12 }, (_, index) => `photo-${index + 1}.png`));
    expect(full.recentReplies[0].attachmentDownloadUrls).toEqual(full.attachmentDownloadUrls);
    expect(full.attachmentDownloadUrls[0]).toBe(payload.attachmentDownloadUrls[0]);
    expect((await fetch(full.attachmentDownloadUrls[11])).status).toBe(200);
    expect(told('message.reply', from(to))).toHaveLength(1);
  });

  it('are stored up to 100 per message', async () => {
    const to = phone();
    const note = { contentType: 'application/pdf', base64: Buffer.from('a note').toString('base64') };
    const attachments = Array.from({ length: 120 }, (_, index) => ({
      name: `note-${index + 1}.pdf`,
      ...note,
    }));
    await writeIn(app, { lineId, from: to, text: 'With many files', attachments });
    await delivery('message.reply', from(to));
    const names = async () => (await repliesOf(to))[0]?.attachmentNames ?? [];
    await eventually(async () => (await names()).length === 100, 28_000);
    expect(await names()).toEqual(attachments.slice(0, 100).map(({ name }) => name));
  });

  it('are kept for their reply if they arrive before it', async () => {
    const to = phone();
    const reply = replyEvent(to, 'With a file');
    const file = { name: 'photo-2.png', contentType: 'image/png', url: '/carrier/media/photo-2.png' };
    const more = {
      kind: 'reply_attachments' as const,
      eventId: newId(),
      at: new Date(),
      carrierMessageId: reply.carrierMessageId,
      attachments: [file],
    };
    await callBack(app, lineId, more);
    await callBack(app, lineId, reply);
    const { json: payload } = await delivery('message.reply', from(to));
    expect(payload.attachmentNames).toEqual(['photo-2.png']);
  });

  it('delay the event only for a limited time if they cannot be fetched', async () => {
    const to = phone();
    const file = { name: 'gone.png', contentType: 'image/png', url: '/carrier/media/gone.png' };
    await callBack(app, lineId, replyEvent(to, 'With a file that is gone', { attachments: [file] }));
    const { json: payload } = await delivery('message.reply', from(to));
    expect(payload).not.toHaveProperty('attachmentDownloadUrls');
  });
});

describe.each<[Channel, string, string[]]>([
  ['sms', 'ada@contact.example', ['72975', 'acme', '+14155550177']],
  ['imessage', '72975', ['grace@contact.example', '+14155550178']],
])('on a line for %s, %s', (channel, misfit, fitting) => {
  it('is nobody: the message is shown, and answers, opts and stops nothing', async () => {
    const own = await createWorkspace(app);
    const api = apiClient(app.url, own.key);
    const id = await createLine(app, own.id, channel);
    await callBack(app, id, replyEvent(misfit, 'STOP'));
    for (const sender of fitting) await callBack(app, id, replyEvent(sender, 'Hello'));
    const replies = await eventually(async () => {
      const { body } = await api('GET', '/api/replies?limit=50');
      return body.replies.length === fitting.length + 1 && body.replies;
    });
    const warned = replies.filter(({ warning }: { warning: string | null }) => warning !== null);
    expect(warned).toMatchObject([
      { warning: 'invalid_sender', name: expect.stringContaining(misfit), leadId: null },
    ]);
    expect((await api('GET', '/api/opt-outs')).body.optOuts).toEqual([]);
    expect((await api('GET', `/api/conversations/${encodeURIComponent(misfit)}`)).status).toBe(404);
  });
});
