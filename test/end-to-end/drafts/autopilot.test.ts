import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withSystem } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import {
  autoReplies,
  type Copilot,
  createCopilot,
  decideDraft,
  draftFor,
  eventsOf,
  messagesOf,
  modelRequestsAbout,
  receiveReply,
} from '#test/support/copilot.ts';
import { createLead } from '#test/support/factories.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { auditLogOf } from '#test/support/sessions.ts';

let app: TestApp;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(() => receiver.close());

/** What the simulated model is sure of. */
const SURE = 'Yes, Saturday sounds good';

const createAutopilot = (fields: object = {}): Promise<Copilot> =>
  createCopilot(app, receiver, { mode: 'autopilot', ...fields });
const texts = async (contact: string) => (await sentTo(app, contact)).map(({ text }) => text);
const answered = (contact: string, count = 1) =>
  eventually(async () => (await texts(contact)).length >= count);
/** The draft that is left to a person. */
const held = async (desk: Copilot, contact: string): Promise<{ heldBackBy: string; replyId: string }> =>
  draftFor(desk, contact);

describe.concurrent('the autopilot', () => {
  it('answers by itself, which nobody has approved', async () => {
    const desk = await createAutopilot();
    const contact = phone();
    await receiveReply(desk, contact, SURE);
    await answered(contact);
    const draft = await draftFor(desk, contact, 'approved');
    expect(draft).toMatchObject({ approvalChannel: null, resolvedBy: 'autopilot', heldBackBy: null });
    const [message] = await messagesOf(desk);
    expect(message).toMatchObject({ _id: draft.messageId, source: 'autopilot', message: draft.draftMessage });
    await eventually(async () => eventsOf(desk, 'message.sent').length === 1);
    expect(eventsOf(desk, 'message.ai_draft_approved')).toEqual([]);
    expect(eventsOf(desk, 'message.ai_draft')).toEqual([]);
    expect(await auditLogOf(app, desk.workspace, { action: 'draft.sent_by_autopilot' })).toMatchObject([
      { channel: 'system', actor: { name: 'The autopilot' }, target: { id: draft.replyId } },
    ]);
    expect((await decideDraft(desk, draft.replyId, 'approve')).body).toMatchObject({
      code: 'DRAFT_ALREADY_RESOLVED',
      status: 'approved',
      approvalChannel: null,
    });
  });

  it('leaves to a person what it should not answer, and says why', async () => {
    const desk = await createAutopilot();
    const contact = phone();
    await receiveReply(desk, contact, 'Yes, and how much is it?');
    expect(await held(desk, contact)).toMatchObject({ heldBackBy: 'price', status: 'drafted' });
    await eventually(async () => eventsOf(desk, 'message.ai_draft').length === 1);
    const unsure = phone();
    await receiveReply(desk, unsure, 'Is it the blue one?');
    expect(await held(desk, unsure)).toMatchObject({ heldBackBy: 'confidence' });
    expect(await messagesOf(desk)).toEqual([]);
  });

  it('leaves to a person what was written before the last message to the contact, and arrives after it', async () => {
    const desk = await createAutopilot();
    const contact = phone();
    const at = new Date(Date.now() - 60_000);
    const asked = { message: 'Is Saturday fine?', messageType: 'sms', recipientPhone: contact };
    expect((await desk.call('POST', '/api/messages', asked)).status).toBe(201);
    await answered(contact);
    await receiveReply(desk, contact, `${SURE}. Is your manager there?`, { at });
    expect(await held(desk, contact)).toMatchObject({ heldBackBy: 'asks_for_person' });
  });

  it('stays within its limits', async () => {
    const desk = await createAutopilot({ autopilot: { maxPerConversation: 1, maxPerDay: 2 } });
    const [first, second, third] = [phone(), phone(), phone()];
    await receiveReply(desk, first, SURE);
    await answered(first);
    await receiveReply(desk, first, SURE);
    expect(await held(desk, first)).toMatchObject({ heldBackBy: 'conversation_limit' });
    await receiveReply(desk, second, SURE);
    await answered(second);
    await receiveReply(desk, third, SURE);
    expect(await held(desk, third)).toMatchObject({ heldBackBy: 'day_limit' });
  });

  it('leaves to a person what no line can send any more', async () => {
    const desk = await createAutopilot({ debounceSeconds: 1 });
    const contact = phone();
    await receiveReply(desk, contact, SURE);
    await withSystem(app.pools, (db) =>
      db.query(sql.type(z.unknown())`
        update lines set is_active = false where workspace_id = ${desk.workspace.id}`),
    );
    expect(await held(desk, contact)).toMatchObject({ heldBackBy: 'cannot_send' });
  });

  it('leaves to a person whoever has withdrawn their consent', async () => {
    const desk = await createAutopilot();
    const contact = phone();
    const consent = { address: contact, channel: 'any', status: 'revoked', source: 'verbal' };
    expect((await desk.call('POST', '/api/consents', consent)).status).toBe(201);
    await receiveReply(desk, contact, SURE);
    expect(await held(desk, contact)).toMatchObject({ heldBackBy: 'cannot_send' });
  });

  it('ends for a conversation that a person takes over, until it is closed', async () => {
    const desk = await createAutopilot();
    const contact = phone();
    const thread = `/api/conversations/${encodeURIComponent(contact)}`;
    await receiveReply(desk, contact, SURE);
    await answered(contact);
    await desk.call('POST', '/api/inbox/send-reply', { phone: contact, message: 'Dana here.' });
    await answered(contact, 2);
    await receiveReply(desk, contact, SURE);
    expect(await held(desk, contact)).toMatchObject({ heldBackBy: 'taken_over' });
    await desk.call('PATCH', thread, { status: 'closed' });
    await receiveReply(desk, contact, SURE);
    await answered(contact, 3);
  });

  it('discloses itself once to each contact', async () => {
    const disclosure = 'You are writing with an assistant {{ notes }}';
    const desk = await createAutopilot({ disclosure });
    const contact = phone();
    await receiveReply(desk, contact, SURE);
    await answered(contact);
    await receiveReply(desk, contact, SURE);
    await answered(contact, 2);
    const [first, second] = await texts(contact);
    expect(first).toMatch(/^You are writing with an assistant \{.*notes.*\}\n\n/u);
    expect(second).not.toContain('assistant');
  });

  it('answers no automatic reply, and nobody who asks to stop', async () => {
    const desk = await createAutopilot();
    const away = phone();
    await receiveReply(desk, away, SURE, { autoReply: true });
    const gone = phone();
    await receiveReply(desk, gone, 'STOP');
    const contact = phone();
    await receiveReply(desk, contact, SURE);
    await answered(contact);
    expect(await texts(away)).toEqual([]);
    expect(await texts(gone)).toEqual([]);
    expect(await autoReplies(desk)).toHaveLength(1);
  });

  it('is tried over past conversations before it is turned on, and sends nothing', async () => {
    const desk = await createCopilot(app, receiver, { mode: 'off' });
    const [agreed, priced, unanswered, stranger] = [phone(), phone(), phone(), phone()];
    const leadId = await createLead(app, desk.workspace.id, { phones: [agreed] });
    const answer = async (contact: string, text: string, message: string): Promise<void> => {
      await receiveReply(desk, contact, text);
      await desk.call('POST', '/api/inbox/send-reply', { phone: contact, message });
      await answered(contact);
    };
    await answer(agreed, SURE, 'See you on Saturday');
    await answer(priced, 'Yes, and how much is it?', 'It is free');
    await receiveReply(desk, unanswered, SURE);
    await receiveReply(desk, stranger, SURE, { autoReply: true });
    const before = (await desk.call('GET', '/api/knowledge-base/dry-run')).body;
    expect(before).toEqual({ success: true, dryRun: null });

    const finished = async () => {
      await desk.call('POST', '/api/knowledge-base/dry-run', {});
      return eventually(async () => {
        const { dryRun } = (await desk.call('GET', '/api/knowledge-base/dry-run')).body;
        return dryRun.status === 'done' && dryRun;
      });
    };
    const dryRun = await finished();
    expect(dryRun).toMatchObject({ wouldSend: 1, heldBack: { price: 1 }, failed: 0 });
    expect(dryRun.cases).toMatchObject([
      {
        conversationRecipient: agreed,
        inboundText: SURE,
        sentText: 'See you on Saturday',
        draftMessage: expect.stringContaining(SURE),
        heldBackBy: null,
      },
      { conversationRecipient: priced, sentText: 'It is free', heldBackBy: 'price' },
    ]);
    // The model has not seen the answer that it is compared with.
    const [asked] = await modelRequestsAbout(desk, priced);
    expect(JSON.stringify(asked)).toContain('how much is it');
    expect(JSON.stringify(asked)).not.toContain('It is free');
    expect(await messagesOf(desk)).toHaveLength(2);
    expect(await autoReplies(desk)).toEqual([]);
    expect(await texts(agreed)).toEqual(['See you on Saturday']);

    expect((await desk.call('DELETE', `/api/leads/${leadId}?erase=true`)).status).toBe(202);
    await eventually(async () => {
      const { body } = await desk.call('GET', '/api/knowledge-base/dry-run');
      return body.dryRun.cases.length === 1;
    });
    await desk.call('PUT', '/api/workspace', { aiTokensPerDay: 1 });
    expect(await finished()).toMatchObject({ wouldSend: 0, failed: 1, cases: [{ draftMessage: null }] });
  });

  it('has defaults, and limits of its limits', async () => {
    const desk = await createAutopilot();
    const { body } = await desk.call('GET', '/api/knowledge-base');
    expect(body).toMatchObject({
      mode: 'autopilot',
      autopilot: { minConfidence: 0.85, maxPerDay: 50, maxPerConversation: 6, tags: [] },
      disclosure: '',
    });
    const base = { mode: 'autopilot' };
    const wrong = await desk.call('PUT', '/api/knowledge-base', { ...base, autopilot: { maxPerDay: 501 } });
    expect(wrong.status).toBe(400);
  });
});
