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
let lineId: string;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
});

const { newList, newCampaign, progressOf, statusOf, messagesOf } = campaignHelpers(() => ({
  app,
  workspace,
  api,
}));

const newSegment = async (when: object[], name = 'Segment'): Promise<string> => {
  const { status, body } = await api('POST', '/api/segments', { name, when });
  expect([status, body]).toEqual([201, expect.anything()]);
  return body.segment._id;
};
const idsOf = async (segmentId: string, query = ''): Promise<string[]> =>
  (await api('GET', `/api/segments/${segmentId}/leads${query}`)).body.leads.map(
    ({ _id }: { _id: string }) => _id,
  );
const countOf = async (segmentId: string): Promise<number> =>
  (await api('GET', `/api/segments/${segmentId}`)).body.segment.count;
const ofPlan = (plan: string, op = 'eq') => ({ field: 'customFields.plan', op, value: plan });

describe('a segment', () => {
  it('has conditions of bounded size, as a rule and a campaign have: what is too long is named', async () => {
    const long = (characters: number) =>
      Array.from({ length: 20 }, () => ({ field: 'notes', value: 'x'.repeat(characters) }));
    const when = [...long(500).slice(1), { field: 'notes', value: ['x'.repeat(500), 'x'] }];
    const pathsOf = async (path: string, body: object) => {
      const response = await api('POST', path, body);
      return [response.status, response.body.issues?.map(({ path: field }: { path: string }) => field)];
    };
    expect(await pathsOf('/api/segments', { name: 'Long', when })).toEqual([400, ['when']]);
    const rule = { name: 'Long', on: 'reply', do: [{ close: true }] };
    expect(await pathsOf('/api/rules', { ...rule, when })).toEqual([400, ['when']]);
    expect(await pathsOf('/api/rules/dry-run', { ...rule, when })).toEqual([400, ['when']]);
    expect(await pathsOf('/api/rules', { ...rule, when: long(500) })).toEqual([201, undefined]);
    const { listId } = await newList([{ phone: phone() }]);
    const steps = [
      { message: 'Hello', delay: {}, stopWhen: long(250) },
      { kind: 'wait_until', any: long(250), atMost: { days: 1 } },
      { kind: 'branch', branches: [{ name: 'Long', when: [ofPlan('gold')], steps: [] }] },
    ];
    const campaign = { name: 'Long', listId, steps };
    expect(await pathsOf('/api/campaigns', campaign)).toEqual([400, ['steps.2.branches.0.when']]);
    expect(
      await pathsOf('/api/campaigns', { ...campaign, steps: steps.slice(0, 2), stopWhen: when }),
    ).toEqual([400, ['stopWhen']]);
    expect(await pathsOf('/api/campaigns', { ...campaign, steps: steps.slice(0, 2) })).toEqual([
      201,
      undefined,
    ]);
  });

  it('is the leads for whom all its conditions hold, whenever it is asked', async () => {
    const leads = ['gold', 'gold', 'free'].map((plan) => ({
      phone: phone(),
      customFields: { plan: `a-${plan}` },
    }));
    const { leadIds } = await newList(leads);
    const [first = '', second = '', third = ''] = leadIds;
    const id = await newSegment([ofPlan('A-GOLD'), { field: 'tag', op: 'not_contains', value: 'out' }]);
    expect(await idsOf(id)).toEqual([second, first]);
    expect(await countOf(id)).toBe(2);
    await api('POST', `/api/leads/${first}/tags`, { tags: ['Out'] });
    await api('PATCH', `/api/leads/${third}`, { customFields: { plan: 'a-gold' } });
    expect(await idsOf(id)).toEqual([third, second]);
    const { nextCursor } = (await api('GET', `/api/segments/${id}/leads?limit=1`)).body;
    expect(await idsOf(id, `?limit=1&cursor=${nextCursor}`)).toEqual([second]);

    const changed = await api('PATCH', `/api/segments/${id}`, { when: [ofPlan('a-gold')] });
    expect(changed.body.segment).toMatchObject({ count: 3, name: 'Segment', when: [ofPlan('a-gold')] });
    const { segments } = (await api('GET', '/api/segments')).body;
    expect(segments).toContainEqual(changed.body.segment);
    expect((await api('DELETE', `/api/segments/${id}`)).status).toBe(200);
    expect((await api('GET', `/api/segments/${id}/leads`)).status).toBe(404);
  });

  it('knows who replied, who got a message, and who consented', async () => {
    const [quiet, talking] = [phone(), phone()];
    const { leadIds } = await newList([quiet, talking].map((to) => ({ phone: to, companyName: 'Facts' })));
    const ours = { field: 'companyName', op: 'eq', value: 'Facts' };
    const replied = await newSegment([ours, { field: 'replied', op: 'contains', value: ['yes', 'sure'] }]);
    const delivered = await newSegment([ours, { field: 'delivered' }]);
    const consented = await newSegment([ours, { field: 'has_consent', value: 'imessage' }]);
    expect([await countOf(replied), await countOf(delivered), await countOf(consented)]).toEqual([0, 0, 0]);
    const { body } = await api('POST', '/api/messages', { recipientPhone: talking, message: 'Hi' });
    await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
    await callBack(app, lineId, replyEvent(talking, 'Yes, please'));
    const consent = {
      address: quiet,
      channel: 'imessage',
      status: 'granted',
      source: 'form',
      evidence: 'https://example.com',
    };
    expect((await api('POST', '/api/consents', consent)).status).toBe(201);
    expect([await idsOf(replied), await idsOf(delivered), await idsOf(consented)]).toEqual([
      [leadIds[1]],
      [leadIds[1]],
      [leadIds[0]],
    ]);
  });

  it.each([
    [{ field: 'shoeSize', op: 'eq', value: 4 }, 'when.0.field'],
    [{ field: 'opened' }, 'when.0.field'],
    [{ field: 'firstName', op: 'is', value: 'x' }, 'when.0.op'],
    [{ field: 'customFields.seats', op: 'gt', value: 'many' }, 'when.0.value'],
    [{ field: 'contacted_within_days', value: 7, campaign: 'this' }, 'when.0.campaign'],
  ])('is refused with %j, which names %s', async (condition, path) => {
    const { status, body } = await api('POST', '/api/segments', { name: 'Wrong', when: [condition] });
    expect([status, body.code, body.issues[0].path]).toEqual([400, 'VALIDATION_ERROR', path]);
  });
});

describe('a campaign of a segment', () => {
  const enteredOf = async (id: string): Promise<number> => (await progressOf(id)).entered;
  const lead = (plan: string) => ({ phone: phone(), customFields: { plan } });

  it('gets who is in it at the start, and completes', async () => {
    await newList([lead('b-gold'), lead('b-free')]);
    const segmentId = await newSegment([ofPlan('b-gold')]);
    const steps = [{ message: 'Hi' }];
    const id = await newCampaign({ segmentId, steps });
    const check = (await api('POST', `/api/campaigns/${id}/check`)).body;
    expect(check.check).toMatchObject({ leads: 1, messages: 1 });
    await api('POST', `/api/campaigns/${id}/start`);
    await eventually(async () => (await statusOf(id)) === 'completed');
    await newList([lead('b-gold')]);
    expect(await enteredOf(id)).toBe(1);
    expect((await api('GET', `/api/campaigns/${id}`)).body.campaign).toMatchObject({
      segmentId,
      audience: 'snapshot',
      listId: null,
    });
  });

  it('gets those also who have left it before they enter, and nobody who came meanwhile', async () => {
    const { leadIds } = await newList([lead('e-gold'), lead('e-gold'), lead('e-free')]);
    const [left, stays, came] = leadIds;
    const segmentId = await newSegment([ofPlan('e-gold')]);
    const id = await newCampaign({ segmentId, steps: [{ message: 'Hi' }], start: true });
    const change = (leadId: string | undefined, plan: string) =>
      api('PATCH', `/api/leads/${leadId}`, { customFields: { plan } });
    const changes = await Promise.all([
      change(left, 'e-free'),
      change(came, 'e-gold'),
      api('PATCH', `/api/segments/${segmentId}`, { when: [ofPlan('e-free')] }),
    ]);
    expect(changes.map(({ status }) => status)).toEqual([200, 200, 200]);
    await eventually(async () => (await statusOf(id)) === 'completed');
    const got = (await messagesOf(id)).map(({ leadId }) => leadId);
    expect(got.toSorted()).toEqual([left, stays].toSorted());
  });

  it('that is live also gets who comes to be in it, once, and stays active', async () => {
    const { leadIds } = await newList([lead('c-gold'), lead('c-free')]);
    const segmentId = await newSegment([ofPlan('c-gold')]);
    const id = await newCampaign({ segmentId, audience: 'live', steps: [{ message: 'Hi' }], start: true });
    await eventually(async () => (await enteredOf(id)) === 1);
    await newList([lead('c-gold')]);
    await eventually(async () => (await enteredOf(id)) === 2);
    const change = (plan: string) => api('PATCH', `/api/leads/${leadIds[1]}`, { customFields: { plan } });
    await change('c-gold');
    await eventually(async () => (await enteredOf(id)) === 3);
    await change('c-other');
    await change('c-gold');
    await newList([lead('c-gold')]);
    await eventually(async () => (await enteredOf(id)) === 4);
    expect((await messagesOf(id)).length).toBe(4);
    expect(await statusOf(id)).toBe('active');
    const gone = await api('DELETE', `/api/segments/${segmentId}`);
    expect([gone.status, gone.body.code]).toEqual([409, 'CONFLICT']);
  });

  it('has no list besides, and needs a segment of the workspace', async () => {
    const { listId } = await newList([lead('d')]);
    const segmentId = await newSegment([ofPlan('d')]);
    const create = (fields: object) =>
      api('POST', '/api/campaigns', { name: 'Two', steps: [{ message: 'Hi' }], ...fields });
    const both = await create({ listId, segmentId });
    expect([both.status, both.body.issues[0].path]).toEqual([400, 'segmentId']);
    const unknown = await create({ segmentId: 'f'.repeat(24) });
    expect([unknown.status, unknown.body.code]).toEqual([404, 'NOT_FOUND']);
  });
});
