import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { clearCampaign } from '#db/commands/campaigns/campaign-status.ts';
import { stopContact } from '#db/commands/campaigns/campaign-stops.ts';
import { pauseLead } from '#db/commands/campaigns/lead-pauses.ts';
import { releasePersonalized } from '#db/commands/campaigns/personalizations.ts';
import { NoRows } from '#db/connection/rows.ts';
import {
  type SystemTransaction,
  type TenantDb,
  withSystem,
  withTenant,
} from '#db/connection/transactions.ts';
import { lockContact } from '#db/queries/sending/message-locks.ts';
import { newId } from '#domain/base/ids.ts';
import { FunnelCount } from '#domain/campaigns/campaign-lead.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers, later, now } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import {
  createAgency,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { stayOpen, waitingForLocks } from '#test/support/locks.ts';
import { campaignWorkflowId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let agencyId: string;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;
beforeAll(async () => {
  app = await sharedApp();
  agencyId = (await createAgency(app)).id;
  workspace = await createWorkspace(app, { agency_id: agencyId });
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
});

const { newList, newCampaign, statusOf, progressOf, messagesOf, stepsOf, step, hasLeft } = campaignHelpers(
  () => ({
    app,
    workspace,
    api,
  }),
);

describe('a lead in a campaign', () => {
  const enterLead = async (fields: object = {}, behaviour = '1111') => {
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

  it('is stopped by a reply from any of its addresses, which cancels the remaining steps', async () => {
    const { id, leadId, to } = await enterLead();
    await step(id, leadId, 1, 'scheduled');
    await callBack(app, lineId, replyEvent(`${to.slice(1)}@example.com`, 'Tell me more'));
    expect(await progressOf(id)).toMatchObject({ running: 0, stopped: 1 });
    const steps = await stepsOf(id, leadId);
    expect(steps[1]).toMatchObject({ status: 'canceled', holdReason: 'reply' });
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('is listed with its place, under every number of the funnel that counts it, and stopped by hand', async () => {
    const { id, leadId, to } = await enterLead({ stopOnReply: false });
    // The numbers stay as they are while they are compared.
    await step(id, leadId, 0, 'delivered');
    const failed = await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone('0002') } });
    await step(id, failed.body.leadId, 0, 'failed');
    await callBack(app, lineId, replyEvent(to, 'Tell me more'));
    const listed = async (query = '') =>
      (await api('GET', `/api/campaigns/${id}/leads${query}`)).body.leads.map(
        (lead: { leadId: string }) => lead.leadId,
      );
    const { body } = await api('GET', `/api/campaigns/${id}/leads`);
    expect(body).toMatchObject({
      leads: [
        {
          leadId: failed.body.leadId,
          state: 'stopped',
          stopReason: 'failed',
          stepIndex: null,
          waitingFor: null,
        },
        {
          leadId,
          phone: to,
          state: 'running',
          stopReason: null,
          stepIndex: 1,
          waitsUntil: null,
          // As of its message.
          waitingFor: { reason: 'scheduled', until: (await stepsOf(id, leadId))[1]?.scheduledDate },
        },
      ],
      nextCursor: null,
    });
    const first = await api('GET', `/api/campaigns/${id}/leads?limit=1`);
    expect(await listed(`?cursor=${first.body.nextCursor}`)).toEqual([leadId]);
    expect(await listed('?state=stopped')).toEqual([failed.body.leadId]);

    const { steps } = (await api('GET', `/api/campaigns/${id}/funnel`)).body;
    for (const { stepIndex, skipped, replied, optedOut, ...counts } of steps) {
      const numbers = {
        ...counts,
        skipped: skipped.reduce((sum: number, { leads }: { leads: number }) => sum + leads, 0),
        replied: replied.leads,
        optedOut: optedOut.leads,
      };
      for (const counted of FunnelCount.options) {
        const shown = await listed(`?stepIndex=${stepIndex}&counted=${counted}`);
        expect({ stepIndex, counted, leads: shown.length }).toEqual({
          stepIndex,
          counted,
          leads: numbers[counted],
        });
      }
    }

    const { place } = (await api('POST', `/api/campaigns/${id}/leads/${leadId}/stop`)).body;
    expect(place).toMatchObject({ leadId, state: 'stopped', stopReason: 'removed', stepIndex: null });
    expect((await stepsOf(id, leadId))[1]).toMatchObject({ status: 'canceled', holdReason: 'removed' });
    expect((await api('POST', `/api/campaigns/${id}/leads/${leadId}/stop`)).body.place).toEqual(place);
    expect((await api('POST', `/api/campaigns/${id}/leads/${id}/stop`)).status).toBe(404);
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('completes the campaign if it is stopped while the campaign counts its leads', async () => {
    const { id, leadId, to } = await enterLead();
    await step(id, leadId, 0, 'delivered');
    await withTenant(app.pools, workspace.id, async (db) => {
      await stopContact(db, to, 'reply', new Date());
      // The count ends before this transaction commits, so the campaign must count once more.
      const before = await wakeAt(id);
      await app.temporal.workflow.getHandle(campaignWorkflowId(id)).signal('leadsDone');
      await eventually(async () => (await wakeAt(id)) > before);
    });
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('is not stopped by an automatic reply, nor by a reply if stopOnReply is false', async () => {
    const automatic = await enterLead();
    await callBack(app, lineId, replyEvent(automatic.to, 'Out of office', { autoReply: true }));
    expect((await progressOf(automatic.id)).running).toBe(1);
    const steady = await enterLead({ stopOnReply: false });
    await callBack(app, lineId, replyEvent(steady.to, 'Thanks'));
    expect((await progressOf(steady.id)).running).toBe(1);
  });

  it('is stopped by an opt-out even if stopOnReply is false', async () => {
    const { id, to } = await enterLead({ stopOnReply: false });
    await callBack(app, lineId, replyEvent(to, 'STOP'));
    expect((await progressOf(id)).stopped).toBe(1);
  });

  it('is stopped by a permanent failure', async () => {
    const { id, leadId } = await enterLead({}, '0002');
    await stopped(id);
    expect((await stepsOf(id, leadId)).map(({ status }) => status)).toEqual(['failed', 'canceled']);
  });

  it.each([
    ['opted out', async (address: string) => api('POST', '/api/opt-outs', { address })],
    [
      'suppressed by the agency',
      async (value: string) => insertRow(app, 'agency_suppressions', { agency_id: agencyId, value }),
    ],
  ])('is stopped when another message to it fails, because it is %s', async (_, refuse) => {
    const to = phone();
    await refuse(to);
    const steps = [{ message: 'One', delay: { hours: 1 } }, later];
    const { listId } = await newList([{ phone: to }]);
    const id = await newCampaign({ steps, listId, start: true });
    await eventually(async () => (await messagesOf(id)).length === 2);
    const { status, body } = await api('POST', '/api/messages', { message: 'Hi', recipientPhone: to });
    expect([status, body.status]).toEqual([201, 'failed']);
    expect(await progressOf(id)).toMatchObject({ running: 0, stopped: 1 });
    expect((await messagesOf(id)).map((message) => message.status)).toEqual(['failed', 'failed']);
    await eventually(async () => (await statusOf(id)) === 'completed');
  });

  it('is stopped when it is deleted', async () => {
    const { id, leadId } = await enterLead();
    await api('DELETE', `/api/leads/${leadId}`);
    expect((await progressOf(id)).entered).toBe(0);
    expect((await stepsOf(id, leadId))[1]?.status).toBe('canceled');
  });

  describe.concurrent('that is the last one running completes the campaign at once', () => {
    const enterLast = async (fields: object = {}) => {
      // Another lead has finished: a campaign whose only lead is deleted has had none.
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
      ['by an opt-out', async ({ to }) => api('POST', '/api/opt-outs', { address: to })],
      ['by the word STOP', async ({ to }) => callBack(app, lineId, replyEvent(to, 'STOP'))],
      ['by a hard bounce', async ({ to }) => callBack(app, lineId, await bounceOf(to))],
      ['when it is deleted', async ({ leadId }) => api('DELETE', `/api/leads/${leadId}`)],
      ['when its list is deleted', async ({ listId }) => api('DELETE', `/api/lists/${listId}`)],
    ])('%s', async (_, end) => {
      const { id, ...lead } = await enterLast();
      await step(id, lead.leadId, 0, 'delivered');
      await asleep(id);
      await end(lead);
      await eventually(async () => (await statusOf(id)) === 'completed');
    });

    it('by an opt-out that is found when its message is due', async () => {
      const slow = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 10_000 });
      const { id, to, leadId } = await enterLast({ steps: [now], eligibleLineIds: [slow] });
      await asleep(id);
      await insertRow(app, 'opt_outs', { workspace_id: workspace.id, address: to, source: 'api' });
      await api('PATCH', `/api/lines/${slow}`, { minGapSeconds: 0 });
      await eventually(async () => (await statusOf(id)) === 'completed');
      // As the funnel says: it has not failed.
      const { place } = (await api('GET', `/api/leads/${leadId}/campaigns/${id}`)).body;
      expect(place.stopReason).toBe('opt_out');
    });
  });

  it('is sent no step after its reply is stored, even if many are due', async () => {
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
    // One may be with the carrier at that moment, since it was claimed before.
    const left = statuses.filter((status) => ['sent', 'delivered', 'pending'].includes(status)).length;
    expect(statuses.filter((status) => status === 'canceled').length).toBe(40 - left);
    await eventually(async () => (await statusOf(id)) === 'completed');
    expect((await sentTo(app, to)).length).toBe(left);
  });
});

describe('a campaign', () => {
  it('keeps its messages with their times and order while it is paused, and sends them when it is resumed', async () => {
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

  it('cancels its unsent messages when it is archived or deleted', async () => {
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

test('an archived campaign is not done before it has canceled a message that changes meanwhile', async () => {
  const id = await newCampaign({ steps: [now] });
  const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: phone() } })).body;
  const clear = () => withTenant(app.pools, workspace.id, (db) => clearCampaign(db, id, 10));
  // Stops the lead.
  expect(await clear()).toBe(false);
  const changing = await stayOpen<SystemTransaction>(
    (work) => withSystem(app.pools, work),
    (db) =>
      db.query(sql.type(NoRows)`
        update messages set updated_at = now() where workspace_id = ${workspace.id} and campaign_id = ${id}`),
  );
  const clearing = clear();
  await waitingForLocks(app, 1);
  await changing.release();
  expect([await clearing, await clear(), await clear()]).toEqual([false, false, true]);
  expect(await stepsOf(id, leadId)).toMatchObject([{ status: 'canceled', holdReason: 'campaign_ended' }]);
});

test('a lead that is paused while the model writes to it gets the text when it goes on', async () => {
  const to = phone();
  const id = await newCampaign({ steps: [now], needsAiPersonalization: true });
  const { leadId } = (await api('POST', `/api/campaigns/${id}/leads`, { lead: { phone: to } })).body;
  const message = { id: (await stepsOf(id, leadId))[0]?._id ?? '', body: now.message };
  const pausing = await stayOpen<TenantDb>(
    (work) => withTenant(app.pools, workspace.id, work),
    async (db) => {
      await lockContact(db, to);
      await pauseLead(db, id, leadId, null, new Date());
    },
  );
  const use = { model: 'test', promptTokens: null, completionTokens: null };
  const releasing = withTenant(app.pools, workspace.id, (db) =>
    releasePersonalized(db, message, use, { text: 'Dear Ada' }),
  );
  await Promise.race([releasing, waitingForLocks(app, 1)]);
  await pausing.release();
  await releasing;
  const written = { message: 'Dear Ada', holdReason: 'lead_paused' };
  expect((await stepsOf(id, leadId))[0]).toMatchObject(written);
});

/** When the campaign's workflow next counts its leads. */
const wakeAt = (id: string): Promise<Date> =>
  withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ at: z.date() }))`
      select wake_at "at" from workflow_wakes where workflow_id = ${campaignWorkflowId(id)}`),
  );

/** Waits until the campaign's workflow has counted its leads and sleeps until it is woken. */
const asleep = (id: string) => eventually(async () => (await wakeAt(id)).getTime() > Date.now() + 60_000);

/** The carrier's event for an address that turns out to be dead after the send. */
async function bounceOf(to: string) {
  const carrierMessageId = await withSystem(app.pools, (db) =>
    db.oneFirst(sql.type(z.object({ carrierMessageId: z.string() }))`
      select carrier_message_id from attempts where address = ${to}`),
  );
  const receipt = { kind: 'receipt', status: 'failed', deadAddress: true } as const;
  return { ...receipt, eventId: newId(), at: new Date(), carrierMessageId };
}

/** @returns the messages of a line in the order of their attempts. */
async function attemptOrder(line: string): Promise<string[]> {
  const ids = await withSystem(app.pools, (db) =>
    db.anyFirst(sql.type(z.object({ messageId: z.string() }))`
      select a.message_id from attempts a join messages m on m.workspace_id = a.workspace_id and m.id = a.message_id
      where a.line_id = ${line} order by a.started_at, m.scheduled_at, m.arrival`),
  );
  return [...ids];
}
