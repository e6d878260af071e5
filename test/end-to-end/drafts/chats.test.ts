import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { newUserId } from '#domain/base/ids.ts';
import {
  startTelegram,
  type TelegramMessage,
  type TelegramPerson,
  type TelegramStandIn,
} from '#simulator/telegram.ts';
import { chatMessengerId, notifierId } from '#workflows/protocol/workflow-ids.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  type Copilot,
  createCopilot,
  createDraft,
  decideDraft,
  draftFor,
  eventsOf,
} from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createLead, createWorkspace, insertRow } from '#test/support/factories.ts';
import { lock, race, waitingForLocks } from '#test/support/locks.ts';
import { mailsTo } from '#test/support/mails.ts';
import { refuseUpdates } from '#test/support/refused-updates.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: OwnApp;
let telegram: TelegramStandIn;
let receiver: Endpoint;

beforeAll(async () => {
  telegram = await startTelegram();
  receiver = await startEndpoint();
  app = await startTestApp({
    environment: { TELEGRAM_BOT_TOKEN: telegram.token, TELEGRAM_API_URL: telegram.url },
  });
  // The first check of the parts sets the webhook.
  await eventually(async () => telegram.webhook !== null);
});
afterAll(async () => {
  await app.stop();
  await Promise.all([telegram.stop(), receiver.close()]);
});

interface Member {
  userId: string;
  email: string;
  session: ApiClient;
}

async function addMember(desk: Copilot, role: 'org:admin' | 'org:member' = 'org:member'): Promise<Member> {
  const userId = newUserId();
  const email = `${userId}@example.test`;
  await insertRow(app, 'users', { id: userId, email, name: 'Grace Hopper' });
  await insertRow(app, 'workspace_members', { workspace_id: desk.workspace.id, user_id: userId, role });
  return { userId, email, session: await sessionOf(desk, userId, role) };
}

const sessionOf = (desk: Copilot, userId: string, role: string): Promise<ApiClient> =>
  sessionClient(app, { userId, organizationId: desk.workspace.id, role });

const ownerOf = (desk: Copilot): Promise<ApiClient> => sessionOf(desk, desk.workspace.ownerId, 'org:admin');

async function codeFor(session: ApiClient, scope: string): Promise<{ code: string; linkUrl: string }> {
  const { status, body } = await session('POST', '/api/chat-connections', { provider: 'telegram', scope });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

/** Links the private chat of a new person. */
async function linked(session: ApiClient): Promise<TelegramPerson> {
  const person = telegram.person();
  const { code } = await codeFor(session, 'member');
  expect(await person.start(code)).toContain('linked');
  return person;
}

/** Links a group for the workspace. @returns its id, and the person who linked it. */
async function linkedGroup(desk: Copilot): Promise<{ chatId: number; person: TelegramPerson }> {
  const person = telegram.person();
  const chatId = telegram.group();
  const { code } = await codeFor(await ownerOf(desk), 'workspace');
  expect(await person.start(code, chatId)).toContain('linked');
  return { chatId, person };
}

const messagesIn = (chatId: number) => telegram.messages.filter((message) => message.chatId === chatId);

/** The message in a chat that contains a text. */
const shownIn = (chatId: number, text: string) =>
  eventually(async () => messagesIn(chatId).find((message) => message.text.includes(text)));

const auditOf = async (desk: Copilot, action: string) =>
  (await (await ownerOf(desk))('GET', `/api/audit-log?action=${action}`)).body.entries;

describe('linking a chat', () => {
  it('takes a code that works once, for whoever asked for it', async () => {
    const desk = await createCopilot(app, receiver);
    const owner = await ownerOf(desk);
    const { code, linkUrl, expiresAt } = (
      await owner('POST', '/api/chat-connections', { provider: 'telegram', scope: 'member' })
    ).body;
    expect(linkUrl).toBe(`https://t.me/${telegram.username}?start=${code}`);
    const minutes = (Date.parse(expiresAt) - Date.now()) / 60_000;
    expect(minutes).toBeGreaterThan(14);
    expect(minutes).toBeLessThanOrEqual(15);
    const [first, second] = [telegram.person(), telegram.person()];
    expect(await first.start(code)).toContain('linked');
    expect(await second.start(code)).toContain('was used');
    const { chatConnections } = (await desk.call('GET', '/api/chat-connections')).body;
    expect(chatConnections).toEqual([
      expect.objectContaining({
        provider: 'telegram',
        scope: 'member',
        status: 'linked',
        userId: desk.workspace.ownerId,
      }),
    ]);
    expect(await auditOf(desk, 'chat_connection.linked')).toMatchObject([
      { actor: { type: 'user', id: desk.workspace.ownerId }, target: { id: chatConnections[0]._id } },
    ]);
  });

  it('refuses a late code, a group for a member, and a workspace chat for members who are no admins', async () => {
    const desk = await createCopilot(app, receiver);
    const member = await addMember(desk);
    const request = { provider: 'telegram', scope: 'workspace' };
    expect((await member.session('POST', '/api/chat-connections', request)).body.code).toBe('ADMIN_REQUIRED');
    expect((await desk.call('POST', '/api/chat-connections', request)).body.code).toBe('SESSION_REQUIRED');
    const { code } = await codeFor(member.session, 'member');
    const person = telegram.person();
    expect(await person.start(code, telegram.group())).toContain('private chat');
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update chat_connections set expires_at = now() - interval '1 second' where user_id = ${member.userId}`),
    );
    expect(await person.start(code)).toContain('too old');
  });

  it('leaves the workspace one chat, however many are linked at the same time', async () => {
    const desk = await createCopilot(app, receiver);
    await linkedGroup(desk);
    const admin = await addMember(desk, 'org:admin');
    const codes = [
      await codeFor(await ownerOf(desk), 'workspace'),
      await codeFor(admin.session, 'workspace'),
    ];
    const linkedNow = async (): Promise<{ _id: string }[]> =>
      (await desk.call('GET', '/api/chat-connections')).body.chatConnections.filter(
        ({ status }: { status: string }) => status === 'linked',
      );
    const held = await lock(app, 'chat_connections', (await linkedNow())[0]?._id ?? '');
    const [first, second] = codes.map(
      ({ code }) =>
        () =>
          telegram.person().start(code, telegram.group()),
    ) as [() => Promise<string | null>, () => Promise<string | null>];
    for (const text of await race(app, held, first, second)) expect(text).toContain('linked');
    expect(await linkedNow()).toHaveLength(1);
  });

  it('believes only requests with the secret of the webhook', async () => {
    const response = await telegram.post({ message: {} }, 'wrong');
    expect(response.status).toBe(401);
    // Telegram repeats what is refused, and the other updates wait.
    expect((await telegram.post({ message: 'x' })).status).toBe(200);
    expect((await telegram.post({ poll: {} })).status).toBe(200);
  });

  it('ends for a member who deletes it, with the buttons', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const draft = await createDraft(desk);
    const message = await shownIn(chatId, draft.draftMessage);
    const { chatConnections } = (await desk.call('GET', '/api/chat-connections')).body;
    const path = `/api/chat-connections/${chatConnections[0]._id}`;
    const member = await addMember(desk);
    expect((await member.session('DELETE', path)).body.code).toBe('ADMIN_REQUIRED');
    const copy = { ...message, buttons: [...message.buttons] };
    expect((await desk.call('DELETE', path)).status).toBe(200);
    await eventually(async () => message.buttons.length === 0);
    expect(message.text).toContain('not linked any more');
    expect(await person.press(copy, 'Approve')).toContain('not open');
    expect(await draftFor(desk, draft.conversationRecipient)).toMatchObject({ replyId: draft.replyId });
    for (const action of ['chat_connection.created', 'chat_connection.deleted'])
      expect(await auditOf(desk, action)).toMatchObject([{ target: { id: chatConnections[0]._id } }]);
  });
});

describe('a member who is removed', () => {
  it('is told nothing any more, of what their chats were told, and others are', async () => {
    const desk = await createCopilot(app, receiver);
    const [left, stays] = [await addMember(desk, 'org:admin'), await addMember(desk, 'org:admin')];
    const person = telegram.person();
    // The chat of the workspace may be one that nobody else reads.
    const { code } = await codeFor(left.session, 'workspace');
    expect(await person.start(code)).toContain('linked');
    const { code: unused } = await codeFor(left.session, 'member');
    const draft = await createDraft(desk);
    const message = await shownIn(person.id, draft.draftMessage);
    const copy = { ...message, buttons: [...message.buttons] };

    expect((await (await ownerOf(desk))('DELETE', `/api/team/${left.userId}`)).status).toBe(200);
    await eventually(async () => message.text === 'This chat is not linked any more.');
    expect(message.buttons).toEqual([]);
    expect((await desk.call('GET', '/api/chat-connections')).body.chatConnections).toEqual([]);
    await eventually(async () => (await mailsTo(app, stays.email)).length === 1);
    expect(await person.press(copy, 'Approve')).toContain('not open');
    expect(await person.start(unused)).toContain('was used');
    const own = { message: 'Only we know this' };
    expect((await decideDraft(desk, draft.replyId, 'approve', own)).status).toBe(200);
    const { chatId } = await linkedGroup(desk);
    const next = await createDraft(desk);
    await shownIn(chatId, next.draftMessage);
    expect(
      messagesIn(person.id).filter((one) => one !== message && one.text.includes(next.conversationRecipient)),
    ).toEqual([]);
    expect(message.text).toBe('This chat is not linked any more.');
  });
});

describe('a draft', () => {
  it("is told to the contact owner's chat, and approved there", async () => {
    const desk = await createCopilot(app, receiver);
    const [ada, grace] = [await addMember(desk), await addMember(desk)];
    const [hers, others] = [await linked(ada.session), await linked(grace.session)];
    const { chatId } = await linkedGroup(desk);
    const contact = phone();
    await createLead(app, desk.workspace.id, { phones: [contact], contact_owner_email: ada.email });
    const draft = await createDraft(desk, contact, 'Are you <b>open</b> & free?');
    const message = await shownIn(hers.id, draft.draftMessage);
    expect(message.text).toContain(`Ada Lovelace (${contact}) wrote:`);
    expect(message.text).toContain('Are you <b>open</b> & free?');
    expect(message.text).toContain('60% confident');
    expect(message.buttons.map(({ text }) => text)).toEqual(['Approve', 'Another', 'Reject']);
    expect(messagesIn(others.id)).toEqual([]);
    expect(messagesIn(chatId)).toEqual([]);

    expect(await hers.press(message, 'Approve')).toBe('It is being sent.');
    const approved = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(approved).toMatchObject({ message: draft.draftMessage, data: { approvalChannel: 'chat_app' } });
    expect(await sentTo(app, contact)).toHaveLength(1);
    await eventually(async () => message.buttons.length === 0);
    expect(message.text).toMatch(/Approved by Grace Hopper in a chat, \w{3} \d+, \d{4}/);
    expect(await auditOf(desk, 'draft.decided')).toMatchObject([
      {
        actor: { type: 'user', id: ada.userId, name: ada.email },
        target: { type: 'draft', id: draft.replyId },
        changes: { replyId: draft.replyId, action: 'approve' },
      },
    ]);
  });

  it('is answered with the text that a member writes instead', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const contact = phone();
    const draft = await createDraft(desk, contact);
    const message = await shownIn(chatId, draft.draftMessage);
    expect(await person.reply(message, 'We close at six.')).toBe('It is being sent.');
    await eventually(async () => message.text.includes('with another text'));
    expect(message.text).toContain('We close at six.');
    expect(await draftFor(desk, contact, 'approved')).toMatchObject({ approvalChannel: 'chat_app_edit' });
    await eventually(async () => (await sentTo(app, contact)).length === 1);
    expect((await sentTo(app, contact))[0]).toMatchObject({ text: 'We close at six.' });
    // Telegram repeats an update whose response was lost.
    expect(await person.reply(message, 'We close at six.')).toBe('It is being sent.');
    expect(await person.reply(message, 'Or seven.')).toBe('Somebody has decided already.');
    expect(await sentTo(app, contact)).toHaveLength(1);
  });

  it('gets another version, which is approved as such', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const contact = phone();
    const first = await createDraft(desk, contact);
    const message = await shownIn(chatId, first.draftMessage);
    const copy = { ...message, buttons: [...message.buttons] };
    expect(await person.press(message, 'Another')).toBe('Another version is being written.');
    await eventually(async () => message.text.includes('version 2'));
    // The version that they saw is not offered any more.
    expect(await person.press(copy, 'Approve')).toContain('has changed');
    expect(await person.press(message, 'Approve')).toBe('It is being sent.');
    const final = await draftFor(desk, contact, 'approved');
    expect(final).toMatchObject({ version: 2, approvalChannel: 'chat_app_retry' });
    expect(messagesIn(chatId)).toHaveLength(1);
    expect((await auditOf(desk, 'draft.decided')).map(({ changes }: { changes: object }) => changes)).toEqual(
      [
        { replyId: first.replyId, action: 'approve' },
        { replyId: first.replyId, action: 'retry' },
      ],
    );
  });

  it('says that another version could not be written', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const draft = await createDraft(desk);
    const message = await shownIn(chatId, draft.draftMessage);
    const settings = { mode: 'copilot', debounceSeconds: 0, instructions: 'simulate:refusal' };
    await desk.call('PUT', '/api/knowledge-base', settings);
    await person.press(message, 'Another');
    await eventually(async () => message.text.includes('could not be written'));
    expect(message.buttons.map(({ text }) => text)).toEqual(['Approve', 'Another', 'Reject']);
    await desk.call('PUT', '/api/knowledge-base', { mode: 'off' });
    expect(await person.press(message, 'Another')).toContain('no other version');
  });

  it('is decided only by members who linked their account', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId } = await linkedGroup(desk);
    const draft = await createDraft(desk);
    const message = await shownIn(chatId, draft.draftMessage);
    const stranger = telegram.person();
    expect(await stranger.press(message, 'Approve')).toContain('Link your own account');
    expect(await stranger.reply(message, 'Buy gold')).toContain('Link your own account');
    const member = await addMember(desk);
    const { code } = await codeFor(member.session, 'member');
    expect(await stranger.start(code)).toContain('linked');
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`delete from workspace_members where user_id = ${member.userId}`),
    );
    expect(await stranger.press(message, 'Reject')).toContain('Link your own account');
    const elsewhere = await createCopilot(app, receiver);
    const other = await linked(await ownerOf(elsewhere));
    expect(await other.press(message, 'Approve')).toContain('Link your own account');
    expect(await draftFor(desk, draft.conversationRecipient)).toMatchObject({ status: 'drafted' });
  });

  it('that is decided elsewhere, or superseded, says so in the chat', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const contact = phone();
    const first = await createDraft(desk, contact, 'Is it free?');
    const message = await shownIn(chatId, 'Is it free?');
    const second = await createDraft(desk, contact, 'Or tomorrow?');
    expect(second.replyId).not.toBe(first.replyId);
    await eventually(async () => message.text.includes('No longer needed'));
    const next = await shownIn(chatId, 'Or tomorrow?');
    const copy = { ...next, buttons: [...next.buttons] };
    expect((await decideDraft(desk, second.replyId, 'reject')).status).toBe(200);
    await eventually(async () => next.text.includes('Rejected by a program through the API'));
    expect(await person.press(copy, 'Approve')).toBe('Somebody has decided already.');
  });

  it('is not approved by the button of another text', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const draft = await createDraft(desk);
    const message = await shownIn(chatId, draft.draftMessage);
    const copy = { ...message, buttons: [...message.buttons] };
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update ai_drafts set draft = 'Another text' where reply_id = ${draft.replyId}`),
    );
    expect(await person.press(copy, 'Approve')).toContain('has changed');
    await eventually(async () => message.text.includes('Another text'));
    // Another version is stored while the button is pressed.
    const held = await lock(app, 'conversations', draft.conversationRecipient, 'address');
    const pressed = person.press(message, 'Approve');
    await waitingForLocks(app, 1);
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update ai_drafts set draft = 'A third text' where reply_id = ${draft.replyId}`),
    );
    await held.release();
    expect(await pressed).toContain('has changed');
    await eventually(async () => message.text.includes('A third text'));
    expect(await person.press(message, 'Approve')).toBe('It is being sent.');
  });

  it('has one decision, whoever decides at the same time', async () => {
    for (let turn = 0; turn < 10; turn += 1) {
      // Polling uses up the requests of one workspace.
      const desk = await createCopilot(app, receiver);
      const { chatId, person } = await linkedGroup(desk);
      const contacts = Array.from({ length: 5 }, () => phone());
      await Promise.all(
        contacts.map(async (contact) => {
          const draft = await createDraft(desk, contact);
          const message = await shownIn(chatId, contact);
          const copy = { ...message, buttons: [...message.buttons] };
          const workflow = app.temporal.workflow.getHandle(`ai-draft:${draft.replyId}`);
          const [api, update, pressed, written] = await Promise.allSettled([
            decideDraft(desk, draft.replyId, 'approve'),
            workflow.executeUpdate('decide', { args: [{ by: 'Op', action: 'approve' }] }),
            person.press(copy, 'Approve'),
            person.reply(copy, 'Mine'),
            workflow.signal('approve', { by: 'Op' }),
          ]);
          const { status } = (api as PromiseFulfilledResult<{ status: number }>).value;
          // A door that is too busy answers 503, and has decided nothing then.
          expect([200, 409, 503]).toContain(status);
          const said = [pressed, written].map((one) => (one.status === 'fulfilled' ? one.value : one.reason));
          for (const text of said) expect(String(text)).toMatch(/being sent|decided already|503/);
          const final = await draftFor(desk, contact, 'approved');
          expect(final.messageId).not.toBeNull();
          const wins =
            Number(status === 200) +
            Number(final.approvalChannel.startsWith('chat_app')) +
            Number(final.approvalChannel === 'dashboard');
          expect(wins).toBe(1);
          if (final.approvalChannel === 'dashboard') expect(update.status).toMatch(/fulfilled|rejected/);
          await eventually(async () => message.buttons.length === 0);
        }),
      );
      const count = await withSystem(app.pools, (db) =>
        db.oneFirst(sql.type(z.object({ count: z.number() }))`
          select count(*)::int count from messages
          where workspace_id = ${desk.workspace.id} and source = 'ai-draft'`),
      );
      expect(count).toBe(contacts.length);
    }
  });
});

test('a message that always fails holds up none of the same workspace, and is counted as failing', async () => {
  const desk = await createCopilot(app, receiver);
  const [ada, grace] = [await addMember(desk), await addMember(desk)];
  const hers = await linked(ada.session);
  const { body } = await ada.session('GET', '/api/chat-connections');
  const others = await linked(grace.session);
  const [poison, contact] = [phone(), phone()];
  await createLead(app, desk.workspace.id, { phones: [poison], contact_owner_email: ada.email });
  await createLead(app, desk.workspace.id, { phones: [contact], contact_owner_email: grace.email });
  const ofHers = `new.message_id is not null and new.connection_id = '${body.chatConnections[0]._id}'`;
  const heal = await refuseUpdates(app.ownerUrl, 'chat_messages', ofHers);
  await createDraft(desk, poison);
  await eventually(async () => messagesIn(hers.id).length > 1);
  const draft = await createDraft(desk, contact);
  await shownIn(others.id, draft.draftMessage);
  const isFailing = () =>
    withSystem(app.pools, (db) =>
      db.exists(sql.type(NoRows)`
        select 1 from set_aside where workflow_id = ${chatMessengerId(desk.workspace.id)}`),
    );
  await eventually(isFailing);
  await heal();
  await eventually(async () => !(await isFailing()));
});

describe('a provider that misbehaves', () => {
  it('is left alone as long as it asks, and gets the message then', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId } = await linkedGroup(desk);
    telegram.fault(chatId, { kind: 'too_many', retryAfter: 1 });
    const draft = await createDraft(desk);
    const message = await shownIn(chatId, draft.draftMessage);
    telegram.fault(chatId, { kind: 'gateway_error' }, 1);
    expect((await decideDraft(desk, draft.replyId, 'reject')).status).toBe(200);
    await eventually(async () => message.text.includes('Rejected'));
    const statuses = telegram.calls.filter((call) => call.chatId === chatId).map(({ status }) => status);
    expect(statuses).toEqual(expect.arrayContaining([429, 502, 200]));
    expect(messagesIn(chatId)).toHaveLength(1);
  });

  it('gets a message again whose response was lost, and both copies take a decision', async () => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    telegram.fault(chatId, { kind: 'response_lost' });
    const draft = await createDraft(desk);
    const copies = await eventually(async () => messagesIn(chatId).length === 2 && messagesIn(chatId));
    const [first, second] = copies as [TelegramMessage, TelegramMessage];
    expect(await person.reply(first, 'At six.')).toBe('It is being sent.');
    await eventually(async () => second.text.includes('At six.'));
    expect(await person.press(first, 'Approve')).toBe('Somebody has decided already.');
    expect(await draftFor(desk, draft.conversationRecipient, 'approved')).toMatchObject({
      approvalChannel: 'chat_app_edit',
    });
    expect(await person.reply({ ...second, messageId: 1, buttons: [] }, 'Thanks')).toContain('not open');
  });

  it.each([
    ['says so', false],
    ['refuses its messages', true],
  ])('%s when a group becomes a supergroup, which is told anew of what is open', async (_, silently) => {
    const desk = await createCopilot(app, receiver);
    const { chatId, person } = await linkedGroup(desk);
    const [open, decided, next] = [phone(), phone(), phone()];
    await createDraft(desk, open);
    const { replyId } = await createDraft(desk, decided);
    const told = await shownIn(chatId, decided);
    await decideDraft(desk, replyId, 'reject');
    await eventually(async () => told.text.includes('Rejected'));
    const to = await telegram.upgrade(chatId, { silently });
    await createDraft(desk, next);
    await shownIn(to, next);
    const message = await shownIn(to, open);
    expect(await person.press(message, 'Approve')).toBe('It is being sent.');
    await eventually(async () => message.text.includes('Approved'));
    expect(messagesIn(to).some(({ text }) => text.includes(decided))).toBe(false);
    const [connection] = (await desk.call('GET', '/api/chat-connections')).body.chatConnections;
    expect(connection).toMatchObject({ status: 'linked', error: null });
  });

  it('says that the bot was blocked: the connection is broken, and the chat of the workspace takes over', async () => {
    const desk = await createCopilot(app, receiver);
    const ada = await addMember(desk);
    const hers = await linked(ada.session);
    const { chatId } = await linkedGroup(desk);
    const contacts = [phone(), phone()];
    for (const contact of contacts)
      await createLead(app, desk.workspace.id, { phones: [contact], contact_owner_email: ada.email });
    await hers.block();
    const { body } = await ada.session('GET', '/api/chat-connections');
    expect(body.chatConnections.find(({ scope }: { scope: string }) => scope === 'member')).toMatchObject({
      status: 'broken',
    });
    await createDraft(desk, contacts[0]);
    await shownIn(chatId, contacts[0] ?? '');
    // Without the report, the refused message says it.
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update chat_connections set status = 'linked', error = null where user_id = ${ada.userId}`),
    );
    await createDraft(desk, contacts[1]);
    await shownIn(chatId, contacts[1] ?? '');
    const after = (await ada.session('GET', '/api/chat-connections')).body.chatConnections;
    expect(after.find(({ userId }: { userId: string }) => userId === ada.userId)).toMatchObject({
      status: 'broken',
      error: '403 Forbidden: bot was blocked by the user',
    });
    expect(messagesIn(hers.id)).toEqual([]);
  });
});

/** Lets the emails of a workspace be written that wait for somebody in the console. */
async function writeMails({ workspace: { id } }: Copilot): Promise<void> {
  await withSystem(app.pools, (db) =>
    db.query(sql.type(z.unknown())`update notifications set due_at = now() where workspace_id = ${id}`),
  );
  await signalWorkflow(app.temporal, notifierId(id), id, 'notificationsDue');
}

/** The links of the email about a draft. */
async function linksFor(address: string, text: string) {
  const mail = await eventually(async () =>
    (await mailsTo(app, address)).find(
      (one) => one.subject.includes('A draft waits') && one.text.includes(text),
    ),
  );
  const linkOf = (label: string) => new RegExp(`^${label}: (\\S+)$`, 'm').exec(mail.text)?.[1] ?? '';
  return { mail, approve: linkOf('Approve'), reject: linkOf('Reject') };
}

async function openPage(link: string, form?: Record<string, string>) {
  const response = await fetch(link, form && { method: 'POST', body: new URLSearchParams(form) });
  const page = await response.text();
  return { status: response.status, page, version: /name="version" value="(\w+)"/.exec(page)?.[1] ?? '' };
}

describe('without a chat, a draft', () => {
  const emailOf = (userId: string) => `${userId}@example.test`;

  it('is told by email, whose links decide once, and only when a form is sent', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const draft = await createDraft(desk, contact, 'Are you <b>open</b>?');
    await writeMails(desk);
    const { mail, approve, reject } = await linksFor(emailOf(desk.workspace.ownerId), contact);
    expect(mail.text).toContain(draft.draftMessage);
    // As scanners of mail do.
    for (const link of [approve, reject, approve]) {
      expect((await fetch(link, { method: 'HEAD' })).status).toBeLessThan(500);
      expect(await openPage(link)).toMatchObject({ status: 200 });
    }
    expect(await draftFor(desk, contact)).toMatchObject({ status: 'drafted' });
    const { page, version } = await openPage(approve);
    expect(page).toContain('Approve this draft?');
    expect(page).toContain('Are you &lt;b&gt;open&lt;/b&gt;?');
    expect(page).toContain(emailOf(desk.workspace.ownerId));
    expect((await openPage(approve, { action: 'approve' })).page).toContain('has changed');
    expect((await openPage(approve, { action: 'approve', version })).page).toContain('It is being sent.');
    expect((await openPage(reject, { action: 'reject', version })).page).toContain('decided already');
    expect(await openPage(reject)).toMatchObject({ status: 200, version: '' });
    expect((await openPage(reject)).page).toContain('Approved by Owner');
    expect(await draftFor(desk, contact, 'approved')).toMatchObject({
      approvalChannel: 'dashboard',
      resolvedBy: `user ${desk.workspace.ownerId}`,
    });
    expect(await auditOf(desk, 'draft.decided')).toMatchObject([
      { actor: { type: 'user', id: desk.workspace.ownerId }, changes: { action: 'approve' } },
    ]);
  });

  it('is told to its contact owner, who decides as long as they are a member', async () => {
    const desk = await createCopilot(app, receiver);
    const ada = await addMember(desk);
    const contact = phone();
    await createLead(app, desk.workspace.id, { phones: [contact], contact_owner_email: ada.email });
    await createDraft(desk, contact);
    await writeMails(desk);
    const { reject } = await linksFor(ada.email, contact);
    const { version } = await openPage(reject);
    const [head = '', query = ''] = reject.split('?');
    expect((await openPage(`${head.slice(0, -1)}_?${query}`)).status).toBe(404);
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`delete from workspace_members where user_id = ${ada.userId}`),
    );
    expect((await openPage(reject, { action: 'reject', version })).status).toBe(404);
    expect(await draftFor(desk, contact)).toMatchObject({ status: 'drafted' });
  });

  it('is told of by nobody if somebody decided meanwhile', async () => {
    const desk = await createCopilot(app, receiver);
    const [first, second] = [await createDraft(desk, phone()), await createDraft(desk, phone())];
    await decideDraft(desk, first.replyId, 'reject');
    await writeMails(desk);
    const address = emailOf(desk.workspace.ownerId);
    await linksFor(address, second.conversationRecipient);
    const told = (await mailsTo(app, address)).filter(({ subject }) => subject.includes('A draft waits'));
    expect(told).toHaveLength(1);
  });

  it('is told at once if its chat is broken', async () => {
    const desk = await createCopilot(app, receiver);
    const ada = await addMember(desk);
    const hers = await linked(ada.session);
    const contact = phone();
    await createLead(app, desk.workspace.id, { phones: [contact], contact_owner_email: ada.email });
    const draft = await createDraft(desk, contact);
    await shownIn(hers.id, draft.draftMessage);
    await hers.block();
    const { approve } = await linksFor(ada.email, contact);
    const { version } = await openPage(approve);
    expect((await openPage(approve, { action: 'approve', version })).page).toContain('It is being sent.');
  });
});

describe('an erasure', () => {
  it.each([
    ['deletes', false],
    ['empties, where the provider deletes no more,', true],
  ])('%s what chats were told of the contact', async (_, old) => {
    const desk = await createCopilot(app, receiver);
    const { chatId } = await linkedGroup(desk);
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await createDraft(desk, contact);
    const message = await shownIn(chatId, draft.draftMessage);
    telegram.old = old;
    expect((await desk.call('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    await eventually(async () => message.deleted || message.text === 'The contact was erased.');
    expect(message.deleted).toBe(!old);
    telegram.old = false;
    await eventually(async () =>
      withSystem(
        app.pools,
        async (db) =>
          !(await db.exists(
            sql.type(z.unknown())`select from chat_messages where reply_id = ${draft.replyId}`,
          )),
      ),
    );
  });
});

test('keeps texts and addresses out of the history of its workflow', async () => {
  const desk = await createCopilot(app, receiver);
  const { chatId } = await linkedGroup(desk);
  const contact = phone();
  const draft = await createDraft(desk, contact, 'A very private question');
  await shownIn(chatId, draft.draftMessage);
  const handle = app.temporal.workflow.getHandle(chatMessengerId(desk.workspace.id));
  const history = JSON.stringify(await handle.fetchHistory());
  const decoded = history + Buffer.from(JSON.stringify(history)).toString();
  for (const secret of [contact, 'private question', draft.draftMessage, telegram.token])
    expect(decoded).not.toContain(secret);
});

test('makes the API degraded while the provider refuses the token', async () => {
  const readiness = async () => (await (await fetch(`${app.url}/readyz`)).json()) as { checks: object };
  expect((await readiness()).checks).toMatchObject({ telegram: 'ok' });
  const refused = await startTelegram();
  refused.revoked = true;
  const other = await startTestApp({
    worker: false,
    environment: { TELEGRAM_BOT_TOKEN: refused.token, TELEGRAM_API_URL: refused.url },
  });
  try {
    const { status, checks } = (await (await fetch(`${other.url}/readyz`)).json()) as {
      status: string;
      checks: object;
    };
    expect(status).toBe('degraded');
    expect(checks).toMatchObject({ telegram: 'failed' });
    const desk = await createWorkspace(other);
    const session = await sessionClient(other, {
      userId: desk.ownerId,
      organizationId: desk.id,
      role: 'org:admin',
    });
    const request = { provider: 'telegram', scope: 'member' };
    expect((await session('POST', '/api/chat-connections', request)).status).toBe(503);
  } finally {
    await other.stop();
    await refused.stop();
  }
});

test('a bot of an installation without a public URL asks for what happens', async () => {
  const bot = await startTelegram();
  const environment = {
    TELEGRAM_BOT_TOKEN: bot.token,
    TELEGRAM_API_URL: bot.url,
    TELEGRAM_UPDATES: 'polling',
  };
  const own = await startTestApp({ environment });
  try {
    const desk = await createCopilot(own, receiver);
    const session = await sessionClient(own, {
      userId: desk.workspace.ownerId,
      organizationId: desk.workspace.id,
      role: 'org:admin',
    });
    // Nobody has linked a chat.
    expect(bot.calls.filter(({ method }) => method === 'getUpdates')).toEqual([]);
    const { code } = (
      await session('POST', '/api/chat-connections', { provider: 'telegram', scope: 'workspace' })
    ).body;
    const person = bot.person();
    await person.start(code);
    await eventually(async () => bot.messages.some(({ text }) => text.includes('is linked')));
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const message = await eventually(async () => bot.messages.find(({ buttons }) => buttons.length > 0));
    await person.press(message, 'Approve');
    expect(await draftFor(desk, contact, 'approved')).toMatchObject({ replyId, approvalChannel: 'chat_app' });
    await eventually(async () => bot.answers.length === 1);
    expect(bot.webhook).toBeNull();
  } finally {
    await own.stop();
    await bot.stop();
  }
});
