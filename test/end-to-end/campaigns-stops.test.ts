import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { stopContact } from '#db/commands/campaigns/campaign-stops.ts';
import { withSystem, withTenant } from '#db/transactions.ts';
import { newId } from '#domain/ids.ts';
import { eventually, startTestApp, type TestApp } from '#test/support/app.ts';
import { campaignWorld, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, insertRow, type TestWorkspace } from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { campaignWorkflowId } from '#workflows/messages/wake.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await startTestApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
});
afterAll(() => app.stop());

const { newList, newCampaign, statusOf, progressOf, messagesOf, stepsOf, step, hasLeft } = campaignWorld(
  () => ({
    app,
    workspace,
    api,
  }),
);

describe('what stops a lead', () => {
  const entered = async (fields: object = {}, behaviour = '1111') => {
    const to = phone(behaviour);
    const id = await newCampaign({ start: true, ...fields });
    const { leadId } = (
      await api('POST', `/api/campaigns/${id}/leads`, {
        lead: { phone: to, email: `${to.slice(1)}@example.com` },
      })
    ).body;
    return { id, leadId, to };
  };
  const stopped = async (id: string) => eventually(async () => (await progressOf(id)).stopped === 1);

  it('a reply, from whichever of its addresses; the remaining steps are canceled', async () => {
    const { id, leadId, to } = await entered();
    await step(id, leadId, 1, 'scheduled');
    await callBack(app, lineId, replyEvent(`${to.slice(1)}@example.com`, 'Tell me more'));
    expect(await progressOf(id)).toMatchObject({ running: 0, stopped: 1 });
    const steps = await stepsOf(id, leadId);
    expect(steps[1]).toMatchObject({ status: 'canceled', holdReason: 'reply' });
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('the last lead, while the campaign is just looking how far it is', async () => {
    const { id, leadId, to } = await entered();
    await step(id, leadId, 0, 'delivered');
    await withTenant(app.pools, workspace.id, async (db) => {
      await stopContact(db, to, 'reply', new Date());
      // The look ends before this is committed: what it saw by then must not be its last word.
      const before = await wakeAt(id);
      await app.temporal.workflow.getHandle(campaignWorkflowId(id)).signal('leadsDone');
      await eventually(async () => (await wakeAt(id)) > before);
    });
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('not an automatic reply, nor a reply where the campaign goes on', async () => {
    const automatic = await entered();
    await callBack(app, lineId, replyEvent(automatic.to, 'Out of office', { autoReply: true }));
    expect((await progressOf(automatic.id)).running).toBe(1);
    const steady = await entered({ stopOnReply: false });
    await callBack(app, lineId, replyEvent(steady.to, 'Thanks'));
    expect((await progressOf(steady.id)).running).toBe(1);
  });

  it('an opt-out, even where the campaign goes on after replies', async () => {
    const { id, to } = await entered({ stopOnReply: false });
    await callBack(app, lineId, replyEvent(to, 'STOP'));
    expect((await progressOf(id)).stopped).toBe(1);
  });

  it('a permanent failure', async () => {
    const { id, leadId } = await entered({}, '0002');
    await stopped(id);
    expect((await stepsOf(id, leadId)).map(({ status }) => status)).toEqual(['failed', 'canceled']);
  });

  it('deleting the lead', async () => {
    const { id, leadId } = await entered();
    await api('DELETE', `/api/leads/${leadId}`);
    expect((await progressOf(id)).entered).toBe(0);
    expect((await stepsOf(id, leadId))[1]?.status).toBe('canceled');
  });

  describe.concurrent('of the last lead under way completes the campaign at once:', () => {
    const last = async (fields: object = {}) => {
      // One lead is through already: a campaign whose only lead is deleted has had none.
      const [gone, to] = [phone(), phone()];
      const { listId, leadIds } = await newList([{ phone: to }]);
      const id = await newCampaign({ start: true, ...fields });
      const enter = async (lead: object) =>
        (await api('POST', `/api/campaigns/${id}/leads`, lead)).body.leadId as string;
      await step(id, await enter({ lead: { phone: gone } }), 0, 'delivered');
      const leadId = await enter({ leadId: leadIds[0] });
      await callBack(app, lineId, replyEvent(gone, 'No'));
      return { id, to, listId, leadId };
    };

    it.each<[string, (lead: { to: string; leadId: string; listId: string }) => Promise<unknown>]>([
      ['an opt-out', async ({ to }) => api('POST', '/api/opt-outs', { address: to })],
      ['the word STOP', async ({ to }) => callBack(app, lineId, replyEvent(to, 'STOP'))],
      ['a hard bounce of what was sent', async ({ to }) => callBack(app, lineId, await bounceOf(to))],
      ['deleting it', async ({ leadId }) => api('DELETE', `/api/leads/${leadId}`)],
      ['deleting its list', async ({ listId }) => api('DELETE', `/api/lists/${listId}`)],
    ])('%s', async (_, end) => {
      const { id, ...lead } = await last();
      await step(id, lead.leadId, 0, 'delivered');
      await asleep(id);
      await end(lead);
      await eventually(async () => (await statusOf(id)) === 'completed');
    });

    it('an opt-out that its line finds when it sends', async () => {
      const slow = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 10_000 });
      const { id, to } = await last({ steps: [now], eligibleLineIds: [slow] });
      await asleep(id);
      await insertRow(app, 'opt_outs', { workspace_id: workspace.id, address: to, source: 'api' });
      await api('PATCH', `/api/lines/${slow}`, { minGapSeconds: 0 });
      await eventually(async () => (await statusOf(id)) === 'completed');
    });
  });

  it('no step leaves after the reply is stored, though many are due at that moment', async () => {
    const busy = await createLine(app, workspace.id);
    const id = await newCampaign({
      steps: Array.from({ length: 40 }, (_, index) => ({ message: `Step ${index}` })),
      eligibleLineIds: [busy],
      start: true,
    });
    const to = phone();
    const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
    await eventually(async () => (await sentTo(app, to)).length >= 3);
    await callBack(app, busy, replyEvent(to, 'Stop it please'));
    const statuses = (await stepsOf(id, leadId)).map(({ status }) => status);
    // One may be with the carrier at that moment: it was claimed before.
    const left = statuses.filter((status) => ['sent', 'delivered', 'pending'].includes(status)).length;
    expect(statuses.filter((status) => status === 'canceled').length).toBe(40 - left);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect((await sentTo(app, to)).length).toBe(left);
  });
});

describe('pausing', () => {
  it('keeps every message, its time and its place; resuming sends them in the same order', async () => {
    const slow = await createLine(app, workspace.id, 'imessage', { is_active: false });
    const leads = Array.from({ length: 5 }, (_, index) => ({ firstName: String(index), phone: phone() }));
    const id = await newCampaign({ steps: [now], eligibleLineIds: [slow, lineId] });
    await api('PATCH', `/api/campaigns/${id}`, { eligibleLineIds: [slow] });
    expect((await api('POST', `/api/campaigns/${id}/start`)).body.code).toBe('NO_ACTIVE_LINE');
    await api('PATCH', `/api/lines/${slow}`, { isActive: true, minGapSeconds: 10_000 });
    await api('POST', `/api/campaigns/${id}/start`);
    for (const lead of leads) await api('POST', `/api/campaigns/${id}/leads`, { lead });
    const queue = async () => {
      const waiting = (await messagesOf(id)).filter(
        ({ status }) => status === 'pending' || status === 'scheduled',
      );
      return waiting.toSorted(
        (a, b) => Date.parse(a.scheduledDate ?? '') - Date.parse(b.scheduledDate ?? ''),
      );
    };
    await eventually(async () => (await queue()).length === 4);
    const before = (await queue()).map(({ _id, scheduledDate }) => [_id, scheduledDate]);
    expect((await api('POST', `/api/campaigns/${id}/pause`)).body.campaign.status).toBe('paused');
    await api('PATCH', `/api/lines/${slow}`, { minGapSeconds: 0 });
    const held = await queue();
    expect(held.map(({ _id, scheduledDate }) => [_id, scheduledDate])).toEqual(before);
    const other = (
      await api('POST', '/api/messages', {
        message: 'Not of the campaign',
        recipientPhone: phone(),
        fromLineId: slow,
      })
    ).body;
    await hasLeft(other._id);
    expect(await queue()).toHaveLength(4);
    expect((await api('POST', `/api/campaigns/${id}/resume`)).body.campaign.status).toBe('active');
    await eventually(async () => (await statusOf(id)) === 'completed');
    const order = await attemptOrder(slow);
    expect(order.filter((messageId) => before.some(([queued]) => queued === messageId))).toEqual(
      before.map(([queued]) => queued),
    );
  });

  it('archiving and deleting cancel what has not left', async () => {
    for (const end of [
      ['POST', '/archive'],
      ['DELETE', ''],
    ] as const) {
      const id = await newCampaign({ start: true });
      const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } })).body;
      expect((await api(end[0], `/api/campaigns/${id}${end[1]}`)).status).toBe(200);
      await step(id, leadId, 1, 'canceled');
    }
  });
});

/** When the campaign's workflow looks how far it is. */
const wakeAt = (id: string): Promise<Date> =>
  withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ at: z.date() }))`
      select wake_at "at" from workflow_wakes where workflow_id = ${campaignWorkflowId(id)}`),
  );

/** The campaign's workflow has looked how far it is, and does not look again soon unless it is woken. */
const asleep = (id: string) => eventually(async () => (await wakeAt(id)).getTime() > Date.now() + 60_000);

/** What the carrier tells when an address that it had sent to turns out to be dead. */
async function bounceOf(to: string) {
  const carrierMessageId = await withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ carrierMessageId: z.string() }))`
      select carrier_message_id from attempts where address = ${to}`),
  );
  const receipt = { kind: 'receipt', status: 'failed', deadAddress: true } as const;
  return { ...receipt, eventId: newId(), at: new Date(), carrierMessageId };
}

/** The order in which a line tried its messages. */
async function attemptOrder(line: string): Promise<string[]> {
  const ids = await withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ messageId: z.string() }))`
      select a.message_id from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
      where a.line_id = ${line} order by a.started_at, m.scheduled_at, m.arrival`),
  );
  return [...ids];
}
