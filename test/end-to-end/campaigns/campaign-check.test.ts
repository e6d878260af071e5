import { beforeAll, expect, test } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { createLine, createWorkspaceWithLine } from '#test/support/factories.ts';

let app: TestApp;

beforeAll(async () => {
  app = await sharedApp();
});

test('says what a start would do, and changes nothing', async () => {
  const { api, id: workspaceId, lineId } = await createWorkspaceWithLine(app);
  // It cannot carry what the campaign sends.
  await createLine(app, workspaceId, 'email');
  const listId = (await api('POST', '/api/lists', { name: 'Prospects' })).body.list._id;
  const [ann, ben, cleo] = [phone(), phone(), phone()];
  const leads = [
    { firstName: 'Ann', phones: [ann], customFields: { city: 'Lyon' } },
    { firstName: '', phones: [ben] },
    { firstName: 'Cleo', phones: [cleo], customFields: { city: ' ' } },
    { firstName: 'Dan', emails: ['dan@example.com'] },
  ];
  expect((await api('POST', '/api/leads', { listId, leads })).status).toBe(201);
  expect((await api('POST', '/api/opt-outs', { address: cleo })).status).toBe(201);
  const consent = { address: ann, status: 'granted' };
  expect((await api('POST', '/api/consents', consent)).status).toBe(201);
  const { body } = await api('POST', '/api/campaigns', {
    name: 'Spring',
    listId,
    steps: [
      { message: 'Hi {{ firstName }}', messageType: 'sms' },
      { message: '{{ customFields.city | default: "Your town" }}?', messageType: 'sms', delay: { days: 2 } },
    ],
  });
  const id = body.campaign._id;
  const before = (await api('GET', `/api/campaigns/${id}`)).body;
  const { status, body: checked } = await api('POST', `/api/campaigns/${id}/check`);
  expect(status).toBe(200);
  expect(checked.check).toEqual({
    leads: 2,
    messages: 4,
    firstAt: expect.stringMatching(/^\d{4}-/),
    lastAt: expect.stringMatching(/^\d{4}-/),
    lines: [lineId],
    unreachable: 1,
    optedOut: 1,
    suppressed: 0,
    withoutConsent: 1,
    inQuietHours: 0,
    emptyFields: { firstName: 1, 'customFields.city': 3 },
  });
  const [first, last] = [checked.check.firstAt, checked.check.lastAt].map((at) => Date.parse(at));
  expect(Number(last) - Number(first)).toBeGreaterThanOrEqual(2 * 86_400_000);
  expect((await api('GET', `/api/campaigns/${id}`)).body).toEqual(before);
  // What an SMS line can send leaves from no iMessage line.
  const smsLineId = await createLine(app, workspaceId, 'sms');
  expect((await api('POST', `/api/campaigns/${id}/check`)).body.check.lines).toEqual([smsLineId]);

  expect((await api('POST', `/api/campaigns/${id}/start`)).status).toBe(200);
  expect((await api('POST', `/api/campaigns/${id}/check`)).body.code).toBe('INVALID_STATE');
});

test('counts a person of a segment once, who is in two lists', async () => {
  const { api, ...workspace } = await createWorkspaceWithLine(app);
  const { progressOf } = campaignHelpers(() => ({ app, workspace, api }));
  const [ann, ben] = [phone(), phone()];
  for (const leads of [[{ phone: ann }], [{ phone: ann }, { phone: ben }]]) {
    const listId = (await api('POST', '/api/lists', { name: 'Prospects' })).body.list._id;
    expect((await api('POST', '/api/leads', { listId, leads })).status).toBe(201);
  }
  const when = [{ field: 'source', op: 'eq', value: 'api' }];
  const { segment } = (await api('POST', '/api/segments', { name: 'All', when })).body;
  const fields = { name: 'Spring', segmentId: segment._id, steps: [{ message: 'Hi' }] };
  const id = (await api('POST', '/api/campaigns', fields)).body.campaign._id;
  expect((await api('POST', `/api/campaigns/${id}/check`)).body.check).toMatchObject({
    leads: 2,
    messages: 2,
  });
  expect((await api('POST', `/api/campaigns/${id}/start`)).status).toBe(200);
  await eventually(async () => (await progressOf(id)).enteredAll);
  expect(await progressOf(id)).toMatchObject({ entered: 2 });
});
