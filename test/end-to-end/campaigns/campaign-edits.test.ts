import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  await createLine(app, workspace.id);
});

const { newCampaign, stepsOf, step, statusOf } = campaignHelpers(() => ({ app, workspace, api }));

const enter = async (id: string, fields: object = {}): Promise<string> =>
  (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone(), ...fields } })).body.leadId;
const edit = async (id: string, steps: object[]) => api('PATCH', `/api/campaigns/${id}`, { steps });
const textsOf = async (id: string, leadId: string): Promise<string[]> =>
  (await stepsOf(id, leadId)).map(({ message }) => message);
const hasTexts = (id: string, leadId: string, ...texts: string[]) =>
  eventually(async () => JSON.stringify(await textsOf(id, leadId)) === JSON.stringify(texts));

const one = { id: 'one', message: 'One' };
const later = { id: 'two', message: 'Two, {{ firstName }}', delay: { days: 2 } };

describe('the steps of a campaign that runs', () => {
  it('change for whoever has not got them; the funnel tells the versions apart', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const early = await enter(id);
    await step(id, early, 0, 'delivered');
    await step(id, early, 1, 'scheduled');
    const { status, body } = await edit(id, [
      { ...one, message: 'One!' },
      { ...later, message: 'Two!' },
    ]);
    expect([status, body.campaign.version]).toEqual([200, 2]);
    await hasTexts(id, early, 'One', 'Two!');
    const late = await enter(id);
    await step(id, late, 0, 'delivered');
    await hasTexts(id, late, 'One!', 'Two!');
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(steps.map(({ versions }: { versions: object[] }) => versions)).toEqual([
      [
        { version: 1, sent: 1 },
        { version: 2, sent: 1 },
      ],
      [],
    ]);
  });

  it('change while it is paused, before it is resumed', async () => {
    const id = await newCampaign({ steps: [{ ...one, delay: { minutes: 20 } }], start: true });
    const leadId = await enter(id);
    await api('POST', `/api/campaigns/${id}/pause`);
    await edit(id, [{ ...one, message: 'Corrected' }]);
    await hasTexts(id, leadId, 'Corrected');
  });

  it('judge whoever waits at one by its new conditions, and go on with what is added at the end', async () => {
    const wait = {
      id: 'wait',
      kind: 'wait_until',
      any: [{ field: 'tag', value: 'hot' }],
      atMost: { days: 9 },
    };
    const id = await newCampaign({ steps: [one, wait], start: true });
    const [ada, bob] = [await enter(id, { firstName: 'Ada' }), await enter(id, { firstName: 'Bob' })];
    const place = async (leadId: string) =>
      (await api('GET', `/api/leads/${leadId}/campaigns/${id}`)).body.place;
    for (const leadId of [ada, bob]) await eventually(async () => (await place(leadId)).stepId === 'wait');
    const named = { ...wait, any: [{ field: 'firstName', value: 'Ada' }] };
    await edit(id, [one, named, { id: 'go', message: 'Go' }]);
    await hasTexts(id, ada, 'One', 'Go');
    expect(await textsOf(id, bob)).toEqual(['One']);
    expect((await place(bob)).stepId).toBe('wait');
    // Nobody gets a step twice, however often it is edited.
    await edit(id, [{ ...one, message: 'Again' }, named, { id: 'go', message: 'Go again' }]);
    await edit(id, [one, wait, { id: 'go', message: 'Go' }, { id: 'end', kind: 'end' }]);
    await api('POST', `/api/leads/${bob}/tags`, { tags: ['hot'] });
    await hasTexts(id, bob, 'One', 'Go');
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsOf(id, ada)).toEqual(['One', 'Go']);
  });

  it.each([
    [[later], 'steps.0.id'],
    [[later, one], 'steps.0.id'],
    [[one, { ...later, id: undefined }], 'steps.1.id'],
    [[one, { id: 'two', kind: 'end' }], 'steps.1 '],
  ])('stay in their places: %j is refused', async (steps, path) => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const { status, body } = await edit(id, steps);
    expect([status, body.code, body.message ?? body.error]).toEqual([
      409,
      'INVALID_STATE',
      expect.stringContaining(path),
    ]);
  });
});
