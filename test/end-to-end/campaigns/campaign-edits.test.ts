import { sql } from 'slonik';
import { connected } from '#db/connection/connected.ts';
import { happenedIn } from '#db/connection/message-traces.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { followMessageChanges } from '#db/commands/campaigns/lead-changes.ts';
import { sendAgain } from '#db/commands/sending/outcomes.ts';
import { IdRow } from '#db/connection/rows.ts';
import { findMessage } from '#db/queries/messages/messages.ts';
import { lockSequences } from '#db/queries/sending/message-locks.ts';
import { markDelivered } from '#db/queries/sending/sends.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { stayOpen } from '#test/support/locks.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  await createLine(app, workspace.id);
});

const { newCampaign, stepsOf, step, statusOf, tenant } = campaignHelpers(() => ({ app, workspace, api }));

const enter = async (id: string, fields: object = {}): Promise<string> =>
  (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone(), ...fields } })).body.leadId;
const edit = async (id: string, steps: object[]) => api('PATCH', `/api/campaigns/${id}`, { steps });
const textsOf = async (id: string, leadId: string): Promise<string[]> =>
  (await stepsOf(id, leadId)).map(({ message }) => message);
const hasTexts = (id: string, leadId: string, ...texts: string[]) =>
  eventually(async () => JSON.stringify(await textsOf(id, leadId)) === JSON.stringify(texts));

/** The carrier says late that it did not send a message, because of its line. */
async function returnedByCarrier(messageId: string): Promise<void> {
  await tenant(async (db) => {
    await lockSequences(db, [messageId]);
    const message = await findMessage(db, messageId);
    const attemptId = await db.oneFirst(
      sql.type(IdRow)`select id from attempts where message_id = ${messageId}`,
    );
    if (message) await sendAgain(db, message, { attemptId, reason: 'line' }, new Date());
  });
}

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

  it('leave a text alone that somebody has written to one contact, until that step itself changes', async () => {
    const id = await newCampaign({
      steps: [one, later, { ...later, id: 'three', message: 'Three' }],
      start: true,
    });
    const leadId = await enter(id, { firstName: 'Ada' });
    const { _id } = await step(id, leadId, 1, 'scheduled');
    const written = await api('PATCH', `/api/messages/${_id}`, { message: 'See you on Monday, Ada.' });
    expect(written.status).toBe(200);
    const three = (message: string) => ({ ...later, id: 'three', message });
    expect((await edit(id, [one, later, three('Three!')])).status).toBe(200);
    await hasTexts(id, leadId, 'One', 'See you on Monday, Ada.', 'Three!');
    expect((await edit(id, [one, { ...later, message: 'Two!' }, three('Three!')])).status).toBe(200);
    await hasTexts(id, leadId, 'One', 'Two!', 'Three!');
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
    ['nothing is known by its id', [{ message: 'New' }], 'INVALID_STATE'],
    ['nothing can send them', [one, { id: 'mail', message: 'Hi', messageType: 'email' }], 'NO_ACTIVE_LINE'],
  ])('are refused if %s', async (_, steps, code) => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const { body } = await edit(id, steps);
    expect(body.code).toBe(code);
  });

  it('come, go and move: what is ahead of a lead stays ahead, and nobody gets one twice', async () => {
    const [two, three] = [
      { id: 'two', message: 'Two', delay: { days: 2 } },
      { id: 'three', message: 'Three', delay: { days: 2 } },
    ];
    const id = await newCampaign({ steps: [one, two, three], start: true });
    const leadId = await enter(id);
    await step(id, leadId, 0, 'delivered');
    const texts = async () =>
      (await stepsOf(id, leadId))
        .filter(({ status }) => status !== 'canceled')
        .map(({ message, status }) => [message, status]);
    // One moves to the end, two goes, and two others come: one of them for those who have not got the first yet.
    const { status, body } = await edit(id, [
      { id: 'zero', message: 'Zero' },
      one,
      { id: 'now', message: 'Now' },
      three,
      { id: 'end', message: 'End', delay: { days: 1 } },
    ]);
    expect([status, body.campaign.version]).toEqual([200, 2]);
    await eventually(async () => {
      const found = await texts();
      return found.some(([text, state]) => text === 'Now' && state === 'delivered');
    });
    expect((await texts()).map(([text]) => text)).toEqual(['One', 'Three', 'Now', 'End']);
    await edit(id, [{ id: 'now', message: 'Now' }, { id: 'end', message: 'Last' }, one]);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect((await texts()).map(([text]) => text)).toEqual(['One', 'Now', 'Last']);
    const canceled = (await stepsOf(id, leadId)).filter((message) => message.status === 'canceled');
    expect(canceled.map(({ message, holdReason }) => [message, holdReason])).toEqual([
      ['Two', 'step_removed'],
      ['Three', 'step_removed'],
    ]);
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(
      steps.map(({ stepId, sent, isRemoved }: Record<string, unknown>) => [stepId, sent, isRemoved]),
    ).toEqual([
      ['now', 1, false],
      ['end', 1, false],
      ['one', 1, false],
    ]);
    const { versions } = (await api('GET', `/api/campaigns/${id}/versions`)).body;
    expect(versions.map(({ version, changes }: Record<string, unknown>) => [version, changes])).toEqual([
      [3, { added: [], removed: ['zero', 'three'], moved: ['one'], changed: ['end'] }],
      [2, { added: ['zero', 'now', 'end'], removed: ['two'], moved: [], changed: [] }],
      [1, null],
    ]);
  });

  it('go out by another channel, once, for whoever has not got them', async () => {
    await createLine(app, workspace.id, 'sms');
    const id = await newCampaign({ steps: [one, later], start: true });
    const [early, late] = [await enter(id), await enter(id)];
    for (const leadId of [early, late]) await step(id, leadId, 0, 'delivered');
    await edit(id, [one, { ...later, message: 'By SMS', messageType: 'sms' }]);
    for (const leadId of [early, late])
      await eventually(async () => {
        const found = await stepsOf(id, leadId);
        return (
          JSON.stringify(found.map(({ messageType, status }) => [messageType, status]).toSorted()) ===
          JSON.stringify([
            ['imessage', 'canceled'],
            ['imessage', 'delivered'],
            ['sms', 'scheduled'],
          ])
        );
      });
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(steps[1]).toMatchObject({ leads: 2, waiting: 2, skipped: [] });
  });

  it('can become of another kind, and be where a lead is paused or its campaign', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const [ada, bob] = [await enter(id), await enter(id)];
    for (const leadId of [ada, bob]) await step(id, leadId, 0, 'delivered');
    const place = `/api/leads/${bob}/campaigns/${id}`;
    await api('PATCH', place, { resumesAt: null });
    await api('POST', `/api/campaigns/${id}/pause`);
    await edit(id, [one, { id: 'two', kind: 'do', addTags: ['seen'] }, { id: 'bye', message: 'Bye' }]);
    await eventually(async () => (await stepsOf(id, ada)).some(({ status }) => status === 'canceled'));
    const tagsOf = async (leadId: string) => (await api('GET', `/api/leads/${leadId}`)).body.lead.tags;
    expect(await tagsOf(ada)).toEqual([]);
    await api('POST', `/api/campaigns/${id}/resume`);
    await eventually(async () => (await stepsOf(id, ada)).some(({ message }) => message === 'Bye'));
    expect(await tagsOf(ada)).toEqual(['seen']);
    expect(await tagsOf(bob)).toEqual([]);
    await api('PATCH', place, { resumesAt: new Date(0).toISOString() });
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await textsOf(id, bob)).toEqual(['One', 'Two, {{ firstName }}', 'Bye']);
  });

  it('change while they are sent: nobody gets one twice, and every lead comes to the end', async () => {
    const all = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ id: name, message: name }));
    const [a, b, c, d, e] = all as [object, object, object, object, object];
    const wait = {
      id: 'w',
      kind: 'wait_until',
      any: [{ field: 'delivered', value: true }],
      atMost: { days: 1 },
    };
    const id = await newCampaign({ steps: all, start: true });
    const edits = [
      [e, wait, a, b, c],
      [d, a, wait, e],
      [wait, c, b, a, d, e],
      [a, b, wait, c, d],
      [d, c, b, a],
    ];
    const leads = await Promise.all(Array.from({ length: 8 }, () => enter(id)));
    for (const [number, steps] of edits.entries()) {
      await step(id, leads[number] ?? '', 0, 'sent', 'delivered', 'canceled');
      expect((await edit(id, steps)).status).toBe(200);
      leads.push(await enter(id));
    }
    await eventually(async () => (await statusOf(id)) === 'completed');
    for (const leadId of leads) {
      const messages = await stepsOf(id, leadId);
      const sent = messages.filter(({ status }) => status !== 'canceled').map(({ stepIndex }) => stepIndex);
      expect(new Set(sent).size).toBe(sent.length);
      expect(messages.every(({ status }) => ['sent', 'delivered', 'canceled'].includes(status))).toBe(true);
    }
  });

  it('stop the leads for whom a condition to stop holds by then, which the funnel counts', async () => {
    const stops = { ...later, stopWhen: [{ field: 'firstName', value: 'Ada' }] };
    const id = await newCampaign({ steps: [one, later], start: true });
    const leadId = await enter(id, { firstName: 'Ada' });
    await step(id, leadId, 0, 'delivered');
    await edit(id, [one, stops]);
    await step(id, leadId, 1, 'canceled');
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(steps[1]).toMatchObject({ leads: 1, skipped: [{ reason: 'stop_condition', leads: 1 }] });
  });

  it('are the current ones of a message that its carrier returns after the edit, and on its timeline', async () => {
    // An email is sent, and nobody says that it was delivered.
    const settings = { url: app.smtpUrl, inboundSecret: 'a secret for callbacks' };
    await createLineAt(app, workspace.id, 'email', { name: 'smtp', schema: SmtpConfig, settings });
    const [first, gone, last] = [
      { ...one, messageType: 'email' },
      { id: 'gone', message: 'Gone', messageType: 'email' },
      { ...later, messageType: 'email' },
    ];
    const id = await newCampaign({ steps: [first, gone, last], start: true });
    const { leadId } = (
      await api('POST', `/api/campaigns/${id}/leads`, { lead: { email: 'ada@edits.example' } })
    ).body;
    const sent = [await step(id, leadId, 0, 'sent'), await step(id, leadId, 1, 'sent')];
    await edit(id, [
      { ...first, message: 'One!' },
      { ...last, message: 'Two!' },
    ]);
    await hasTexts(id, leadId, 'One', 'Gone', 'Two!');
    // Its pacer must not send it again before the test has looked.
    await api('POST', `/api/campaigns/${id}/pause`);
    for (const { _id } of sent) await returnedByCarrier(_id);
    const [returned, removed] = await stepsOf(id, leadId);
    expect(returned).toMatchObject({ message: 'One!', status: 'scheduled' });
    expect(removed).toMatchObject({ status: 'canceled', holdReason: 'step_removed' });
    const { events } = (await api('GET', `/api/messages/${sent[0]?._id}/timeline`)).body;
    expect(events[0]).toMatchObject({ type: 'accepted', data: { campaignId: id, campaignVersion: 2 } });
  });

  it('let a lead go on for whose message a receipt arrives at the moment of the edit', async () => {
    const settings = { url: app.smtpUrl, inboundSecret: 'a secret for callbacks' };
    await createLineAt(app, workspace.id, 'email', { name: 'smtp', schema: SmtpConfig, settings });
    const [first, last] = [
      { ...one, messageType: 'email' },
      { ...later, messageType: 'email' },
    ];
    const id = await newCampaign({ steps: [first, last], start: true });
    const lead = { email: 'bob@edits.example' };
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead })).body;
    const sent = await step(id, leadId, 0, 'sent');
    const now = new Date();
    const arriving = await stayOpen<TenantDb>(tenant, async (db) => {
      await followMessageChanges(db, [sent._id], now);
      await markDelivered(db, [{ id: sent._id, at: now, happenedIn: happenedIn() }]);
    });
    const wait = { id: 'wait', kind: 'wait_until', any: [{ field: 'delivered' }], atMost: { days: 9 } };
    expect((await edit(id, [first, wait, last])).status).toBe(200);
    const stepOf = async () => (await api('GET', `/api/leads/${leadId}/campaigns/${id}`)).body.place.stepId;
    await eventually(async () => (await stepOf()) === 'wait');
    await arriving.release();
    await eventually(async () => (await stepOf()) !== 'wait', 20_000);
  });

  it('have at most 200 versions, each of which is stored', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    await connected(app.ownerUrl, (owner) =>
      owner.query('update campaigns set version = 199 where id = $1', [id]),
    );
    const { status, body } = await edit(id, [{ ...one, message: 'The last' }, later]);
    expect([status, body.campaign.version]).toEqual([200, 200]);
    expect(await edit(id, [one, later])).toMatchObject({
      status: 409,
      body: { code: 'LIMIT_REACHED', limit: 'campaignVersions', max: 200 },
    });
  });

  it('are those of the version that was read, of two edits at once', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const patch = (message: string) =>
      api('PATCH', `/api/campaigns/${id}`, { version: 1, steps: [{ ...one, message }, later] });
    const answers = await Promise.all([patch('A'), patch('B')]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    expect(answers.find(({ status }) => status === 409)?.body.code).toBe('CONFLICT');
  });
});
