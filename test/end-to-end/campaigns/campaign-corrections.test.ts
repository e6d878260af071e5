import { sql } from 'slonik';
import { z } from 'zod';
import { newId } from '#domain/base/ids.ts';
import { SmtpConfig } from '#providers/carriers/smtp/config.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { correctTexts } from '#db/commands/campaigns/corrections.ts';
import { pauseLead } from '#db/commands/campaigns/lead-pauses.ts';
import { IdRow, NoRows } from '#db/connection/rows.ts';
import type { TenantDb } from '#db/connection/transactions.ts';
import { lockCampaign } from '#db/queries/campaigns/campaigns.ts';
import { findMessage, type MessageRow } from '#db/queries/messages/messages.ts';
import { lockSequence } from '#db/queries/sending/message-locks.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { stayOpen, waitingForLocks } from '#test/support/locks.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  await createLine(app, workspace.id);
  await createLine(app, workspace.id, 'sms');
});

const { newCampaign, step, messagesOf, statusOf, tenant, takeBack } = campaignHelpers(() => ({
  app,
  workspace,
  api,
}));

const enter = async (id: string, to = phone()): Promise<string> =>
  (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to, firstName: 'Ada' } })).body.leadId;
const edit = (id: string, steps: object[]) => api('PATCH', `/api/campaigns/${id}`, { steps });
const corrections = async (id: string) => (await api('GET', `/api/campaigns/${id}/corrections`)).body.steps;
const correct = async (id: string, fields: object = {}) => {
  const { status, body } = await api('POST', `/api/campaigns/${id}/corrections`, {
    stepId: 'one',
    ...fields,
  });
  return status === 202 ? { edited: body.edited, sent: body.sent, nextCursor: body.nextCursor } : body;
};
/** What the contact sees of a campaign. */
const textsOf = async (id: string, leadId: string): Promise<string[]> =>
  (await messagesOf(id))
    .filter((message) => message.leadId === leadId && message.status !== 'canceled')
    .toSorted((a, b) => (a._id < b._id ? -1 : 1))
    .map(({ message }) => message);

const StateRow = z.object({ state: z.string() });

const one = { id: 'one', message: 'Friday, {{ firstName }}?' };
const fixed = { ...one, message: 'Monday, {{ firstName }}?' };
const later = { id: 'two', message: 'Two', delay: { days: 2 } };
const laterEmail = { ...later, messageType: 'email' };

describe('a text of a campaign that was sent', () => {
  it('is corrected where it is, once, and again when it changes again', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const to = phone();
    const leadId = await enter(id, to);
    const sent = await step(id, leadId, 0, 'delivered');
    expect(await corrections(id)).toEqual([]);

    const { body } = await api('POST', `/api/campaigns/${id}/dry-run`, {
      steps: [fixed, { id: 'between', message: 'Between' }],
    });
    expect(body).toEqual({
      success: true,
      changes: { added: ['between'], removed: ['two'], moved: [], changed: ['one'] },
      running: 1,
      steps: [
        { stepId: 'between', changes: ['added'], waiting: 0, received: 0 },
        { stepId: 'two', changes: ['removed'], waiting: 1, received: 0 },
        { stepId: 'one', changes: ['changed'], waiting: 0, received: 1 },
      ],
      corrections: [{ stepId: 'one', stepIndex: 0, leads: 1, byEdit: 1, byMessage: 0, cannot: [] }],
    });
    expect(await corrections(id)).toEqual([]);

    await edit(id, [fixed, later]);
    expect(await corrections(id)).toEqual(body.corrections);
    const both = await Promise.all([correct(id), correct(id)]);
    expect(both.map(({ edited }) => edited).toSorted()).toEqual([0, 1]);
    await eventually(async () => (await textsOf(id, leadId))[0] === 'Monday, Ada?');
    expect(await corrections(id)).toEqual([]);
    expect(await sentTo(app, to)).toHaveLength(1);
    const { events } = (await api('GET', `/api/messages/${sent._id}/timeline`)).body;
    expect(events.filter(({ type }: { type: string }) => type === 'edited')).toHaveLength(1);
    const session = await sessionClient(app, {
      userId: workspace.ownerId,
      organizationId: workspace.id,
      role: 'org:admin',
    });
    const { entries } = (await session('GET', '/api/audit-log?action=campaign.corrected')).body;
    expect(entries[0]).toMatchObject({ target: { id }, changes: { stepId: 'one' } });

    await edit(id, [{ ...one, message: 'Tuesday' }, later]);
    expect(await correct(id)).toEqual({ edited: 1, sent: 0, nextCursor: null });
    await eventually(async () => (await textsOf(id, leadId))[0] === 'Tuesday');
    // The first text again is one that nobody has.
    await edit(id, [one, later]);
    expect(await corrections(id)).toMatchObject([{ leads: 1 }]);
  });

  it('is corrected by a message where it cannot be edited, also after the campaign is completed', async () => {
    const id = await newCampaign({ steps: [{ ...one, messageType: 'sms' }, later], start: true });
    const to = phone();
    const leadId = await enter(id, to);
    await step(id, leadId, 0, 'delivered');
    await edit(id, [{ ...fixed, messageType: 'sms' }]);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await corrections(id)).toEqual([
      { stepId: 'one', stepIndex: 0, leads: 1, byEdit: 0, byMessage: 1, cannot: [] },
    ]);
    expect(await correct(id, { message: 'Sorry: Monday, {{ firstName }}.' })).toEqual({
      edited: 0,
      sent: 1,
      nextCursor: null,
    });
    await eventually(async () => (await sentTo(app, to)).length === 2);
    expect((await sentTo(app, to)).map(({ text }) => text)).toEqual([
      expect.stringContaining('Friday, Ada?'),
      expect.stringContaining('Sorry: Monday, Ada.'),
    ]);
    expect(await correct(id)).toEqual({ edited: 0, sent: 0, nextCursor: null });
    const [first, second] = (await messagesOf(id))
      .filter(({ status }) => status !== 'canceled')
      .toSorted((a, b) => (a._id < b._id ? -1 : 1));
    const { events } = (await api('GET', `/api/messages/${second?._id}/timeline`)).body;
    expect(events[0]).toMatchObject({ data: { corrects: first?._id, campaignVersion: 2 } });
    // It is no step.
    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    expect(steps[0]).toMatchObject({ leads: 1, sent: 1 });
  });

  it('is followed by a message if the edit fails', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const to = phone();
    const leadId = await enter(id, to);
    await step(id, leadId, 0, 'delivered');
    await edit(id, [fixed, later]);
    await tenant(async (db) => {
      const campaign = await lockCampaign(db, id);
      if (!campaign) throw new Error('there is no campaign');
      const request = {
        actorName: null,
        capabilitiesOf: () => ['edit' as const],
        reactsWithEmoji: () => false,
        publicUrl: app.url,
        now: new Date(),
      };
      const done = await correctTexts(db, campaign, { stepId: 'one', message: null }, request);
      expect(done).toMatchObject({ edited: 1, sent: 0 });
      // Its line does not get to it in time.
      await db.query(
        sql.type(
          NoRows,
        )`update message_actions set expires_at = now() where workspace_id = ${db.workspaceId}`,
      );
    });
    await eventually(async () => (await sentTo(app, to)).length === 2);
    await eventually(async () => (await textsOf(id, leadId)).at(-1) === 'Monday, Ada?');
    expect(await textsOf(id, leadId)).toEqual(['Friday, Ada?', 'Two', 'Monday, Ada?']);
    expect(await correct(id)).toMatchObject({ edited: 0, sent: 0 });
  });

  it('is not corrected for those who stopped, are paused or opted out', async () => {
    const id = await newCampaign({ steps: [one, later], start: true });
    const numbers = [phone(), phone(), phone()];
    const leads = await Promise.all(numbers.map((to) => enter(id, to)));
    for (const leadId of leads) await step(id, leadId, 0, 'delivered');
    await api('POST', `/api/campaigns/${id}/leads/${leads[0]}/stop`);
    await api('PATCH', `/api/leads/${leads[1]}/campaigns/${id}`, { resumesAt: null });
    await api('POST', '/api/opt-outs', { address: numbers[2] });
    await edit(id, [fixed, later]);
    expect(await corrections(id)).toMatchObject([
      {
        leads: 3,
        byEdit: 0,
        byMessage: 0,
        cannot: ['stopped', 'paused', 'opted_out'].map((reason) => ({ reason, leads: 1 })),
      },
    ]);
    expect(await correct(id)).toEqual({ edited: 0, sent: 0, nextCursor: null });
    for (const to of numbers) expect(await sentTo(app, to)).toHaveLength(1);
  });

  /** A lead that got a correction by email, which nobody reports as delivered. */
  async function corrected(steps: object[]): Promise<{ id: string; leadId: string; sent: MessageRow }> {
    // One for each, which waits after its carrier returns a message.
    const settings = { url: app.smtpUrl, inboundSecret: 'a secret for callbacks' };
    const carrier = { name: 'smtp', schema: SmtpConfig, settings };
    const eligibleLineIds = [await createLineAt(app, workspace.id, 'email', carrier)];
    const emails = [{ ...one, messageType: 'email' }, laterEmail];
    const id = await newCampaign({ steps: emails, eligibleLineIds, start: true });
    const lead = { email: `${newId()}@customer.example`, firstName: 'Ada' };
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead })).body;
    await step(id, leadId, 0, 'sent');
    await edit(id, [{ ...fixed, messageType: 'email' }, ...steps]);
    expect(await correct(id)).toMatchObject({ sent: 1 });
    const sent = await eventually(async () => {
      const [correction] = await tenant((db) =>
        db.anyFirst(sql.type(IdRow)`
          select sent_message_id id from campaign_corrections
          where workspace_id = ${db.workspaceId} and campaign_id = ${id} and sent_message_id is not null`),
      );
      const message = correction ? await tenant((db) => findMessage(db, correction)) : null;
      return message?.status === 'sent' && message;
    });
    return { id, leadId, sent };
  }

  it('leaves no correction waiting that returns after the campaign was archived', async () => {
    const { id, sent } = await corrected([]);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect((await api('POST', `/api/campaigns/${id}/archive`)).status).toBe(200);
    expect(await takeBack(sent.id)).toMatchObject({ status: 'canceled', holdReason: 'campaign_ended' });
  });

  it('is corrected for nobody who has stopped, or is paused, when the correction returns', async () => {
    const stopped = await corrected([laterEmail]);
    await api('POST', `/api/campaigns/${stopped.id}/leads/${stopped.leadId}/stop`);
    expect(await takeBack(stopped.sent.id)).toMatchObject({ status: 'canceled', holdReason: 'removed' });
    const paused = await corrected([laterEmail]);
    await api('PATCH', `/api/leads/${paused.leadId}/campaigns/${paused.id}`, { resumesAt: null });
    expect(await takeBack(paused.sent.id)).toMatchObject({ status: 'scheduled', holdReason: 'lead_paused' });
  });

  it('starts no sequence anew that is over when its correction returns', async () => {
    const { id, leadId, sent } = await corrected([]);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect(await takeBack(sent.id)).toMatchObject({ status: 'scheduled' });
    const state = await tenant((db) =>
      db.oneFirst(sql.type(StateRow)`
        select state from campaign_leads
        where workspace_id = ${db.workspaceId} and campaign_id = ${id} and lead_id = ${leadId}`),
    );
    expect(state).toBe('finished');
  });

  it('is not corrected for those who are paused while the corrections are written', async () => {
    const id = await newCampaign({ steps: [{ ...one, messageType: 'sms' }, later], start: true });
    const leadId = await enter(id);
    await step(id, leadId, 0, 'delivered');
    await edit(id, [{ ...fixed, messageType: 'sms' }, later]);
    const pausing = await stayOpen<TenantDb>(tenant, async (db) => {
      await lockSequence(db, id, leadId);
      await pauseLead(db, id, leadId, null, new Date());
    });
    const correcting = correct(id);
    await waitingForLocks(app, 1);
    await pausing.release();
    expect(await correcting).toMatchObject({ sent: 1 });
    const waiting = (await messagesOf(id)).filter(({ message }) => message.startsWith('Monday'));
    expect(waiting).toMatchObject([{ status: 'pending', holdReason: 'lead_paused' }]);
  });

  it.each([
    ['a step that is none', 'two-and-a-half', 400],
    ['a step without a text', 'wait', 400],
  ])('is refused for %s', async (_, stepId, status) => {
    const wait = { id: 'wait', kind: 'wait', for: { days: 1 } };
    const id = await newCampaign({ steps: [one, wait], start: true });
    expect((await api('POST', `/api/campaigns/${id}/corrections`, { stepId })).status).toBe(status);
  });
});
