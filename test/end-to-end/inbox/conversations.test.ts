import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { deliverMessage } from '#test/support/messages.ts';
import { createLead, createWorkspaceWithLine } from '#test/support/factories.ts';
import { PNG, uploaded, wav } from '#test/support/files.ts';
import { callBack, replyEvent, writeIn } from '#test/support/inbound.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

const at = (minute: number): Date => new Date(Date.UTC(2026, 0, 1, 12, minute));
const thread = (address: string, query = ''): string =>
  `/api/conversations/${encodeURIComponent(address)}${query}`;

describe('conversations', () => {
  it('show nothing of a last message that was unsent, on either side', async () => {
    const { lineId, api } = await createWorkspaceWithLine(app);
    const [ada, eve] = [phone(), phone()];
    const last = async (address: string) => {
      const { conversations } = (await api('GET', '/api/conversations')).body;
      return conversations.find((one: { address: string }) => one.address === address);
    };
    const id = await deliverMessage(api, { recipientPhone: ada, message: 'Our secret' });
    expect(await last(ada)).toMatchObject({ lastMessage: 'Our secret', lastUnsentAt: null });
    expect((await api('POST', `/api/messages/${id}/unsend`)).status).toBe(202);
    await eventually(async () => (await api('GET', `/api/messages/${id}`)).body.unsentAt !== null);
    const heard = replyEvent(eve, 'Their secret', { at: at(1) });
    await callBack(app, lineId, heard, { ...heard, kind: 'unsent', eventId: newId(), at: at(2) });
    const unsent = { lastMessage: '', lastUnsentAt: expect.any(String) };
    expect(await last(ada)).toMatchObject({ ...unsent, lastDirection: 'out' });
    expect(await last(eve)).toMatchObject({
      ...unsent,
      lastDirection: 'in',
      lastUnsentAt: at(2).toISOString(),
    });
    const today = new Date().toISOString().slice(0, 10);
    const { body } = await api('GET', `/api/analytics/conversations?timezone=UTC&date=${today}`);
    expect(JSON.stringify(body)).toContain(ada);
    expect(JSON.stringify(body)).not.toContain('secret');
  });

  it('are listed by their last activity and shown in both directions', async () => {
    const { id: workspaceId, lineId, api } = await createWorkspaceWithLine(app);
    const [ada, eve] = [phone(), phone()];
    const leadId = await createLead(app, workspaceId, {
      first_name: 'Ada',
      last_name: 'Lovelace',
      phones: [ada],
    });
    await callBack(app, lineId, replyEvent(eve, 'Anyone there?', { at: at(1) }));
    const messageId = await deliverMessage(api, { leadId, message: 'Hi {{ firstName }}' });

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

describe('what the inbox shows of a message and of a contact', () => {
  it('tells when a message was read, who reacted, and the types and sizes of files', async () => {
    const workspace = await createWorkspaceWithLine(app);
    const { api, lineId, key } = workspace;
    const to = phone();
    const audio = wav(2);
    const url = await uploaded(app, key, { name: 'hello.wav', content: audio, type: 'audio/wav' });
    const messageId = await deliverMessage(api, {
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
    const later = { message: 'Bye {{ firstName }}', scheduledDate: new Date(Date.now() + 86_400_000) };
    await api('POST', '/api/messages', { ...later, recipientPhone: own, fromLineId: lineId });
    expect((await api('GET', path)).body.entries[0].message).toMatchObject({
      message: 'Bye Ada',
      status: 'scheduled',
    });
  });
});
