import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { resolveDraft } from '#db/commands/drafts/draft-resolution.ts';
import { withSystem, withTenant } from '#db/connection/transactions.ts';
import { ApprovalChannel } from '#domain/events/ai-draft.ts';
import { createSigner } from '#providers/signer.ts';
import { createSignedLinks } from '#providers/storage/signed-link.ts';
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
  modelRequestsAbout,
  receiveReply,
  replyIdOf,
  waitForEnd,
} from '#test/support/copilot.ts';
import { createLead, createLine } from '#test/support/factories.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { lock } from '#test/support/locks.ts';
import { ask, DANA, refusalOf, signalByHand } from '#test/support/operators.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { decide as decideUpdate } from '#workflows/protocol/updates.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let receiver: Endpoint;

beforeAll(async () => {
  app = await sharedApp();
  receiver = await startEndpoint();
});
afterAll(async () => {
  await receiver.close();
});

describe('a reply in copilot mode', () => {
  it('gets a draft and an event, but no message', async () => {
    const desk = await createCopilot(app, receiver, {
      instructions: 'Be brief.',
      documents: [{ title: 'Hours', text: 'Open from 9 to 5.' }],
    });
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await createDraft(desk, contact, 'I am interested. Are you open today?');
    expect(draft).toMatchObject({
      status: 'drafted',
      inboundText: 'I am interested. Are you open today?',
      leadId,
      confidence: 0.9,
      tags: ['interested', 'question'],
      sentiment: 'positive',
      mode: 'copilot',
      approvalChannel: null,
      messageId: null,
      model: 'simulated',
    });
    expect(draft.promptTokens).toBeGreaterThan(100);
    expect(draft.completionTokens).toBeGreaterThan(10);
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft')[0]);
    expect(event).toMatchObject({
      messageId: draft.replyId,
      leadId,
      lead: { firstName: 'Ada', lastName: 'Lovelace', phone: contact },
      message: draft.draftMessage,
      data: {
        replyId: draft.replyId,
        draftMessage: draft.draftMessage,
        conversationRecipient: contact,
        inboundText: 'I am interested. Are you open today?',
        confidence: 0.9,
        mode: 'copilot',
        approveEndpoint: '/api/knowledge-base/auto-replies',
      },
    });
    expect(await messagesOf(desk)).toEqual([]);
    const { body } = await desk.call('GET', `/api/conversations/${encodeURIComponent(contact)}`);
    expect(body.conversation.tags).toEqual(['interested', 'question']);
    const { metrics } = (await desk.call('GET', '/api/analytics')).body;
    expect(metrics).toMatchObject({ replied: 1, uniqueReplied: 1, positiveReplied: 1, positivePct: 1 });
  });

  it('is answered by an approved draft when its lead is deleted', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const leadId = await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await createDraft(desk, contact);
    expect((await desk.call('DELETE', `/api/leads/${leadId}`)).status).toBe(200);
    expect((await decideDraft(desk, draft.replyId, 'approve')).status).toBe(200);
  });

  it('is answered by an approved draft, from the same line, with an event once it is sent', async () => {
    const desk = await createCopilot(app, receiver);
    await createLine(app, desk.workspace.id);
    const draft = await createDraft(desk);
    const { status, body } = await decideDraft(desk, draft.replyId, 'approve');
    expect({ status, body }).toEqual({
      status: 200,
      body: { success: true, replyId: draft.replyId, status: 'approved', messageId: expect.any(String) },
    });
    const approved = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(approved).toMatchObject({
      messageId: draft.replyId,
      message: draft.draftMessage,
      data: { replyId: draft.replyId, approvalChannel: 'api' },
    });
    const message = (await desk.call('GET', `/api/messages/${body.messageId}`)).body;
    expect(message).toMatchObject({
      source: 'ai-draft',
      fromLineId: desk.lineId,
      message: draft.draftMessage,
    });
    expect(message.sentAt).not.toBeNull();
    expect(await draftFor(desk, draft.conversationRecipient, 'approved')).toMatchObject({
      approvalChannel: 'api',
      messageId: body.messageId,
    });
  });

  it('is answered by the draft as it was edited in the dashboard', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    await createLead(app, desk.workspace.id, { phones: [contact] });
    const draft = await createDraft(desk, contact);
    const { id, ownerId } = desk.workspace;
    const session = await sessionClient(app, { userId: ownerId, organizationId: id, role: 'org:admin' });
    const { status } = await session('POST', '/api/knowledge-base/auto-replies', {
      replyId: draft.replyId,
      action: 'approve',
      message: 'Yes, {{ firstName }}, until Friday.',
    });
    expect(status).toBe(200);
    const approved = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(approved).toMatchObject({
      message: 'Yes, Ada, until Friday.',
      data: { approvalChannel: 'dashboard' },
    });
  });

  it('is not answered by a draft that is rejected or claimed', async () => {
    const desk = await createCopilot(app, receiver);
    const rejected = await createDraft(desk);
    expect((await decideDraft(desk, rejected.replyId, 'reject')).body).toEqual({
      success: true,
      replyId: rejected.replyId,
      status: 'rejected',
    });
    const claimed = await createDraft(desk, phone());
    expect((await decideDraft(desk, claimed.replyId, 'mark_sent')).body).toMatchObject({ status: 'claimed' });
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft_rejected')[0]);
    expect(event).toMatchObject({
      message: rejected.draftMessage,
      data: { replyId: rejected.replyId, approvalChannel: 'api' },
    });
    await waitForEnd(desk, rejected.replyId);
    await waitForEnd(desk, claimed.replyId);
    expect(await messagesOf(desk)).toEqual([]);
    expect(eventsOf(desk, 'message.ai_draft_rejected')).toHaveLength(1);
    expect(eventsOf(desk, 'message.ai_draft_approved')).toEqual([]);
  });
});

describe('the first action on a draft', () => {
  it.each(['approve', 'reject', 'mark_sent'] as const)(
    'is final: after %s all later ones are refused',
    async (first) => {
      const desk = await createCopilot(app, receiver);
      const draft = await createDraft(desk);
      const status = { approve: 'approved', reject: 'rejected', mark_sent: 'claimed' }[first];
      expect((await decideDraft(desk, draft.replyId, first)).status).toBe(200);
      for (const action of ['approve', 'reject', 'mark_sent']) {
        expect(await decideDraft(desk, draft.replyId, action)).toMatchObject({
          status: 409,
          body: { code: 'DRAFT_ALREADY_RESOLVED', status, approvalChannel: 'api' },
        });
      }
    },
  );

  it('is exactly one of fifty simultaneous ones, even without a worker', async () => {
    const desk = await createCopilot(app, receiver);
    const draft = await createDraft(desk);
    await app.stopWorker();
    const actions = ['approve', 'reject', 'mark_sent'];
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 10 === 0
          ? desk.call('POST', '/api/inbox/send-reply', {
              phone: draft.conversationRecipient,
              message: 'By hand',
            })
          : decideDraft(desk, draft.replyId, actions[index % 3] ?? ''),
      ),
    );
    const byHand = responses.filter(({ status }) => status === 201);
    const settled = responses.filter(({ status }) => status === 200);
    const refused = responses.filter(({ status }) => status === 409);
    expect([byHand.length, settled.length + refused.length]).toEqual([5, 45]);
    expect(settled.length).toBeLessThanOrEqual(1);
    const outcomes = new Set(refused.map(({ body }) => `${body.status} ${body.approvalChannel}`));
    expect(outcomes.size).toBe(1);
    const [winner] = settled;
    expect([...outcomes][0]).toBe(winner ? `${winner.body.status} api` : 'approved inbox_direct_send');
    await app.startWorker();
    await waitForEnd(desk, draft.replyId);
    const messages: { source: string }[] = await messagesOf(desk);
    const queued = messages.filter(({ source }) => source === 'ai-draft');
    expect(queued).toHaveLength(winner?.body.status === 'approved' ? 1 : 0);
    expect(messages.filter(({ source }) => source === 'inbox')).toHaveLength(5);
  });

  it('may be a reply from the inbox, which causes one event', async () => {
    const desk = await createCopilot(app, receiver);
    const draft = await createDraft(desk);
    const to = draft.conversationRecipient;
    const response = await desk.call('POST', '/api/inbox/send-reply', {
      phone: to,
      message: 'I call you now',
    });
    expect(response.status).toBe(201);
    expect((await desk.call('POST', '/api/inbox/send-reply', { phone: to, message: 'Busy?' })).status).toBe(
      201,
    );
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(event).toMatchObject({
      message: draft.draftMessage,
      data: { approvalChannel: 'inbox_direct_send' },
    });
    expect(await decideDraft(desk, draft.replyId, 'approve')).toMatchObject({
      status: 409,
      body: { status: 'approved', approvalChannel: 'inbox_direct_send' },
    });
    expect(await draftFor(desk, to, 'approved')).toMatchObject({ messageId: response.body._id });
    await waitForEnd(desk, draft.replyId);
    await eventually(async () => eventsOf(desk, 'message.sent').length === 2);
    expect(eventsOf(desk, 'message.ai_draft_approved')).toHaveLength(1);
  });

  it("cannot concern another workspace's draft or an unknown one", async () => {
    const [desk, other] = [await createCopilot(app, receiver), await createCopilot(app, receiver)];
    const draft = await createDraft(desk);
    expect((await decideDraft(other, draft.replyId, 'approve')).status).toBe(404);
    expect((await decideDraft(desk, 'nothing', 'approve')).status).toBe(404);
    expect((await decideDraft(desk, draft.replyId, 'send')).status).toBe(400);
    expect((await decideDraft(desk, draft.replyId, 'reject', { message: 'No' })).status).toBe(400);
    expect((await draftFor(desk, draft.conversationRecipient)).status).toBe('drafted');
  });
});

describe('another version of a draft', () => {
  const version = (desk: Copilot, contact: string, number: number) =>
    eventually(async () => {
      const draft = await draftFor(desk, contact);
      return draft?.version === number && !draft.retrying && draft;
    });

  it('replaces it in the same row, with what somebody asked for, and is told again', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const first = await createDraft(desk, contact, 'Is the blue one left?');
    expect(first).toMatchObject({ version: 1, formerVersions: [], retrying: false });
    const asked = await decideDraft(desk, first.replyId, 'retry', { hint: 'Mention the red one.' });
    expect([asked.status, asked.body]).toEqual([
      200,
      { success: true, replyId: first.replyId, status: 'drafted' },
    ]);
    const second = await version(desk, contact, 2);
    expect(second).toMatchObject({
      replyId: first.replyId,
      hint: 'Mention the red one.',
      formerVersions: [{ version: 1, draftMessage: first.draftMessage, confidence: 0.6, hint: null }],
      retryError: null,
    });
    expect(second.draftMessage).not.toBe(first.draftMessage);
    const [request] = (await modelRequestsAbout(desk, 'Mention the red one.')).slice(-1);
    expect(
      request?.messages.map(({ role, content }) => [role, content.includes('Mention the red one.')]),
    ).toEqual([
      ['system', true],
      ['user', false],
    ]);
    const told = await eventually(async () => {
      const events = eventsOf(desk, 'message.ai_draft');
      return events.length === 2 && events;
    });
    expect(told.map(({ message, data }) => [message, data.version])).toEqual([
      [first.draftMessage, 1],
      [second.draftMessage, 2],
    ]);

    for (let number = 3; number <= 5; number += 1) {
      expect((await decideDraft(desk, first.replyId, 'retry')).status).toBe(200);
      await version(desk, contact, number);
    }
    const sixth = await decideDraft(desk, first.replyId, 'retry');
    expect([sixth.status, sixth.body.code]).toEqual([409, 'INVALID_STATE']);
    const approved = await decideDraft(desk, first.replyId, 'approve', { approvalChannel: 'chat_app' });
    expect(approved.status).toBe(200);
    const event = await eventually(async () => eventsOf(desk, 'message.ai_draft_approved')[0]);
    expect(event.data.approvalChannel).toBe('chat_app_retry');
    expect((await decideDraft(desk, first.replyId, 'retry')).body).toMatchObject({
      code: 'DRAFT_ALREADY_RESOLVED',
      approvalChannel: 'chat_app_retry',
    });
  });

  it('leaves the draft as it is if the model fails, and a decision may come first', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const draft = await createDraft(desk, contact, 'And the green one?');
    await desk.call('PUT', '/api/knowledge-base', {
      mode: 'copilot',
      debounceSeconds: 0,
      instructions: 'simulate:refusal',
    });
    await decideDraft(desk, draft.replyId, 'retry');
    const failed = await eventually(async () => {
      const latest = await draftFor(desk, contact);
      return latest?.retryError !== null && latest;
    });
    expect(failed).toMatchObject({ version: 1, draftMessage: draft.draftMessage, retrying: false });
    await decideDraft(desk, draft.replyId, 'retry');
    expect((await decideDraft(desk, draft.replyId, 'approve')).status).toBe(200);
    expect(await draftFor(desk, contact, 'approved')).toMatchObject({ version: 1, retrying: false });
  });

  it.each([
    ['approve', {}, 'chat_app'],
    ['approve', { message: 'As I say it' }, 'chat_app_edit'],
    ['reject', {}, 'chat_app'],
  ])('in a chat app, %s with %o is recorded as %s', async (action, fields, channel) => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const { replyId } = await createDraft(desk, contact);
    const status = (await decideDraft(desk, replyId, action, { ...fields, approvalChannel: 'chat_app' }))
      .status;
    expect(status).toBe(200);
    const event = await eventually(
      async () => eventsOf(desk, `message.ai_draft_${action === 'approve' ? 'approved' : 'rejected'}`)[0],
    );
    expect(event.data.approvalChannel).toBe(channel);
  });

  it('keeps no operator from a verdict: neither one who has decided before, nor one who decides meanwhile', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const { replyId } = await createDraft(desk, contact, 'And the yellow one?');
    const workflowId = aiDraftId(replyId);
    const order = { ...DANA, action: 'reject' } as const;
    const isPending = (activity: string, count: number) =>
      eventually(async () => {
        const { raw } = await app.temporal.workflow.getHandle(workflowId).describe();
        return (
          raw.pendingActivities?.filter(({ activityType }) => activityType?.name === activity).length ===
          count
        );
      });
    // Decisions and versions wait for the conversation.
    const held = await lock(app, 'conversations', contact, 'address');
    const before = ask(app.temporal, workflowId, decideUpdate, order);
    await isPending('decideDraft', 1);
    await withSystem(app.pools, (db) =>
      db.query(sql.type(NoRows)`update ai_drafts set retry_at = now() where reply_id = ${replyId}`),
    );
    await signalByHand(app.temporal, workflowId, 'retryRequested');
    await isPending('draftReply', 1);
    const meanwhile = refusalOf(ask(app.temporal, workflowId, decideUpdate, order));
    await Promise.race([meanwhile, isPending('decideDraft', 2)]);
    await held.release();
    expect(await before).toEqual({ replyId, status: 'rejected', messageId: null });
    expect(await meanwhile).toMatchObject({ type: 'DRAFT_ALREADY_RESOLVED' });
  });

  it('is not written of what a person drafted, and takes a hint only with retry', async () => {
    const desk = await createCopilot(app, receiver);
    const written = await desk.call('POST', '/api/knowledge-base/drafts', { phone: phone(), message: 'Hi' });
    const { replyId } = written.body.draft;
    expect((await decideDraft(desk, replyId, 'retry')).body.code).toBe('INVALID_STATE');
    expect((await decideDraft(desk, replyId, 'approve', { hint: 'x' })).status).toBe(400);
  });
});

describe('a contact who keeps writing', () => {
  it('makes the earlier draft superseded', async () => {
    const desk = await createCopilot(app, receiver);
    const first = await createDraft(desk, phone(), 'Is it free?');
    await receiveReply(desk, first.conversationRecipient, 'And how large?');
    const second = await eventually(async () =>
      (await autoReplies(desk, '&status=drafted')).find(
        ({ replyId }: { replyId: string }) => replyId !== first.replyId,
      ),
    );
    expect(second.inboundText).toBe('And how large?');
    expect(await decideDraft(desk, first.replyId, 'approve')).toMatchObject({
      status: 409,
      body: { code: 'DRAFT_ALREADY_RESOLVED', status: 'superseded', approvalChannel: null },
    });
    await waitForEnd(desk, first.replyId);
  });

  it('gets one draft, after the last message', async () => {
    const desk = await createCopilot(app, receiver, { debounceSeconds: 2 });
    const contact = phone();
    const now = Date.now();
    // In one callback: between several, a busy machine takes longer than the copilot waits.
    const replies = ['Hello', 'one more thing:', 'are pets allowed?'].map((text, index) =>
      replyEvent(contact, text, { at: new Date(now + index) }),
    );
    expect(await callBack(app, desk.lineId, ...replies)).toBe(200);
    const draft = await draftFor(desk, contact);
    expect(draft.inboundText).toBe('are pets allowed?');
    expect(await autoReplies(desk)).toHaveLength(1);
    expect(await modelRequestsAbout(desk, 'one more thing:')).toHaveLength(1);
  });

  it('gets no draft after a person has replied', async () => {
    const desk = await createCopilot(app, receiver, { debounceSeconds: 600 });
    const contact = phone();
    await receiveReply(desk, contact, 'A question for a person?');
    const replyId = await replyIdOf(desk, contact);
    expect(
      (await desk.call('POST', '/api/inbox/send-reply', { phone: contact, message: 'Here I am' })).status,
    ).toBe(201);
    await waitForEnd(desk, replyId);
    expect(await modelRequestsAbout(desk, 'A question for a person?')).toEqual([]);
    expect((await decideDraft(desk, replyId, 'approve')).status).toBe(404);
  });

  it('gets no draft for an opt-out, for an automatic reply or with the copilot off', async () => {
    const desk = await createCopilot(app, receiver);
    const [stopped, machine, normal] = [phone(), phone(), phone()];
    await receiveReply(desk, stopped, 'STOP');
    await receiveReply(desk, machine, 'I am out of office', { autoReply: true });
    const off = await createCopilot(app, receiver, { mode: 'off' });
    await receiveReply(off, normal, 'Nobody drafts this');
    await createDraft(desk, normal, 'Somebody drafts this');
    expect((await autoReplies(desk)).map(({ inboundText }: { inboundText: string }) => inboundText)).toEqual([
      'Somebody drafts this',
    ]);
    for (const text of ['STOP', 'I am out of office', 'Nobody drafts this']) {
      expect(await modelRequestsAbout(desk, `"text":"${text}"`)).toEqual([]);
    }
  });
});

/** Decides about a draft through a channel other than the HTTP API. */
async function decide(
  { workspace }: Copilot,
  replyId: string,
  action: 'approve' | 'reject',
  channel: ApprovalChannel,
) {
  const { publicUrl, signingKeys } = app.config;
  return withTenant(app.pools, workspace.id, (db) =>
    resolveDraft(
      db,
      { replyId, action, channel, userId: null, by: { type: 'user', id: 'ada', name: null } },
      {
        workspace: { timezone: 'UTC', country: 'US' },
        links: createSignedLinks(publicUrl, createSigner(signingKeys)),
        capabilitiesOf: () => [],
        now: new Date(),
      },
    ),
  );
}

describe('a draft', () => {
  it.each(ApprovalChannel.options)(
    'can be decided through the channel %s, which its events name',
    async (channel) => {
      const desk = await createCopilot(app, receiver);
      const [approved, rejected] = [await createDraft(desk), await createDraft(desk)];
      expect(await decide(desk, approved.replyId, 'approve', channel)).toMatchObject({ status: 'approved' });
      expect(await decide(desk, rejected.replyId, 'reject', channel)).toMatchObject({ status: 'rejected' });
      expect(await decideDraft(desk, approved.replyId, 'reject')).toMatchObject({
        status: 409,
        body: { approvalChannel: channel },
      });
      for (const event of ['message.ai_draft_approved', 'message.ai_draft_rejected']) {
        const [payload] = await eventually(async () => {
          const events = eventsOf(desk, event);
          return events.length > 0 && events;
        });
        expect(payload.data.approvalChannel).toBe(channel);
      }
    },
  );
});
