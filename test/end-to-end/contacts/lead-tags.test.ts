import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

async function createTagged() {
  const { api } = await createWorkspaceWithLine(app);
  const to = phone();
  const { body } = await api('POST', '/api/leads', { leads: [{ firstName: 'Ada', phone: to }] });
  const path = `/api/leads/${body.leadIds[0]}`;
  const change = async (method: 'POST' | 'DELETE', ...tags: string[]) => {
    const response = await api(method, `${path}/tags`, { tags });
    expect(response.status, JSON.stringify(response.body)).toBe(200);
    return response.body.lead.tags as string[];
  };
  return { api, to, path, change };
}

describe('tags of a lead', () => {
  it('are added and removed one by one, in any case, and shown with the lead', async () => {
    const { api, path, change } = await createTagged();
    expect((await api('GET', path)).body.lead.tags).toEqual([]);
    expect(await change('POST', 'vip', 'Berlin')).toEqual(['vip', 'Berlin']);
    expect(await change('POST', 'VIP', 'new')).toEqual(['vip', 'Berlin', 'new']);
    expect(await change('DELETE', 'berlin', 'unknown')).toEqual(['vip', 'new']);
    expect((await api('GET', path)).body.lead.tags).toEqual(['vip', 'new']);
    await api('PATCH', path, { notes: 'Prefers mornings' });
    expect((await api('GET', path)).body.lead).toMatchObject({
      tags: ['vip', 'new'],
      notes: 'Prefers mornings',
    });
  });

  it('are at most fifty', async () => {
    const { api, path, change } = await createTagged();
    await change('POST', ...Array.from({ length: 50 }, (_, index) => `tag ${index}`));
    const { status, body } = await api('POST', `${path}/tags`, { tags: ['one more'] });
    expect([status, body.code]).toEqual([400, 'VALIDATION_ERROR']);
  });

  it('change the lead once, which webhooks are told, and select what webhooks get', async () => {
    const { api, to, change } = await createTagged();
    const [all, tagged] = [await startTestEndpoint(), await startTestEndpoint()];
    await registerWebhook(api, all.url, { events: ['lead.updated', 'message.sent'] });
    await registerWebhook(api, tagged.url, { tags: ['vip'] });
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
    await eventually(async () => all.received.length === 1);
    await change('POST', 'vip');
    await change('POST', 'vip');
    await api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
    await eventually(async () => tagged.received.length === 1);
    await eventually(async () => all.received.length === 3);
    const updates = all.received.filter(({ json }) => json.event === 'lead.updated');
    expect(updates.map(({ json }) => json.lead.tags)).toEqual([['vip']]);
  });
});
