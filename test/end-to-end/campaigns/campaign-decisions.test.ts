import { sql } from 'slonik';
import { beforeAll, describe, expect, it, onTestFinished, test } from 'vitest';
import { withOwnLinks } from '#db/commands/messages/message-links.ts';
import { NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { campaignWaits } from '#db/queries/campaigns/campaign-waits.ts';
import { findCampaign } from '#db/queries/campaigns/campaigns.ts';
import { linksOf } from '#db/queries/messages/message-links.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { startEndpoint } from '#test/support/endpoint.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { stayOpen, waitingForLocks } from '#test/support/locks.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';

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

const { newList, newCampaign, tenant, statusOf, progressOf, messagesOf } = campaignHelpers(() => ({
  app,
  workspace,
  api,
}));

const textsOf = async (id: string, leadId: string): Promise<string[]> =>
  (await messagesOf(id))
    .filter((message) => message.leadId === leadId)
    .toSorted((a, b) => Number(a.stepIndex) - Number(b.stepIndex))
    .map(({ message }) => message);
const hasTexts = (id: string, leadId: string, ...texts: string[]) =>
  eventually(async () => JSON.stringify(await textsOf(id, leadId)) === JSON.stringify(texts));
const waitsOf = (id: string) =>
  tenant(async (db) => {
    const campaign = await findCampaign(db, id);
    return campaign ? (await campaignWaits(db, campaign, new Date())).waits : [];
  });
const timelineOf = async (
  leadId: string,
): Promise<{ type: string; stepId: string; outcome: string; why: string; judged: object[] }[]> =>
  (await api('GET', `/api/leads/${leadId}/timeline`)).body.entries.filter(
    ({ type }: { type: string }) => type === 'campaign_decided',
  );
const enter = async (id: string, fields: object = {}, to = phone()) => {
  const { status, body } = await api('POST', `/api/campaigns/${id}/leads`, {
    lead: { phone: to, ...fields },
  });
  expect([status, body]).toEqual([201, expect.anything()]);
  return { leadId: body.leadId as string, messageCount: body.messageCount as number, to };
};

const ask = {
  id: 'answer',
  kind: 'wait_until',
  any: [
    { field: 'replied', op: 'contains', value: ['yes', 'sure'] },
    { field: 'tag', op: 'eq', value: 'hot' },
  ],
  atMost: { days: 3 },
  else: 'end',
};
const byPlan = {
  id: 'plan',
  kind: 'branch',
  branches: [
    {
      name: 'Gold',
      when: [{ field: 'customFields.plan', op: 'eq', value: 'gold' }],
      steps: [{ message: 'Gold' }],
    },
  ],
  else: [{ message: 'Plain' }, { id: 'over', kind: 'end' }],
};

describe('a campaign that decides', () => {
  it('gives every step an id that it keeps', async () => {
    const id = await newCampaign({ steps: [{ message: 'Hi' }, { ...byPlan, id: undefined }] });
    const { steps } = (await api('GET', `/api/campaigns/${id}`)).body.campaign;
    expect(steps).toMatchObject([
      { id: expect.any(String) },
      { id: expect.any(String), else: [{ id: expect.any(String) }, {}] },
    ]);
    expect((await api('PATCH', `/api/campaigns/${id}`, { steps })).body.campaign.steps).toEqual(steps);
  });

  it('branches by what is known about the lead, and says why on the timeline of the lead', async () => {
    const id = await newCampaign({ steps: [{ message: 'Hi' }, byPlan, { message: 'Bye' }], start: true });
    const gold = await enter(id, { customFields: { plan: 'Gold' } });
    const plain = await enter(id);
    expect(gold.messageCount).toBe(1);
    await hasTexts(id, gold.leadId, 'Hi', 'Gold', 'Bye');
    await hasTexts(id, plain.leadId, 'Hi', 'Plain');
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await progressOf(id)).toMatchObject({ finished: 2 });
    const [condition] = byPlan.branches[0]?.when ?? [];
    expect(await timelineOf(gold.leadId)).toMatchObject([
      {
        stepId: 'plan',
        outcome: 'Gold',
        why: 'customFields.plan eq “gold”: is “Gold”',
        judged: [{ branch: 'Gold', condition, holds: true }],
      },
    ]);
    expect(
      (await timelineOf(plain.leadId)).map(({ stepId, outcome, judged }) => [stepId, outcome, judged]),
    ).toEqual([
      ['over', 'ended', []],
      ['plan', 'else', [{ branch: 'Gold', condition, holds: false }]],
    ]);
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(steps.map(({ stepIndex, sent }: Record<string, number>) => [stepIndex, sent])).toEqual([
      [0, 2],
      [2, 1],
      [3, 1],
      [5, 1],
    ]);
  });

  it('waits for a reply with certain words, or for a tag', async () => {
    const id = await newCampaign({
      steps: [{ message: 'Ready?' }, ask, { message: 'Go' }],
      start: true,
    });
    const [yes, no, hot] = [await enter(id), await enter(id), await enter(id)];
    for (const { leadId } of [yes, no, hot]) await hasTexts(id, leadId, 'Ready?');
    await eventually(async () =>
      (await waitsOf(id)).some(({ reason, leads }) => reason === 'campaign_step' && leads === 3),
    );
    await callBack(app, lineId, replyEvent(no.to, 'No, thank you'));
    await callBack(app, lineId, replyEvent(yes.to, 'Yes!'));
    await api('POST', `/api/leads/${hot.leadId}/tags`, { tags: ['Hot'] });
    await hasTexts(id, yes.leadId, 'Ready?', 'Go');
    await hasTexts(id, hot.leadId, 'Ready?', 'Go');
    expect(await textsOf(id, no.leadId)).toEqual(['Ready?']);
    expect(await timelineOf(hot.leadId)).toMatchObject([
      { stepId: 'answer', outcome: 'continued', why: expect.stringMatching(/^tag eq/) },
    ]);
    // Stops whoever waits, like any other lead.
    await callBack(app, lineId, replyEvent(no.to, 'STOP'));
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await progressOf(id)).toMatchObject({ finished: 2, stopped: 1 });
  });

  it('goes on for what becomes known in the moment in which a lead comes to wait for it', async () => {
    const id = await newCampaign({ steps: [{ message: 'Hi' }, ask, { message: 'Go' }], start: true });
    const { leadId } = await enter(id);
    await eventually(async () => (await waitsOf(id)).some(({ reason }) => reason === 'campaign_step'));
    // Its receipt waits for the same lock.
    await eventually(async () => (await messagesOf(id))[0]?.status === 'delivered');
    const setAwaiting = (db: TenantDb, isAwaiting: boolean) =>
      db.query(sql.type(NoRows)`
        update campaign_leads set is_awaiting = ${isAwaiting}
        where workspace_id = ${workspace.id} and campaign_id = ${id} and lead_id = ${leadId}`);
    await tenant((db) => setAwaiting(db, false));
    const arriving = await stayOpen<TenantDb>(tenant, (db) => setAwaiting(db, true));
    const tagged = api('POST', `/api/leads/${leadId}/tags`, { tags: ['Hot'] });
    await Promise.race([tagged, waitingForLocks(app, 1)]);
    await arriving.release();
    expect((await tagged).status).toBe(200);
    await hasTexts(id, leadId, 'Hi', 'Go');
  });

  it('acts: tags, fields, lists, assignees and other campaigns', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const second = await newCampaign({ steps: [{ message: 'Second' }], start: true });
    const does = {
      kind: 'do',
      addTags: ['won'],
      setFields: { 'customFields.stage': 'done', jobTitle: 'Owner' },
      moveToListId: listId,
      assign: workspace.ownerId,
      enterCampaignId: second,
    };
    const onTag = {
      kind: 'branch',
      branches: [{ name: 'won', when: [{ field: 'tag', value: 'won' }], steps: [{ message: 'Won' }] }],
      else: [],
    };
    const id = await newCampaign({ steps: [{ message: 'Hi' }, does, onTag], start: true });
    const { leadId, to } = await enter(id);
    await hasTexts(id, leadId, 'Hi', 'Won');
    await hasTexts(second, leadId, 'Second');
    const { lead } = (await api('GET', `/api/leads/${leadId}`)).body;
    expect(lead).toMatchObject({ tags: ['won'], customFields: { stage: 'done' }, jobTitle: 'Owner' });
    const { leads } = (await api('GET', `/api/leads?listId=${listId}`)).body;
    expect(leads.map(({ _id }: { _id: string }) => _id)).toContain(leadId);
    const { body } = await api('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(JSON.stringify(body)).toContain(workspace.ownerId);
  });

  it('calls a webhook, which gets what the step made of the lead', async () => {
    const endpoint = await startEndpoint();
    onTestFinished(() => endpoint.close());
    const register = async (events: string[]) =>
      (await api('POST', '/api/webhooks', { url: endpoint.url, events })).body.webhook._id as string;
    const [named, all] = [await register(['call.ended']), await register(['campaign.step'])];
    const does = { id: 'tell', kind: 'do', addTags: ['won'], webhook: named };
    const id = await newCampaign({ name: 'Telling', steps: [{ message: 'Hi' }, does], start: true });
    const { leadId } = await enter(id);
    const told = await eventually(async () => endpoint.received.length === 2 && endpoint.received);
    expect(told.map(({ json }) => json)).toEqual(
      [named, all].map(() => ({
        event: 'campaign.step',
        timestamp: expect.any(String),
        workspaceId: workspace.id,
        campaignId: id,
        campaignName: 'Telling',
        leadId,
        stepId: 'tell',
        lead: expect.objectContaining({ _id: leadId, tags: ['won'] }),
      })),
    );
    const { status, body } = await api('POST', '/api/campaigns', {
      name: 'Telling nobody',
      steps: [{ kind: 'do', webhook: leadId }],
    });
    expect([status, body.error]).toEqual([404, 'steps.0.webhook: no such webhook in this workspace']);
  });

  it('assigns by turn', async () => {
    const does = { kind: 'do', assign: 'round_robin' };
    const id = await newCampaign({ steps: [{ message: 'Hi' }, does, { message: 'Then' }], start: true });
    const { leadId, to } = await enter(id);
    await hasTexts(id, leadId, 'Hi', 'Then');
    const { body } = await api('GET', `/api/conversations/${encodeURIComponent(to)}`);
    expect(body.conversation.assigneeId).toBe(workspace.ownerId);
  });

  it('goes on when the message is delivered, for which a step waits', async () => {
    const delivered = { kind: 'wait_until', any: [{ field: 'delivered' }], atMost: { days: 30 } };
    const id = await newCampaign({ steps: [{ message: 'Hi' }, delivered, { message: 'Go' }], start: true });
    const { leadId } = await enter(id);
    await hasTexts(id, leadId, 'Hi', 'Go');
  });

  it('acts before its first message, too', async () => {
    const id = await newCampaign({
      steps: [{ kind: 'do', addTags: ['entered'] }, { message: 'Hi' }],
      start: true,
    });
    const { leadId, messageCount } = await enter(id);
    expect(messageCount).toBe(0);
    await hasTexts(id, leadId, 'Hi');
    expect((await api('GET', `/api/leads/${leadId}`)).body.lead.tags).toEqual(['entered']);
  });

  it('waits while it is paused, and goes on when it is resumed', async () => {
    const id = await newCampaign({
      steps: [{ message: 'Hi' }, ask, { message: 'Go' }],
      start: true,
    });
    const { leadId, to } = await enter(id);
    await eventually(async () => (await messagesOf(id))[0]?.status === 'delivered');
    await api('POST', `/api/campaigns/${id}/pause`);
    await callBack(app, lineId, replyEvent(to, 'Sure'));
    expect(await textsOf(id, leadId)).toEqual(['Hi']);
    await api('POST', `/api/campaigns/${id}/resume`);
    await hasTexts(id, leadId, 'Hi', 'Go');
  });

  it.each([
    [[{ message: 'Hi' }, { kind: 'wait', for: {} }], 'steps.1.for'],
    [
      [{ kind: 'branch', branches: [{ name: 'x', when: [{ field: 'nope' }], steps: [] }], else: [] }],
      'steps.0.branches.0.when.0.field',
    ],
    [[{ ...byPlan, else: [{ message: '{{ x | nope }}' }] }], 'steps.0.else.0.message'],
  ])('is refused with steps %j, by the path of the field', async (steps, path) => {
    const { status, body } = await api('POST', '/api/campaigns', { name: 'Wrong', steps });
    expect([status, body.issues.map((issue: { path: string }) => issue.path)]).toEqual([400, [path]]);
  });

  it('is refused if a step names what does not exist', async () => {
    const steps = [{ kind: 'do', moveToListId: 'f'.repeat(24) }];
    const { status, body } = await api('POST', '/api/campaigns', { name: 'Wrong', steps });
    expect([status, body.message ?? body.error]).toEqual([
      404,
      expect.stringContaining('steps.0.moveToListId'),
    ]);
  });
});

test('a preview walks a lead through all steps under assumptions, and knows all paths', async () => {
  const go = { id: 'go', message: 'Go, {{ customFields.plan }}' };
  const id = await newCampaign({ steps: [{ id: 'ready', message: 'Ready?' }, ask, byPlan, go] });
  const { leadIds } = await newList([{ phone: phone(), customFields: { plan: 'Gold' } }]);
  const preview = async (body: object) => (await api('POST', `/api/campaigns/${id}/preview`, body)).body;
  const outcomes = ({ walk }: { walk: { stepId: string; outcome: string | null }[] }) =>
    walk.map(({ stepId, outcome }) => outcome ?? stepId);
  const unknown = await preview({});
  expect([unknown.leadId, unknown.steps, outcomes(unknown)]).toEqual([null, [], ['ready', 'ended']]);
  expect(unknown.paths.map(({ messages }: { messages: string[] }) => messages.length)).toEqual([3, 2, 1]);
  const gold = await preview({ leadId: leadIds[0], assume: { replies: ['Yes'] } });
  expect(outcomes(gold)).toEqual(['ready', 'continued', 'Gold', expect.any(String), 'go']);
  expect(gold.steps).toMatchObject([{ message: 'Ready?' }]);
  expect(gold.walk[0].message).toBe('Ready?');
  expect(gold.walk.at(-1).message).toBe('Go, Gold');
  expect(gold.walk[1].message).toBeNull();
  const plain = await preview({
    leadId: leadIds[0],
    assume: { tags: ['hot'], fields: { 'customFields.plan': '' } },
  });
  expect(outcomes(plain)).toEqual(['ready', 'continued', 'else', expect.any(String), 'ended']);
  expect((await api('GET', `/api/campaigns/${id}`)).body.progress.entered).toBe(0);
});

describe('a campaign that asks about clicks', () => {
  const offer = { id: 'offer', message: 'Look: https://example.com/offer?for={{ firstName }}.' };
  const clicked = [{ field: 'clicked' }];
  const steps = [
    offer,
    { id: 'opens', kind: 'wait_until', any: clicked, atMost: { days: 3 }, else: 'end' },
    {
      kind: 'branch',
      branches: [{ name: 'Opened', when: clicked, steps: [{ message: 'Any questions?' }] }],
      else: [{ message: 'Not for you?' }],
    },
  ];
  const OFFER = 'https://example.com/offer?for=Ada';
  const PERSON =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
  const PREVIEW =
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0';
  const open = async (link: string, userAgent: string, method = 'GET') => {
    const url = new URL(new URL(link).pathname, app.url);
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: { 'User-Agent': userAgent },
    });
    return { status: response.status, headers: Object.fromEntries(response.headers) };
  };

  it('sends links of ours, goes on for who opens one, and counts no previews', async () => {
    const id = await newCampaign({ steps, start: true });
    const { leadId, to } = await enter(id, { firstName: 'Ada' });
    const sent = await eventually(async () => (await sentTo(app, to))[0]);
    const [, link = ''] = /^Look: (http:\/\/localhost:\d+\/l\/[\w-]{28})\.$/.exec(sent.text) ?? [];
    expect(link).not.toBe('');
    await hasTexts(id, leadId, sent.text);
    const [message] = await messagesOf(id);
    const messageId = message?._id ?? '';
    const clicksOf = async () => (await tenant((db) => linksOf(db, [messageId]))).map(({ clicks }) => clicks);
    // What an interrupted send is looked for with.
    const again = tenant((db) =>
      withOwnLinks(db, messageId, `Look: ${OFFER}.`, link.slice(0, link.indexOf('/l/'))),
    );
    expect(await again).toBe(sent.text);

    const redirect = {
      status: 302,
      headers: expect.objectContaining({
        location: OFFER,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      }),
    };
    expect(await open(link, PREVIEW)).toEqual(redirect);
    expect(await open(link, PERSON, 'HEAD')).toEqual(redirect);
    expect(await clicksOf()).toEqual([0]);
    await eventually(async () => (await waitsOf(id)).some(({ reason }) => reason === 'campaign_step'));

    await api('PATCH', `/api/messages/${messageId}`, { message: `Sorry, here: ${OFFER}` });
    await hasTexts(id, leadId, `Sorry, here: ${link}`);
    expect([await open(link, PERSON), await open(link, PERSON)]).toEqual([redirect, redirect]);
    expect(await clicksOf()).toEqual([2]);
    await hasTexts(id, leadId, `Sorry, here: ${link}`, 'Any questions?');
    expect(await timelineOf(leadId)).toContainEqual(
      expect.objectContaining({
        stepId: 'opens',
        outcome: 'continued',
        why: 'a link of the last message was opened',
      }),
    );
    const { events } = (await api('GET', `/api/messages/${messageId}/timeline`)).body;
    expect(events).toContainEqual({
      at: expect.any(String),
      type: 'clicked',
      text: `A link was opened, 2 times so far: ${OFFER}`,
      data: { url: OFFER, clicks: 2 },
    });
    const { messages } = (await api('GET', `/api/leads/${leadId}/export`)).body;
    expect(messages[0].links).toEqual([{ url: OFFER, clickedAt: expect.any(String), clicks: 2 }]);

    await api('DELETE', `/api/leads/${leadId}?erase=true`);
    await eventually(async () => (await clicksOf()).length === 0);
    expect((await open(link, PERSON)).status).toBe(404);
  });

  it('is the only one whose links are followed', async () => {
    const id = await newCampaign({ steps: [offer], start: true });
    const { to } = await enter(id, { firstName: 'Ada' });
    const sent = await eventually(async () => (await sentTo(app, to))[0]);
    expect(sent.text).toBe(`Look: ${OFFER}.`);
  });

  it('is previewed for who opens a link', async () => {
    const id = await newCampaign({ steps });
    const { body } = await api('POST', `/api/campaigns/${id}/preview`, { assume: { clicked: true } });
    expect(body.walk.map(({ outcome }: { outcome: string | null }) => outcome)).toEqual([
      null,
      'continued',
      'Opened',
      null,
    ]);
  });
});

test('the clock of test mode runs waits for real', async () => {
  const twin = await openTestMode(app, await createWorkspace(app));
  await twin.api('POST', '/api/test/lines', { channelType: 'imessage' });
  const steps = [
    { message: 'One' },
    { kind: 'wait', for: { days: 2 } },
    { message: 'Two' },
    { ...ask, else: 'continue' },
    { message: 'Three' },
  ];
  const { body } = await twin.api('POST', '/api/campaigns', { name: 'Slow', steps, start: true });
  const id = body.campaign._id;
  await twin.api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
  const texts = async (): Promise<string[]> =>
    (await twin.api('GET', `/api/messages?campaignId=${id}`)).body.messages
      .map(({ message }: { message: string }) => message)
      .toReversed();
  await advanceClock(twin.api, 86_400);
  expect(await texts()).toEqual(['One']);
  await advanceClock(twin.api, 2 * 86_400);
  await eventually(async () => (await texts()).length === 2);
  await advanceClock(twin.api, 4 * 86_400);
  await eventually(async () => (await texts()).length === 3);
});

test('a campaign of many steps is checked like one of few, with what a step leaves out', async () => {
  const variants = { kind: 'message', variants: [{ body: 'Hi' }, { body: 'Hello' }] };
  const branch = {
    kind: 'branch',
    branches: [{ name: 'known', when: [{ field: 'firstName', op: 'exists' }], steps: [variants] }],
  };
  const steps = [...Array.from({ length: 20 }, () => ({ message: 'Hi' })), variants, branch];
  const stored = (await api('GET', `/api/campaigns/${await newCampaign({ steps })}`)).body.campaign.steps;
  expect(stored[20]).toMatchObject({ message: '', attachmentUrls: [], variants: [{}, {}] });
  expect(stored[21].else).toEqual([]);
  const { status, body } = await api('POST', '/api/campaigns', { name: 'Empty', steps: [...steps, {}] });
  expect([status, body.issues]).toEqual([
    400,
    [{ path: 'steps.22.message', message: 'a message or attachmentUrls is required' }],
  ]);
});
