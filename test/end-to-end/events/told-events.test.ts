import { beforeEach, describe, expect, it } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { EVENT_NAMES } from '#domain/events/event.ts';
import { EVENT_PAYLOADS } from '#domain/events/payloads.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type Endpoint, registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine, type WorkspaceWithLine } from '#test/support/factories.ts';
import { callBack } from '#test/support/inbound.ts';

let app: TestApp;
let workspace: WorkspaceWithLine;
let endpoint: Endpoint;

beforeEach(async () => {
  app = await sharedApp();
  workspace = await createWorkspaceWithLine(app);
  endpoint = await startTestEndpoint();
  await registerWebhook(workspace.api, endpoint.url, { events: EVENT_NAMES });
});

/** The events of a name, when there are so many. Each matches its schema and has no field beyond it. */
async function told(event: keyof typeof EVENT_PAYLOADS, count = 1) {
  const found = await eventually(async () => {
    const all = endpoint.received.map(({ json }) => json).filter((json) => json.event === event);
    return all.length >= count && all;
  });
  expect(found).toHaveLength(count);
  for (const json of found) expect(EVENT_PAYLOADS[event].parse(json)).toEqual(json);
  return found;
}

const tomorrow = (): string => new Date(Date.now() + 86_400_000).toISOString();
const post = async (path: string, body: object, status = 201) => {
  const response = await workspace.api('POST', path, body);
  expect(response.status, JSON.stringify(response.body)).toBe(status);
  return response.body;
};

async function makeCampaign(fields: object = {}) {
  const { list } = await post('/api/lists', { name: 'Prospects' });
  await post('/api/leads', { listId: list._id, leads: [{ firstName: 'Ada', phone: phone() }] });
  const steps = [{ message: 'Hi {{ firstName }}', delay: {} }];
  const made = await post('/api/campaigns', {
    name: 'Spring',
    listId: list._id,
    steps,
    start: true,
    ...fields,
  });
  return made.campaign._id as string;
}

describe('a webhook is told', () => {
  it('once that a message was sent, then that it was delivered', async () => {
    const { _id } = await post('/api/messages', { message: 'Hello', recipientPhone: phone() });
    const [delivered] = await told('message.delivered');
    expect(delivered).toMatchObject({
      messageId: _id,
      message: { status: 'delivered' },
      data: { deliveredAt: delivered.message.deliveredAt },
    });
    await told('message.sent');
  });

  it('of a message that a caller cancels', async () => {
    const { _id } = await post('/api/messages', {
      message: 'Hello',
      recipientPhone: phone(),
      scheduledDate: tomorrow(),
    });
    await post(`/api/messages/${_id}/cancel`, {}, 200);
    const [canceled] = await told('message.canceled');
    expect(canceled).toMatchObject({
      messageId: _id,
      message: { status: 'canceled' },
      data: { reason: null },
    });
  });

  it('that a campaign is completed, and which messages its end canceled', async () => {
    const campaignId = await makeCampaign();
    const [completed] = await told('campaign.completed');
    expect(completed).toMatchObject({
      campaignId,
      campaignName: 'Spring',
      data: { leads: 1, finished: 1 },
    });
    const later = [
      { message: 'One', delay: {} },
      { message: 'Two', delay: { days: 2 } },
    ];
    const second = await makeCampaign({ steps: later });
    await told('message.sent', 2);
    await eventually(
      async () =>
        (await workspace.api('GET', `/api/messages?campaignId=${second}`)).body.messages.length === 2,
    );
    await post(`/api/campaigns/${second}/archive`, {}, 200);
    const [canceled] = await told('message.canceled');
    expect(canceled).toMatchObject({ campaignId: second, message: { status: 'canceled' } });
  });

  it('that leads are created, changed and deleted', async () => {
    const { leadIds } = await post('/api/leads', {
      leads: [
        { firstName: 'Ada', phone: phone() },
        { firstName: 'Grace', phone: phone() },
      ],
    });
    const created = await told('lead.created', 2);
    expect(new Set(created.map(({ leadId }) => leadId))).toEqual(new Set(leadIds));
    await workspace.api('PATCH', `/api/leads/${leadIds[0]}`, { notes: 'Prefers mornings' });
    const [updated] = await told('lead.updated');
    expect(updated).toMatchObject({ leadId: leadIds[0], lead: { notes: 'Prefers mornings' } });
    await workspace.api('DELETE', `/api/leads/${leadIds[1]}`);
    const [deleted] = await told('lead.deleted');
    expect(deleted).toMatchObject({ leadId: leadIds[1], lead: { firstName: 'Grace' } });
  });

  it('that a contact opts out and in', async () => {
    const address = phone();
    await post('/api/opt-outs', { address });
    expect(await told('contact.opted_out')).toEqual([expect.objectContaining({ address, source: 'api' })]);
    const { status } = await workspace.api('DELETE', `/api/opt-outs/${encodeURIComponent(address)}`);
    expect(status).toBe(200);
    expect(await told('contact.opted_in')).toEqual([expect.objectContaining({ address, source: 'api' })]);
  });

  it('once that a call has ended', async () => {
    const from = phone();
    const callId = newId();
    const call = { kind: 'call' as const, callId, from, to: phone() };
    const at = new Date();
    await callBack(app, workspace.lineId, { ...call, eventId: newId(), at, status: 'answered' });
    const ends = { ...call, at, status: 'billed' as const, durationSec: 40 };
    await callBack(app, workspace.lineId, { ...ends, eventId: newId() });
    await callBack(app, workspace.lineId, { ...ends, eventId: newId() });
    const [ended] = await told('call.ended');
    expect(ended).toMatchObject({
      lineId: workspace.lineId,
      call: { from, status: 'billed', durationSec: 40 },
    });
  });

  it('that an import is completed, and not of each of its leads', async () => {
    const { list } = await post('/api/lists', { name: 'Imported' });
    const csv = 'First Name,Phone\nAda,(415) 555-0100\nNobody,\n';
    const { body } = await workspace.api('POST', `/api/lists/${list._id}/import`, csv, {
      'content-type': 'text/csv',
    });
    const [completed] = await told('import.completed');
    expect(completed).toMatchObject({
      importId: body.importId,
      listId: list._id,
      import: { status: 'completed', saved: 1, rejected: 1 },
    });
    expect(endpoint.received.filter(({ json }) => json.event === 'lead.created')).toEqual([]);
  });
});
