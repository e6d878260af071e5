import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { deadlockCount } from '#test/support/locks.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineIds: string[];
let endpoint: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineIds = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
  endpoint = await startEndpoint();
});
afterAll(async () => {
  await endpoint.close();
});

const { newList, newCampaign, messagesOf } = campaignHelpers(() => ({ app, workspace, api }));

describe('a campaign whose contacts reply while it is sent', () => {
  it('sends each step once, stores and reports each reply, and causes no deadlock', async () => {
    await api('POST', '/api/webhooks', {
      url: endpoint.url,
      events: ['message.sent', 'message.failed', 'message.reply'],
    });
    const numbers = Array.from({ length: 60 }, () => phone());
    const { listId } = await newList(numbers.map((number) => ({ phone: number })));
    const id = await newCampaign({
      listId,
      stopOnReply: false,
      start: true,
      steps: [{ message: 'One' }, { message: 'Two' }, { message: 'Three' }],
    });
    const replies = new Set<string>();
    const sent = new AbortController();
    const writers = Array.from({ length: 4 }, async (_, writer) => {
      for (let n = writer; !sent.signal.aborted; n += 4) {
        const reply = replyEvent(numbers[n % numbers.length] ?? '', 'Tell me more');
        // Retries until it is accepted, as a carrier does.
        await eventually(async () => (await callBack(app, lineIds[n % 2] ?? '', reply)) === 200);
        replies.add(reply.carrierMessageId);
      }
    });
    await eventually(async () => {
      const all = await messagesOf(id);
      return all.length === 180 && all.every(({ status }) => status === 'delivered');
    }, 60_000).finally(() => sent.abort());
    await Promise.all(writers);
    for (const number of numbers.slice(0, 5)) {
      expect((await sentTo(app, number)).map(({ text }) => text)).toEqual(['One', 'Two', 'Three']);
    }
    await eventually(async () => {
      const told = endpoint.received.filter(({ json }) => json.event === 'message.reply');
      return new Set(told.map(({ json }) => json.messageId)).size === replies.size;
    });
    expect(await deadlockCount(app)).toBe(0);
  });

  it('causes no deadlock while messages are canceled, contacts opt out and lines change', async () => {
    const numbers = Array.from({ length: 40 }, () => phone());
    const { listId } = await newList(numbers.map((number) => ({ phone: number })));
    const id = await newCampaign({
      listId,
      start: true,
      steps: [{ message: 'One' }, { message: 'Two', delay: { minutes: 5 } }],
    });
    await eventually(async () => (await messagesOf(id)).length === 80);
    const messages = await messagesOf(id);
    const [first = '', second = ''] = lineIds;
    const setActive = async (isActive: boolean) => api('PATCH', `/api/lines/${second}`, { isActive });
    await Promise.all([
      ...messages.filter((_, n) => n % 8 === 0).map(({ _id }) => api('POST', `/api/messages/${_id}/cancel`)),
      ...numbers.slice(0, 10).map((address) => api('POST', '/api/opt-outs', { address })),
      ...numbers.slice(5, 25).map((number) => callBack(app, first, replyEvent(number, 'STOP'))),
      ...numbers
        .slice(25, 35)
        .map((recipientPhone) => api('POST', '/api/messages', { recipientPhone, message: 'Hi' })),
      setActive(false).then(() => setActive(true)),
      api('POST', `/api/campaigns/${id}/pause`).then(() => api('POST', `/api/campaigns/${id}/resume`)),
    ]);
    await eventually(async () => {
      const waiting = (await messagesOf(id)).filter(({ status }) => ['pending', 'sending'].includes(status));
      return waiting.length === 0;
    });
    expect(await deadlockCount(app)).toBe(0);
  });
});
