import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message } from '#domain/messages/message.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers, later, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { lock, race } from '#test/support/locks.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
let receiver: Endpoint;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
  receiver = await startEndpoint();
  await api('POST', '/api/webhooks', {
    name: 'all',
    url: receiver.url,
    events: ['message.sent', 'message.failed'],
  });
});
afterAll(async () => {
  await receiver.close();
});

const { newList, newCampaign, statusOf, progressOf, messagesOf, stepsOf, step, hasLeft, takeBack } =
  campaignHelpers(() => ({ app, workspace, api }));

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const days = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 86_400_000;

describe('a campaign whose list is deleted', () => {
  it('still takes leads', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const id = await newCampaign({ listId });
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    const added = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    expect(added.status).toBe(201);
    const { leadId } = added.body;
    expect((await api('GET', `/api/leads/${leadId}`)).body.lead.listId).not.toBe(listId);
  });

  it('lets those whom it takes after its end go on past steps that do something', async () => {
    const { listId, leadIds } = await newList([{ phone: phone() }]);
    const steps = [now, { kind: 'do', addTags: ['welcomed'] }, { message: 'Two' }];
    const id = await newCampaign({ listId, steps, start: true });
    await step(id, leadIds[0] ?? '', 1, 'sent', 'delivered');
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    const { body } = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    await step(id, body.leadId, 1, 'sent', 'delivered');
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('starts only with another list, or with none', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now] });
    await api('DELETE', `/api/lists/${listId}`);
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } })).body;
    expect(await api('POST', `/api/campaigns/${id}/start`)).toMatchObject({
      status: 404,
      body: { code: 'NOT_FOUND', error: 'The list of the campaign was deleted' },
    });
    expect((await api('PATCH', `/api/campaigns/${id}`, { listId })).status).toBe(404);
    expect((await api('PATCH', `/api/campaigns/${id}`, { listId: null })).status).toBe(200);
    expect((await api('POST', `/api/campaigns/${id}/start`)).status).toBe(200);
    expect(await step(id, leadId, 0, 'sent', 'delivered')).toBeTruthy();
    expect((await api('PATCH', `/api/campaigns/${id}`, { listId: null })).status).toBe(409);
  });

  it('does not start while the list is being deleted', async () => {
    const to = phone();
    const { listId } = await newList([{ phone: to }]);
    const id = await newCampaign({ listId });
    const [deleted, started] = await race(
      app,
      await lock(app, 'list_addresses', to, 'address'),
      () => api('DELETE', `/api/lists/${listId}`),
      () => api('POST', `/api/campaigns/${id}/start`),
    );
    expect([deleted.status, started.status]).toEqual([200, 404]);
    expect(await statusOf(id)).toBe('draft');
  });
});

describe('starting a campaign', () => {
  it('enters the leads of its list, sends the first step and schedules the rest', async () => {
    const to = phone();
    const { listId, leadIds } = await newList([
      { firstName: 'Ada', phone: to },
      { firstName: 'Bob', phone: phone() },
      { firstName: 'Cy', email: 'cy@example.com' },
    ]);
    const id = await newCampaign({ listId, start: true });
    await eventually(async () => (await progressOf(id)).enteredAll);
    expect((await api('GET', `/api/campaigns/${id}`)).body.progress).toMatchObject({
      entered: 3,
      running: 3,
      finished: 0,
      stopped: 0,
    });
    const first = await step(id, leadIds[0] ?? '', 0, 'sent', 'delivered');
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual(['One, Ada']);
    const second = await step(id, leadIds[0] ?? '', 1, 'scheduled');
    expect(second).toMatchObject({
      stepIndex: 1,
      batchId: first.batchId,
      holdReason: null,
      fromLineId: first.fromLineId,
    });
    expect(days(new Date().toISOString(), second.scheduledDate ?? '')).toBeCloseTo(2, 2);
  });

  it('completes it once every lead has finished, and the events name the campaign', async () => {
    const { listId, leadIds } = await newList([{ phone: phone() }, { phone: phone() }]);
    const id = await newCampaign({
      listId,
      name: 'Quick',
      steps: [now, { message: 'And two' }, { message: 'And three' }],
      start: true,
    });
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await progressOf(id)).toEqual({
      entered: 2,
      running: 0,
      finished: 2,
      stopped: 0,
      noConsent: 0,
      enteredAll: true,
    });
    for (const leadId of leadIds) {
      const sent = await eventually(async () => {
        const told = receiver.received.filter(
          ({ json: payload }) => payload.campaignId === id && payload.leadId === leadId,
        );
        return told.length === 3 && told;
      });
      expect(
        sent
          .map(({ json: payload }) => [
            payload.campaignName,
            payload.message.stepIndex,
            payload.message.campaignId,
          ])
          .toSorted(),
      ).toEqual([
        ['Quick', 0, id],
        ['Quick', 1, id],
        ['Quick', 2, id],
      ]);
    }
  });

  it('requires an active line, a draft and valid steps', async () => {
    const lonely = apiClient(app.url, (await createWorkspace(app)).key);
    const { campaign } = (await lonely('POST', '/api/campaigns', { name: 'x', steps: [now] })).body;
    expect(await lonely('POST', `/api/campaigns/${campaign._id}/start`)).toMatchObject({
      status: 400,
      body: { code: 'NO_ACTIVE_LINE' },
    });
    const id = await newCampaign({ start: true });
    expect(await api('POST', `/api/campaigns/${id}/start`)).toMatchObject({
      status: 409,
      body: { code: 'INVALID_STATE' },
    });
    for (const steps of [
      [],
      [{ message: ' ' }],
      [{ message: '{{ oops' }],
      [{ message: 'x', delay: { days: -1 } }],
      [{ message: 'x', attachmentUrls: ['https://elsewhere.example/a.png'] }],
    ]) {
      expect((await api('POST', '/api/campaigns', { name: 'x', steps })).status).toBe(400);
    }
    const week = { name: 'x', steps: [now, { message: 'x', delay: { weeks: 1 } }] };
    expect((await api('POST', '/api/campaigns', week)).body.issues).toEqual([
      { path: 'steps.1.delay.weeks', message: 'is not a recognized field' },
    ]);
    expect(
      (await api('POST', '/api/campaigns', { name: 'x', steps: [now], listId: '0123456789abcdef01234567' }))
        .status,
    ).toBe(404);
    expect((await lonely('GET', `/api/campaigns/${id}`)).status).toBe(404);
    expect((await lonely('POST', `/api/campaigns/${id}/pause`)).status).toBe(404);
  });
});

describe('POST /api/campaigns/{id}/leads', () => {
  it('adds a new lead to the list and schedules every step, once', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const id = await newCampaign({ listId, start: true });
    const lead = { firstName: 'Eve', phone: phone() };
    const added = await api('POST', `/api/campaigns/${id}/leads`, { lead });
    expect(added).toMatchObject({ status: 201, body: { success: true, campaignId: id, messageCount: 2 } });
    const again = await api('POST', `/api/campaigns/${id}/leads`, { lead });
    expect(again.body).toMatchObject({ success: true, leadId: added.body.leadId, messageCount: 0 });
    expect(
      (await api('POST', `/api/campaigns/${id}/leads`, { leadId: added.body.leadId })).body.messageCount,
    ).toBe(0);
    expect((await api('GET', `/api/leads/${added.body.leadId}`)).body.lead.listId).toBe(listId);
    expect(await stepsOf(id, added.body.leadId)).toHaveLength(2);
  });

  it('takes a person once, who is several leads: in two lists, or given anew', async () => {
    const [mobile, email] = [phone(), 'twice@contact.example'];
    const { listId, leadIds } = await newList([{ phone: mobile }, { email }]);
    const { leadIds: others } = await newList([
      { phone: mobile.replace('+1', '1 '), email: 'another@contact.example' },
      { email: email.toUpperCase() },
    ]);
    const id = await newCampaign({ listId, start: true });
    for (const leadId of leadIds) await step(id, leadId, 0, 'pending', 'sent', 'delivered');
    for (const body of [{ leadId: others[0] }, { leadId: others[1] }, { lead: { phone: mobile } }])
      expect(await api('POST', `/api/campaigns/${id}/leads`, body)).toMatchObject({
        status: 200,
        body: { success: true, messageCount: 0 },
      });
    const messages = await messagesOf(id);
    expect(messages.map(({ leadId }) => leadId).toSorted()).toEqual([...leadIds, ...leadIds].toSorted());
  });

  it('returns the first response for a repeated Idempotency-Key, separately for each campaign', async () => {
    const {
      leadIds: [leadId],
    } = await newList([{ phone: phone() }]);
    const [one, two] = [await newCampaign(), await newCampaign()];
    const add = (id: string) =>
      api('POST', `/api/campaigns/${id}/leads`, { leadId }, { 'idempotency-key': 'enters' });
    const first = await add(one);
    expect((await add(one)).body).toEqual(first.body);
    expect((await add(two)).body).toMatchObject({ campaignId: two, messageCount: 2 });
  });

  it('adds an existing lead to the list in addition to its own', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const own = await newList([{ phone: phone() }]);
    const id = await newCampaign({ listId, start: true });
    const [leadId] = own.leadIds;
    expect((await api('POST', `/api/campaigns/${id}/leads`, { leadId })).body.messageCount).toBe(2);
    const ids = (await api('GET', `/api/leads?listId=${listId}`)).body.leads.map(
      ({ _id }: { _id: string }) => _id,
    );
    expect(ids).toContain(leadId);
    const lists = (await api('GET', '/api/lists')).body.lists;
    expect(lists.find(({ _id }: { _id: string }) => _id === listId).leadCount).toBe(2);
    expect((await api('GET', `/api/leads?listId=${own.listId}`)).body.leads).toHaveLength(1);
  });

  it('adds a lead that is being changed with its new address', async () => {
    const { listId } = await newList([{ phone: phone() }]);
    const [before, after] = [phone(), phone()];
    const own = await newList([{ phone: before }]);
    const [leadId = ''] = own.leadIds;
    const id = await newCampaign({ listId });
    const [changed, added] = await race(
      app,
      await lock(app, 'lead_lists', own.listId),
      () => api('PATCH', `/api/leads/${leadId}`, { phone: after }),
      () => api('POST', `/api/campaigns/${id}/leads`, { leadId }),
    );
    expect([changed.status, added.status]).toEqual([200, 201]);
    expect((await stepsOf(id, leadId))[0]).toMatchObject({ recipientPhone: after });
    const leads = [{ phone: before }, { phone: after }];
    const saved = await api('POST', '/api/leads', { listId, leads });
    expect(saved.body).toMatchObject({ savedCount: 1, duplicateCount: 1 });
  });

  it('writes to a lead at its new address once it is corrected, and not to who had the former', async () => {
    const [wrong, right, other] = [phone(), phone(), phone()];
    const { listId, leadIds } = await newList([{ phone: wrong }]);
    const [leadId = ''] = leadIds;
    const id = await newCampaign({ listId, steps: [now, later, { message: 'Three' }], start: true });
    await step(id, leadId, 0, 'sent', 'delivered');
    const direct = (
      await api('POST', '/api/messages', { message: 'To the number', leadId, scheduledDate: inAnHour() })
    ).body;
    await api('POST', '/api/opt-outs', { address: right });
    await api('PATCH', `/api/leads/${leadId}`, { phone: right });
    expect((await stepsOf(id, leadId)).map(({ recipientPhone }) => recipientPhone)).toEqual([
      wrong,
      right,
      right,
    ]);
    expect((await api('GET', `/api/messages/${direct._id}`)).body.recipientPhone).toBe(wrong);
    // Added, the former address takes nothing back.
    await api('PATCH', `/api/leads/${leadId}`, { phones: [other, right] });
    expect((await stepsOf(id, leadId))[1]).toMatchObject({ status: 'scheduled', recipientPhone: right });
  });

  it('writes to the new address of a lead if the message that its carrier takes back went to the former', async () => {
    const settings = { url: app.smtpUrl, inboundSecret: 'a secret for callbacks' };
    const carrier = { name: 'smtp', schema: SmtpConfig, settings };
    // Nobody reports its messages as delivered.
    const eligibleLineIds = [await createLineAt(app, workspace.id, 'email', carrier)];
    const [wrong, right] = [1, 2].map(() => `${crypto.randomUUID()}@customer.example`);
    const id = await newCampaign({ steps: [{ ...now, messageType: 'email' }], eligibleLineIds, start: true });
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { email: wrong } })).body;
    const { _id } = await step(id, leadId, 0, 'sent');
    expect((await api('PATCH', `/api/leads/${leadId}`, { email: right })).status).toBe(200);
    expect(await takeBack(_id)).toMatchObject({ status: 'scheduled', address: right, recipientEmail: right });
  });

  it('skips steps that reach a lead no more, and lets one go whom none reaches, at whose new address it writes to another, or who has not consented there', async () => {
    await createLine(app, workspace.id, 'email');
    const lead = () => ({ phone: phone(), email: `${crypto.randomUUID()}@example.com` });
    const [first, second] = [lead(), lead()];
    const elsewhere = await newList([first]);
    const { leadIds } = await newList([second, lead(), lead()]);
    const [known = '', unreachable = '', kept = ''] = leadIds;
    const [doubled = ''] = elsewhere.leadIds;
    const id = await newCampaign({ steps: [later, { ...later, messageType: 'email' }], start: true });
    for (const leadId of [...leadIds, doubled]) await api('POST', `/api/campaigns/${id}/leads`, { leadId });
    const consenting = await newCampaign({ listId: elsewhere.listId, steps: [later], requireConsent: true });
    const consent = { address: first.phone, channel: 'any', status: 'granted', source: 'form' };
    expect((await api('POST', '/api/consents', consent)).status).toBe(201);
    await api('POST', `/api/campaigns/${consenting}/start`);
    await step(consenting, doubled, 0, 'scheduled');
    const byEmail = await newCampaign({ steps: [{ ...later, messageType: 'email' }], start: true });
    await api('POST', `/api/campaigns/${byEmail}/leads`, { leadId: unreachable });

    await api('PATCH', `/api/leads/${unreachable}`, { emails: [] });
    expect((await api('PATCH', `/api/leads/${doubled}`, { phone: second.phone })).status).toBe(200);
    await api('PATCH', `/api/leads/${kept}`, { phones: [] });
    const gone = { status: 'canceled', holdReason: 'removed' };
    expect(await stepsOf(id, unreachable)).toMatchObject([{ status: 'scheduled' }, { status: 'canceled' }]);
    expect(await stepsOf(byEmail, unreachable)).toMatchObject([
      { status: 'canceled', holdReason: 'no_address' },
    ]);
    expect(await stepsOf(id, doubled)).toMatchObject([gone, gone]);
    expect(await stepsOf(consenting, doubled)).toMatchObject([
      { status: 'canceled', holdReason: 'no_consent' },
    ]);
    // iMessage reaches email addresses, too.
    expect(await stepsOf(id, kept)).toMatchObject([{ status: 'scheduled', recipientPhone: null }, {}]);
    expect(await stepsOf(id, known)).toMatchObject([
      { recipientPhone: second.phone },
      { status: 'scheduled' },
    ]);
  });

  it('does not add a lead that is being deleted', async () => {
    const to = phone();
    const [leadId = ''] = (await newList([{ phone: to }])).leadIds;
    const id = await newCampaign();
    const [deleted, added] = await race(
      app,
      await lock(app, 'list_addresses', to, 'address'),
      () => api('DELETE', `/api/leads/${leadId}`),
      () => api('POST', `/api/campaigns/${id}/leads`, { leadId }),
    );
    expect([deleted.status, added.status]).toEqual([200, 404]);
    expect(await stepsOf(id, leadId)).toEqual([]);
  });

  it('waits for the start of a draft and reopens a completed campaign', async () => {
    const id = await newCampaign({ steps: [now] });
    const first = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } })).body;
    expect(first.messageCount).toBe(1);
    const other = (
      await api('POST', '/api/messages', {
        message: 'Wakes the line',
        recipientPhone: phone(),
        fromLineId: lineId,
      })
    ).body;
    await hasLeft(other._id);
    expect((await stepsOf(id, first.leadId))[0]?.status).toBe('pending');
    expect((await api('PATCH', `/api/campaigns/${id}`, { steps: [now, now] })).status).toBe(409);
    expect((await api('PATCH', `/api/campaigns/${id}`, { name: 'Renamed' })).body.campaign.name).toBe(
      'Renamed',
    );
    await api('POST', `/api/campaigns/${id}/start`);
    await eventually(async () => (await statusOf(id)) === 'completed');
    await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } });
    await eventually(
      async () => (await progressOf(id)).finished === 2 && (await statusOf(id)) === 'completed',
    );
  });

  it('refuses invalid leads and reports the field', async () => {
    const id = await newCampaign({ steps: [{ message: 'x', messageType: 'sms' }], start: true });
    const { leadIds } = await newList([{ email: 'only@example.com' }]);
    const url = `/api/campaigns/${id}/leads`;
    expect((await api('POST', url, { leadId: leadIds[0] })).status).toBe(400);
    expect((await api('POST', url, {})).status).toBe(400);
    expect((await api('POST', url, { leadId: leadIds[0], lead: { phone: phone() } })).status).toBe(400);
    expect((await api('POST', url, { lead: { phone: 'none' } })).body.issues[0].path).toBe('lead.phone');
    expect((await api('POST', url, { leadId: '0123456789abcdef01234567' })).status).toBe(404);
    expect((await progressOf(id)).entered).toBe(0);
  });
});

describe('a step with variants', () => {
  const variants = [{ body: 'First, {{ firstName }}' }, { body: 'Second, {{ firstName }}', weight: 2 }];
  const TEXTS: Record<string, string> = { A: 'First, Ada', B: 'Second, Ada' };
  const funnelOf = async (id: string) => (await api('GET', `/api/campaigns/${id}/funnel`)).body.steps;

  /** Leads that get a variant in the first step, found with the preview. */
  async function leadsOf(id: string, variant: string, count: number, behaviour?: string) {
    const found: { leadId: string; to: string }[] = [];
    while (found.length < count) {
      const to = phone(behaviour);
      const [leadId = ''] = (await newList([{ firstName: 'Ada', phone: to }])).leadIds;
      const { steps } = (await api('POST', `/api/campaigns/${id}/preview`, { leadId })).body;
      expect(steps[0].message).toBe(TEXTS[steps[0].variant]);
      expect(steps[0].variants).toMatchObject([
        { name: 'A', weight: 1, message: TEXTS['A'] },
        { name: 'B', weight: 2, message: TEXTS['B'] },
      ]);
      if (steps[0].variant === variant) found.push({ leadId, to });
    }
    return found;
  }

  it('sends each lead the variant that the preview showed, and the funnel tells what became of each', async () => {
    const id = await newCampaign({ steps: [{ variants }, later], start: true });
    const first = await leadsOf(id, 'A', 2);
    const second = await leadsOf(id, 'B', 3);
    const failing = await leadsOf(id, 'A', 1, '0002');
    for (const { leadId } of [...first, ...second, ...failing])
      await api('POST', `/api/campaigns/${id}/leads`, { leadId });
    for (const [variant, leads] of [
      ['A', first],
      ['B', second],
    ] as const)
      for (const { leadId, to } of leads) {
        expect(await step(id, leadId, 0, 'delivered')).toMatchObject({ stepIndex: 0, variant });
        expect((await sentTo(app, to)).map(({ text }) => text)).toEqual([TEXTS[variant]]);
      }
    await step(id, failing[0]?.leadId ?? '', 0, 'failed');
    await callBack(app, lineId, replyEvent(first[0]?.to ?? '', 'Tell me more'));
    await callBack(app, lineId, replyEvent(first[0]?.to ?? '', 'Are you there?'));
    await callBack(app, lineId, replyEvent(first[1]?.to ?? '', 'Out of office', { autoReply: true }));
    await callBack(app, lineId, replyEvent(second[0]?.to ?? '', 'STOP'));

    const [one, two] = await funnelOf(id);
    const nobody = { leads: 0, share: 0 };
    expect(one).toMatchObject({
      leads: 6,
      reached: 6,
      sent: 5,
      delivered: 5,
      failed: 1,
      waiting: 0,
      skipped: [],
    });
    expect(one.variants).toMatchObject([
      {
        name: 'A',
        weight: 1,
        leads: 3,
        sent: 2,
        failed: 1,
        replied: { leads: 1, share: 0.5 },
        optedOut: nobody,
      },
      {
        name: 'B',
        weight: 2,
        leads: 3,
        sent: 3,
        failed: 0,
        replied: nobody,
        optedOut: { leads: 1, share: 1 / 3 },
      },
    ]);
    expect(one.comparisons).toMatchObject([
      { variants: ['A', 'B'], metric: 'replied', difference: 0.5, conclusive: false },
      { variants: ['A', 'B'], metric: 'optedOut', conclusive: false },
    ]);
    expect(two).toMatchObject({
      leads: 6,
      reached: 3,
      sent: 0,
      waiting: 3,
      upcoming: 0,
      skipped: [
        { reason: 'reply', leads: 1 },
        { reason: 'opt_out', leads: 1 },
        { reason: 'failed', leads: 1 },
      ],
      replied: { leads: 0, share: null },
      variants: [],
      comparisons: [],
    });
  });

  it('counts a reply and an opt-out to the last step sent before them', async () => {
    const to = phone();
    const id = await newCampaign({ steps: [now, { variants }, later], stopOnReply: false, start: true });
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
    const sent = await step(id, leadId, 1, 'delivered');
    await callBack(app, lineId, replyEvent(to, 'Yes'));
    await api('POST', '/api/opt-outs', { address: to });
    const [one, two, three] = await funnelOf(id);
    expect([one.replied.leads, two.replied.leads, three.replied.leads]).toEqual([0, 1, 0]);
    expect([one.optedOut.leads, two.optedOut.leads, three.optedOut.leads]).toEqual([0, 1, 0]);
    expect(
      two.variants.map(({ name, replied }: { name: string; replied: object }) => [name, replied]),
    ).toContainEqual([sent.variant, expect.objectContaining({ leads: 1 })]);
    expect(three.skipped).toEqual([{ reason: 'opt_out', leads: 1 }]);
  });

  it('has 2 to 4 variants with a text each, or the error names the field', async () => {
    const pathsOf = async (...steps: object[]) => {
      const { status, body } = await api('POST', '/api/campaigns', { name: 'x', steps });
      expect(status).toBe(400);
      return body.issues.map(({ path }: { path: string }) => path);
    };
    const [one = {}, two = {}] = variants;
    expect(await pathsOf({ variants: [one] })).toEqual(['steps.0.variants']);
    expect(await pathsOf({ variants: [one, two, one, two, one] })).toEqual(['steps.0.variants']);
    expect(await pathsOf(now, { variants: [{ body: '{{ oops' }, two] })).toEqual(['steps.1.variants.0.body']);
    expect(await pathsOf(now, { variants: [one, { body: ' ' }] })).toEqual(['steps.1.variants.1.body']);
    expect(await pathsOf({ variants: [one, { ...two, weight: 0 }] })).toEqual(['steps.0.variants.1.weight']);
  });
});

describe('the preview of a campaign', () => {
  it('shows the messages of a lead with times and line, and stores nothing', async () => {
    const { listId, leadIds } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, stickinessPolicy: 'round_robin' });
    const preview = () => api('POST', `/api/campaigns/${id}/preview`, { leadId: leadIds[0] });
    const { status, body } = await preview();
    expect(status).toBe(200);
    expect(
      body.steps.map(({ stepIndex, message }: { stepIndex: number; message: string }) => [
        stepIndex,
        message,
      ]),
    ).toEqual([
      [0, 'One, Ada'],
      [1, 'Two'],
    ]);
    expect(days(body.steps[0].scheduledDate, body.steps[1].scheduledDate)).toBeCloseTo(2, 3);
    expect((await preview()).body.steps.map(({ fromLineId }: Message) => fromLineId)).toEqual(
      body.steps.map(({ fromLineId }: Message) => fromLineId),
    );
    expect((await progressOf(id)).entered).toBe(0);
    expect(await stepsOf(id, leadIds[0] ?? '')).toEqual([]);
    expect(
      (await api('POST', `/api/campaigns/${id}/preview`, { leadId: '0123456789abcdef01234567' })).status,
    ).toBe(404);
  });

  it('respects the send window', async () => {
    const { leadIds } = await newList([{ phone: phone() }]);
    const id = await newCampaign({
      timezone: 'Asia/Tokyo',
      sendWindowStart: '09:00',
      sendWindowEnd: '09:01',
    });
    const { steps } = (await api('POST', `/api/campaigns/${id}/preview`, { leadId: leadIds[0] })).body;
    expect(steps.map(({ scheduledDate }: { scheduledDate: string }) => scheduledDate.slice(11, 16))).toEqual([
      '00:00',
      '00:00',
    ]);
  });
});
