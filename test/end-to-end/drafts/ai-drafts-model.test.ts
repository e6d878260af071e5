import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { HOSTILE_REPLIES } from '#test/fixtures/hostile-replies.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import {
  autoReplies,
  createCopilot,
  createDraft,
  decideDraft,
  eventsOf,
  messagesOf,
  modelRequestsAbout,
  receiveReply,
  replyIdOf,
  waitForEnd,
} from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';

let app: OwnApp;
let receiver: Endpoint;

beforeAll(async () => {
  app = await startTestApp({ environment: { LLM_TIMEOUT_SECONDS: '1' } });
  receiver = await startEndpoint();
});
afterAll(async () => {
  await app.stop();
  await receiver.close();
});

describe('a model', () => {
  it.each([
    ['timeout', 'did not respond within 1 s'],
    ['429', 'rate limit is reached'],
    ['quota', 'insufficient_quota'],
    ['500', 'responded 500 (server_error)'],
    ['garbage', 'does not match the requested JSON schema'],
    ['refusal', 'refused to answer'],
  ])('that fails with %s leaves no draft, and operators see the reason', async (fault, reason) => {
    const desk = await createCopilot(app, receiver, { instructions: `simulate:${fault}` });
    const contact = phone();
    await receiveReply(desk, contact, 'Anybody there?');
    const replyId = await replyIdOf(desk, contact);
    const details = await waitForEnd(desk, replyId);
    expect(details).toContain(reason);
    expect(details).not.toContain('Anybody there?');
    expect(await autoReplies(desk)).toEqual([]);
    expect((await decideDraft(desk, replyId, 'approve')).status).toBe(404);
    expect(await messagesOf(desk)).toEqual([]);
  });

  it("cannot insert the lead's fields by a template", async () => {
    const desk = await createCopilot(app, receiver, { instructions: 'simulate:template' });
    const draft = await createDraft(desk);
    expect(draft.draftMessage).toBe('Hi { { notes }}{ % assign a = 1 %}');
  });
});

describe('a hostile contact', () => {
  it('can neither change the instructions to the model nor cause a message to be sent', async () => {
    const instructions = `Only ever be kind, says ${newId()}.`;
    const desk = await createCopilot(app, receiver, { instructions });
    await Promise.all(HOSTILE_REPLIES.map((text) => receiveReply(desk, phone(), text)));
    const drafts: { inboundText: string }[] = await eventually(async () => {
      // Nothing is drafted for contacts who may have asked to be left alone.
      const { suspicions } = (await desk.call('GET', '/api/opt-outs/suspected?status=open')).body;
      for (const { _id } of suspicions)
        await desk.call('POST', `/api/opt-outs/suspected/${_id}`, { action: 'dismiss' });
      const all = await autoReplies(desk);
      return all.length === HOSTILE_REPLIES.length && all;
    });
    expect(new Set(drafts.map(({ inboundText }) => inboundText))).toEqual(new Set(HOSTILE_REPLIES));
    const requests = await modelRequestsAbout(desk, instructions);
    expect(requests).toHaveLength(HOSTILE_REPLIES.length);
    const [expected] = requests[0]?.messages ?? [];
    for (const { messages } of requests) {
      expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
      expect(messages[0]).toEqual(expected);
      const data = JSON.parse(messages[1]?.content ?? '');
      expect(Object.keys(data)).toEqual(['contact', 'documents', 'conversation']);
      expect(data.documents).toEqual([]);
      expect(data.conversation).toHaveLength(1);
      const { text } = data.conversation[0];
      expect(
        HOSTILE_REPLIES.some((reply) => reply.includes(text)),
        text,
      ).toBe(true);
    }
    expect(await messagesOf(desk)).toEqual([]);
    expect(eventsOf(desk, 'message.sent')).toEqual([]);
    expect((await desk.call('GET', '/api/knowledge-base')).body).toMatchObject({
      mode: 'copilot',
      instructions,
    });
  });
});
