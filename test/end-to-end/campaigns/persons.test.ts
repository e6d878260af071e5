import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lines: string[];
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lines = await Promise.all([
    createLine(app, workspace.id),
    createLine(app, workspace.id),
    createLine(app, workspace.id, 'email'),
  ]);
});

const { newCampaign, newList, messagesOf } = campaignHelpers(() => ({ app, workspace, api }));

const hello = { steps: [{ message: 'Hello' }], start: true };
const enter = async (id: string, lead: object): Promise<string> => {
  const { status, body } = await api('POST', `/api/campaigns/${id}/leads`, lead);
  expect([status, body]).toEqual([201, expect.anything()]);
  return body.leadId;
};
const setCap = async (messages: number | null, days = 7): Promise<void> => {
  const { status, body } = await api('PUT', '/api/workspace/frequency-cap', { messages, days });
  expect([status, body.frequencyCap]).toEqual([200, messages === null ? null : { messages, days }]);
};
/** The message of a campaign with one lead, once it is in a state. */
const messageIn = (id: string, ...states: string[]) =>
  eventually(async () => {
    const [message] = await messagesOf(id);
    return (
      message && (states.includes(message.status) || states.includes(message.holdReason ?? '')) && message
    );
  });

describe('a frequency cap', () => {
  it('holds what exceeds it, over all campaigns and addresses of a person, until it is raised', async () => {
    await setCap(1);
    expect((await api('GET', '/api/workspace/frequency-cap')).body.frequencyCap).toEqual({
      messages: 1,
      days: 7,
    });
    const first = await newCampaign(hello);
    const leadId = await enter(first, { lead: { phone: phone(), email: `${phone()}@example.com` } });
    const { sentAt } = await messageIn(first, 'delivered');
    const byMail = await newCampaign({
      steps: [{ message: 'Hello', messageType: 'email', subject: 'Hi' }],
      start: true,
    });
    await enter(byMail, { leadId });
    const { _id } = await messageIn(byMail, 'frequency_cap');
    const { body } = await api('GET', `/api/messages/${_id}`);
    const until = new Date(Date.parse(String(sentAt)) + 7 * 86_400_000);
    expect(body).toMatchObject({ status: 'scheduled', holdReason: 'frequency_cap' });
    expect(Math.abs(Date.parse(body.scheduledDate) - until.getTime())).toBeLessThan(60_000);
    const { waitingFor } = (await api('GET', `/api/messages/${_id}/timeline`)).body;
    expect(waitingFor.text).toContain('1 message of campaigns within 7 days');
    await eventually(
      async () => (await api('GET', `/api/campaigns/${byMail}`)).body.waiting[0]?.reason === 'frequency_cap',
    );
    await setCap(2);
    await messageIn(byMail, 'sent', 'delivered');
    await setCap(null);
  });

  it('does not hold answers, nor messages that are not of campaigns', async () => {
    await setCap(1);
    const to = phone();
    const first = await newCampaign(hello);
    const leadId = await enter(first, { lead: { phone: to } });
    await messageIn(first, 'delivered');
    const { body } = await api('POST', '/api/messages', { recipientPhone: to, message: 'Your code' });
    await eventually(async () =>
      ['sent', 'delivered'].includes((await api('GET', `/api/messages/${body._id}`)).body.status),
    );
    await callBack(app, lines[0] ?? '', replyEvent(to, 'Tell me more'));
    const answer = await newCampaign(hello);
    await enter(answer, { leadId });
    await messageIn(answer, 'sent', 'delivered');
    await setCap(null);
  });

  it('holds when two lines write to one person at once', async () => {
    await setCap(1);
    const to = phone();
    const { listId } = await newList([{ phone: to }]);
    const other = await newList([{ phone: to }]);
    const drafts = await Promise.all(
      [listId, other.listId, listId, other.listId].map((list, index) =>
        newCampaign({ steps: [{ message: 'Hello' }], listId: list, eligibleLineIds: [lines[index % 2]] }),
      ),
    );
    await Promise.all(drafts.map((id) => api('POST', `/api/campaigns/${id}/start`)));
    const all = await eventually(async () => {
      const messages = (await Promise.all(drafts.map(messagesOf))).flat();
      const held = messages.filter(({ holdReason }) => holdReason === 'frequency_cap');
      return held.length === 3 && messages;
    });
    expect(all.filter(({ holdReason }) => holdReason !== 'frequency_cap')).toHaveLength(1);
    await setCap(null);
  });
});

describe('while a member writes with a contact', () => {
  const busy = async () => {
    const to = phone();
    const first = await newCampaign(hello);
    const leadId = await enter(first, { lead: { phone: to } });
    await messageIn(first, 'delivered');
    await callBack(app, lines[0] ?? '', replyEvent(to, 'Hello?'));
    expect((await api('POST', '/api/inbox/send-reply', { phone: to, message: 'Hi, Kim here' })).status).toBe(
      201,
    );
    await eventually(async () => {
      const { messages } = (await api('GET', `/api/messages?leadId=${leadId}`)).body;
      return messages.some(
        ({ source, status }: Record<string, string>) => source === 'inbox' && status === 'delivered',
      );
    });
    const id = await newCampaign(hello);
    await enter(id, { leadId });
    const message = await messageIn(id, 'contact_busy');
    return { to, id, message };
  };

  it('campaigns wait, until the conversation is closed', async () => {
    const { to, id, message } = await busy();
    const { waitingFor } = (await api('GET', `/api/messages/${message._id}/timeline`)).body;
    expect(waitingFor).toMatchObject({ reason: 'contact_busy', until: expect.any(String) });
    const closed = await api('PATCH', `/api/conversations/${encodeURIComponent(to)}`, { status: 'closed' });
    expect(closed.status).toBe(200);
    await messageIn(id, 'sent', 'delivered');
  });

  it('campaigns do not wait if the workspace does not want it', async () => {
    const { id } = await busy();
    const { body } = await api('PUT', '/api/workspace', { contactBusy: false });
    expect(body.workspace.contactBusy).toBe(false);
    await messageIn(id, 'sent', 'delivered');
    await api('PUT', '/api/workspace', { contactBusy: true });
  });
});
