import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  autoReplies,
  type Copilot,
  createCopilot,
  createDraft,
  decideDraft,
  draftFor,
  eventsOf,
  messagesOf,
  receiveReply,
  replyIdOf,
  waitForEnd,
} from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createLead, insertRow } from '#test/support/factories.ts';
import { lock, waitingForLocks } from '#test/support/locks.ts';
import { sessionClient } from '#test/support/sessions.ts';

let app: TestApp;
let receiver: Endpoint;

beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(() => receiver.close());

/** A workspace without a copilot. */
const createDesk = (): Promise<Copilot> => createCopilot(app, receiver, { mode: 'off' });

async function write({ call }: Copilot, fields: object, text = 'We are open until five.') {
  const { status, body } = await call('POST', '/api/knowledge-base/drafts', { ...fields, message: text });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.draft;
}

describe('a draft that a program writes', () => {
  it('waits for a decision like one of the copilot, although the contact has not written', async () => {
    const desk = await createDesk();
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await write(desk, { phone: contact }, 'Hello {{ firstName }}!');
    expect(draft).toMatchObject({
      status: 'drafted',
      source: 'api',
      draftMessage: 'Hello Ada!',
      conversationRecipient: contact,
      answeredReplyId: null,
      inboundText: '',
      leadId,
      confidence: 0,
      model: null,
    });
    expect(await autoReplies(desk)).toEqual([draft]);
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft')[0]);
    expect(event).toMatchObject({
      messageId: draft.replyId,
      leadId,
      data: { replyId: draft.replyId, source: 'api', inboundText: '', conversationRecipient: contact },
    });
    expect(await messagesOf(desk)).toEqual([]);
    const { status, body } = await decideDraft(desk, draft.replyId, 'approve');
    expect(status).toBe(200);
    const approved = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(approved).toMatchObject({ messageId: draft.replyId, message: 'Hello Ada!' });
    expect(await messagesOf(desk)).toMatchObject([{ _id: body.messageId, leadId, source: 'ai-draft' }]);
    expect(await waitForEnd(desk, draft.replyId)).toContain('approved');
  });

  it('keeps no template: whoever approves it has seen what is sent', async () => {
    const desk = await createDesk();
    const contact = phone();
    const fields = { phones: [contact], first_name: '{{ notes }}', notes: 'Pays late' };
    await createLead(app, desk.workspace.id, fields);
    const draft = await write(desk, { phone: contact }, 'Hello {{ firstName }}!');
    expect(draft.draftMessage).not.toMatch(/\{\{|Pays late/);
    await decideDraft(desk, draft.replyId, 'approve');
    expect(await messagesOf(desk)).toMatchObject([{ message: draft.draftMessage }]);
  });

  it('is not sent to a contact who may have asked to be left alone while it was approved', async () => {
    const desk = await createDesk();
    const contact = phone();
    const draft = await write(desk, { phone: contact });
    const held = await lock(app, 'conversations', contact, 'address');
    const approved = decideDraft(desk, draft.replyId, 'approve');
    await waitingForLocks(app, 1);
    const suspicion = { id: newId(), workspace_id: desk.workspace.id, address: contact, reply_id: newId() };
    await insertRow(app, 'opt_out_suspicions', suspicion);
    await held.release();
    expect((await approved).status).toBe(404);
    expect(await messagesOf(desk)).toEqual([]);
  });

  it('answers the last reply, from the line that it was sent to', async () => {
    const desk = await createDesk();
    const contact = phone();
    await receiveReply(desk, contact, 'Are you there?');
    await receiveReply(desk, contact, 'When do you close?');
    const replyId = await eventually(() => replyIdOf(desk, contact));
    const byAddress = await write(desk, { phone: contact });
    expect(byAddress).toMatchObject({ answeredReplyId: replyId, inboundText: 'When do you close?' });
    expect(byAddress.replyId).not.toBe(replyId);
    const byReply = await write(desk, { replyId });
    expect(byReply).toMatchObject({ answeredReplyId: replyId, conversationRecipient: contact });
    await decideDraft(desk, byReply.replyId, 'approve');
    expect(await messagesOf(desk)).toMatchObject([{ fromLineId: desk.lineId, recipientPhone: contact }]);
  });

  it('supersedes the open draft of the conversation, and is superseded by a reply', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const ofCopilot = await createDraft(desk, contact);
    const first = await write(desk, { phone: contact });
    expect(await waitForEnd(desk, ofCopilot.replyId)).toContain('superseded');
    const late = await decideDraft(desk, ofCopilot.replyId, 'approve');
    expect(late).toMatchObject({ status: 409, body: { status: 'superseded' } });
    await receiveReply(desk, contact, 'One more question.');
    await waitForEnd(desk, first.replyId);
    expect(await draftFor(desk, contact)).toMatchObject({ source: 'copilot' });
    expect(await messagesOf(desk)).toEqual([]);
  });

  it('is one of many at the same time, of which one stays open', async () => {
    const desk = await createDesk();
    const contact = phone();
    await Promise.all(Array.from({ length: 8 }, (_, index) => write(desk, { phone: contact }, `${index}`)));
    const drafts = await autoReplies(desk);
    expect(drafts).toHaveLength(8);
    expect(drafts.filter(({ status }: { status: string }) => status === 'drafted')).toHaveLength(1);
  });

  it('is approved by an answer from the inbox, rejected, or claimed', async () => {
    const desk = await createDesk();
    const contact = phone();
    const answered = await write(desk, { phone: contact });
    await desk.call('POST', '/api/inbox/send-reply', { phone: contact, message: 'Until six.' });
    expect(await draftFor(desk, contact, 'approved')).toMatchObject({
      replyId: answered.replyId,
      approvalChannel: 'inbox_direct_send',
    });
    const rejected = await write(desk, { phone: contact });
    expect((await decideDraft(desk, rejected.replyId, 'reject')).status).toBe(200);
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft_rejected')[0]);
    expect(event).toMatchObject({ messageId: rejected.replyId, message: rejected.draftMessage });
    const claimed = await write(desk, { phone: contact });
    expect((await decideDraft(desk, claimed.replyId, 'mark_sent')).body.status).toBe('claimed');
    await Promise.all([answered, rejected, claimed].map(({ replyId }) => waitForEnd(desk, replyId)));
    expect(await messagesOf(desk)).toHaveLength(1);
  });

  it('is sent to the address of a lead that wrote last, and by email to one without a phone', async () => {
    const desk = await createDesk();
    const [first, second] = [phone(), phone()];
    const leadId = await createLead(app, desk.workspace.id, { phones: [first, second] });
    expect(await write(desk, { leadId })).toMatchObject({ conversationRecipient: first, leadId });
    await receiveReply(desk, second, 'Here is my other number.');
    await eventually(() => replyIdOf(desk, second));
    expect(await write(desk, { leadId })).toMatchObject({ conversationRecipient: second, leadId });
    const email = `${leadId}@example.test`;
    expect(await write(desk, { email })).toMatchObject({ conversationRecipient: email, leadId: null });
  });

  it('can be written by a signed-in user', async () => {
    const desk = await createDesk();
    const { id, ownerId } = desk.workspace;
    const session = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
    const { body } = await session('POST', '/api/knowledge-base/drafts', {
      phone: phone(),
      message: 'Hello',
    });
    expect(body.draft).toMatchObject({ source: 'dashboard', status: 'drafted' });
  });

  it('is exported and erased with its contact', async () => {
    const desk = await createDesk();
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await write(desk, { leadId }, 'plugh');
    const { body } = await desk.call('GET', `/api/leads/${leadId}/export`);
    expect(body.drafts).toMatchObject([{ replyId: draft.replyId, draftMessage: 'plugh' }]);
    expect((await desk.call('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    await eventually(async () => (await autoReplies(desk)).length === 0);
  });
});

describe('a draft is refused', () => {
  it.each([
    ['without a contact', {}, 400, 'replyId'],
    ['with two', { phone: '+14155550123', leadId: 'x' }, 400, 'replyId'],
    ['to no phone number', { phone: '12' }, 400, 'phone'],
    ['to an unknown lead', { leadId: '65f000000000000000000000' }, 404, 'leadId'],
    ['to an unknown reply', { replyId: '65f000000000000000000000' }, 404, 'replyId'],
    ['with a broken template', { phone: '+14155550123', message: '{{ firstName' }, 400, 'message'],
    ['without a text', { phone: '+14155550123', message: ' ' }, 400, 'message'],
  ])('%s', async (_, fields, expected, named) => {
    const desk = await createDesk();
    const body = { message: 'Hello', ...fields };
    const answer = await desk.call('POST', '/api/knowledge-base/drafts', body);
    expect(answer).toMatchObject({ status: expected, body: { error: expect.stringContaining(named) } });
    expect(await autoReplies(desk)).toEqual([]);
  });
});
