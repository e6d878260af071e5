import { sql } from 'slonik';
import { z } from 'zod';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { newId } from '#domain/base/ids.ts';
import { removeLine } from '#test/support/agency-lines.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { lock } from '#test/support/locks.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { runSweep } from '#test/support/workflows.ts';
import { campaignWorkflowId, lineHandoverId, listDeletionId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let api: ApiClient;
beforeAll(async () => {
  app = await startTestApp({ worker: false });
});
afterAll(() => app.stop());
beforeEach(async () => {
  await app.stopWorker();
  workspace = await createWorkspace(app);
  await createLine(app, workspace.id);
  api = workspace.api;
});

const run = (query: ReturnType<typeof sql.fragment>) =>
  systemDb(app.pools).query(sql.type(z.unknown())`${query}`);
const count = (table: string) =>
  systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
    select count(*) from ${sql.identifier([table])} where workspace_id = ${workspace.id}`);

/** More rows than one request deletes. */
const MANY = 2500;

/** Creates a list of many leads, each with a scheduled message; the first lead is also in a second list. */
async function createLargeList(): Promise<{ listId: string; otherId: string }> {
  const make = async (name: string) => (await api('POST', '/api/lists', { name })).body.list._id;
  const [listId, otherId] = [await make('Large'), await make('Other')];
  await run(sql.fragment`
    insert into leads (workspace_id, id, list_id, phones)
    select ${workspace.id}, lpad(to_hex(n), 24, '0'), ${listId}, array['+1415' || (5000000 + n)] from generate_series(1, ${MANY}::int) n returning null`);
  await run(sql.fragment`
    insert into list_addresses (workspace_id, list_id, address, lead_id)
    select workspace_id, list_id, phones[1], id from leads where workspace_id = ${workspace.id} returning null`);
  await run(sql.fragment`
    insert into messages (workspace_id, id, channel, status, address, scheduled_at, source, lead_id)
    select workspace_id, id, 'imessage', 'scheduled', phones[1], now() + interval '1 day', 'api', id
    from leads where workspace_id = ${workspace.id} returning null`);
  await insertRow(app, 'list_addresses', {
    workspace_id: workspace.id,
    list_id: otherId,
    address: '+14155000001',
    lead_id: FIRST,
  });
  return { listId, otherId };
}
const idOf = (n: number) => n.toString(16).padStart(24, '0');
const [FIRST, LAST] = [idOf(1), idOf(MANY)];

const isDeleted = () =>
  eventually(async () => (await count('lead_lists')) === 2 && (await count('leads')) === 1);

describe('deleting a large list', () => {
  it('hides it and its leads at once, and a workflow deletes the rows', async () => {
    const { listId, otherId } = await createLargeList();
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    expect(await count('leads')).toBeGreaterThan(1000);

    const { lists } = (await api('GET', '/api/lists')).body;
    expect(lists.map(({ _id }: { _id: string }) => _id)).not.toContain(listId);
    for (const response of [
      await api('PATCH', `/api/lists/${listId}`, { name: 'Back' }),
      await api('DELETE', `/api/lists/${listId}`),
      await api('POST', '/api/leads', { listId, leads: [{ phone: '+14155559999' }] }),
      await api('GET', `/api/leads/${LAST}`),
      await api('POST', '/api/messages', { leadId: LAST, message: 'Hello' }),
    ])
      expect([400, 404]).toContain(response.status);
    expect((await api('GET', '/api/leads')).body.leads.map(({ _id }: { _id: string }) => _id)).toEqual([
      FIRST,
    ]);
    // Its numbers are free again: a message to one creates a new lead, which stays.
    const { body } = await api('POST', '/api/messages', {
      recipientPhone: `+1415${5_000_000 + MANY}`,
      message: 'Hello',
      scheduledDate: new Date(Date.now() + 3_600_000).toISOString(),
    });
    expect(body.leadId).not.toBe(LAST);

    await app.startWorker();
    // What is left: Quick Sends and the other list, the lead of the other list and the new lead.
    await eventually(async () => (await count('lead_lists')) === 2 && (await count('leads')) === 2);
    expect((await api('GET', `/api/leads/${FIRST}`)).body.lead).toMatchObject({ listId: otherId });
    expect((await api('GET', `/api/leads/${body.leadId}`)).status).toBe(200);
    const waiting = await api('GET', '/api/messages?status=scheduled');
    expect(waiting.body.messages.map(({ leadId }: { leadId: string }) => leadId).toSorted()).toEqual(
      [FIRST, body.leadId].toSorted(),
    );
    expect(await count('list_addresses')).toBe(2);
  });

  it('enters no lead of it into a campaign', async () => {
    const { listId } = await createLargeList();
    const steps = [{ message: 'One' }];
    const id = (await api('POST', '/api/campaigns', { name: 'Spring', steps, listId })).body.campaign._id;
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    expect((await api('POST', `/api/campaigns/${id}/start`)).status).toBe(404);
    const forecast = await api('POST', `/api/campaigns/${id}/forecast`);
    expect(forecast.body).toMatchObject({ success: true, byDay: [] });

    // As if it had started at the same time in a process of the previous release.
    await run(sql.fragment`update campaigns set status = 'active' where id = ${id}`);
    await withTenant(app.pools, workspace.id, async (db) =>
      wake(db, campaignWorkflowId(id), new Date(), 'leadsAdded'),
    );
    await app.startWorker();
    const { progress } = await eventually(async () => {
      const { body } = await api('GET', `/api/campaigns/${id}`);
      return body.progress.enteredAll && body;
    });
    expect(progress).toMatchObject({ entered: 0 });
    expect((await api('GET', `/api/messages?campaignId=${id}`)).body.messages).toEqual([]);
  });

  it('leaves a lead that is being changed to its workflow', async () => {
    const listId = (await api('POST', '/api/lists', { name: 'Small' })).body.list._id;
    const leads = [{ phone: '+14155559990' }, { phone: '+14155559991' }];
    const [changed = ''] = (await api('POST', '/api/leads', { listId, leads })).body.leadIds;
    const held = await lock(app, 'leads', changed);
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    expect([await count('leads'), (await api('GET', '/api/leads')).body.leads]).toEqual([1, []]);
    await held.release();
    await app.startWorker();
    await eventually(async () => (await count('lead_lists')) === 0 && (await count('list_addresses')) === 0);
    expect(await count('leads')).toBe(0);
  });

  it('continues after its workflow was terminated', async () => {
    const { listId } = await createLargeList();
    await api('GET', '/api/lists');
    expect((await api('DELETE', `/api/lists/${listId}`)).status).toBe(200);
    const workflow = app.temporal.workflow.getHandle(listDeletionId(listId));
    await eventually(() => workflow.terminate().then(() => true));
    await app.startWorker();
    // As if the workflow had missed its time to continue.
    await run(sql.fragment`
      update workflow_wakes set wake_at = now() - interval '5 minutes', sweep_at = now() - interval '1 minute' where workflow_id = ${listDeletionId(listId)}`);
    await runSweep(app);
    await isDeleted();
    expect(await count('workflow_wakes')).toBe(0);
  });
});

describe('a line with a long queue', () => {
  const LONG = 4500;
  let owner: ApiClient;
  let other: TestWorkspace;
  let lineId: string;
  let second: string;

  beforeEach(async () => {
    const created = await createAgencyWithTwoWorkspaces(app);
    ({ first: workspace, second: other } = created);
    api = workspace.api;
    owner = await sessionClient(app, { userId: created.agency.ownerId });
    lineId = await createLine(app, workspace.id);
    second = await createLine(app, workspace.id);
    // Each has its own time; every third is pinned to the line, every fifth is held by its campaign.
    await run(sql.fragment`
      insert into messages (workspace_id, id, channel, status, line_id, line_pinned, held, address, scheduled_at, source)
      select ${workspace.id}, lpad(to_hex(n), 24, '0'), 'imessage', 'scheduled', ${lineId}, n % 3 = 0, n % 5 = 0,
        '+1415' || (5000000 + n), now() + interval '1 day' + n * interval '1 second', 'api' from generate_series(1, ${LONG}::int) n returning null`);
    await run(sql.fragment`
      insert into conversations (workspace_id, address, line_id, last_outbound_at)
      select workspace_id, address, line_id, now() from messages where workspace_id = ${workspace.id} returning null`);
    await run(sql.fragment`
      insert into line_contacts (workspace_id, line_id, address, since)
      select workspace_id, line_id, address, now() from messages where workspace_id = ${workspace.id}`);
  });

  const at = (table: string, line: string) =>
    systemDb(app.pools).oneFirst(sql.type(z.object({ count: z.int() }))`
      select count(*) from ${sql.identifier([table])} where workspace_id = ${workspace.id} and line_id = ${line}`);
  const waiting = async () => (await api('GET', '/api/messages?status=scheduled&limit=200')).body.messages;

  it.each(['delete', 'transfer'] as const)(
    'hands it over in chunks, the earliest messages first (%s)',
    async (action) => {
      expect((await removeLine(owner, lineId, action, other)).status).toBe(200);
      const left = await at('messages', lineId);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThan(LONG);
      expect((await api('GET', `/api/messages/${FIRST}`)).body.fromLineId).toBe(second);

      // Messages that are not handed over yet remain visible and can be canceled.
      expect(await waiting()).toHaveLength(200);
      const last = idOf(LONG);
      expect((await api('POST', `/api/messages/${last}/cancel`)).status).toBe(200);

      await app.startWorker();
      await eventually(
        async () => (await at('conversations', lineId)) + (await at('line_contacts', lineId)) === 0,
      );
      expect(await at('messages', second)).toBe(LONG - 1);
      expect((await api('GET', `/api/messages/${last}`)).body).toMatchObject({
        status: 'canceled',
        fromLineId: lineId,
      });
      const times = await systemDb(app.pools).oneFirst(sql.type(z.object({ kept: z.boolean() }))`
      select bool_and(scheduled_at = first + ('x' || right(id, 8))::bit(32)::int * interval '1 second') kept from (
        select id, scheduled_at, min(scheduled_at) over () - interval '1 second' "first" from messages where workspace_id = ${workspace.id}) m`);
      expect(times).toBe(true);
    },
  );

  it('keeps the rest of its queue if it comes back', async () => {
    await removeLine(owner, lineId, 'transfer', other);
    await removeLine(owner, lineId, 'transfer', workspace);
    const rest = await at('messages', lineId);
    expect(rest).toBeGreaterThan(0);
    await app.startWorker();
    await eventually(async () => {
      const { status } = await app.temporal.workflow
        .getHandle(lineHandoverId(lineId, workspace.id))
        .describe();
      return status.name === 'COMPLETED';
    });
    expect(await at('messages', lineId)).toBe(rest);
    expect(await at('line_contacts', lineId)).toBe(LONG);
  });

  it('hands over the messages that are not pinned to it when it is switched off', async () => {
    await api('PATCH', `/api/lines/${lineId}`, { isActive: false });
    await app.startWorker();
    await eventually(async () => (await at('messages', lineId)) === LONG / 3);
    // Each message is handed over only once.
    expect(await at('messages', second)).toBe((LONG / 3) * 2);
  });
});

describe('deleting a large campaign', () => {
  const LEADS = 6000;

  it('hides it at once, and its workflow removes its leads and cancels its messages', async () => {
    const { body } = await api('POST', '/api/campaigns', { name: 'Large', steps: [{ message: 'One' }] });
    const id = body.campaign._id;
    const sent = newId();
    await run(sql.fragment`update campaigns set status = 'active' where id = ${id}`);
    await run(sql.fragment`
      insert into campaign_leads (workspace_id, campaign_id, lead_id)
      select ${workspace.id}, ${id}, lpad(to_hex(n), 24, '0') from generate_series(1, ${LEADS}::int) n returning null`);
    await run(sql.fragment`
      insert into messages (workspace_id, id, channel, status, address, scheduled_at, source, lead_id, campaign_id)
      select ${workspace.id}, lead_id, 'imessage', 'scheduled', '+14155550100', now() + interval '1 day', 'campaign', lead_id, ${id}
      from campaign_leads where workspace_id = ${workspace.id} returning null`);
    await insertRow(app, 'messages', {
      workspace_id: workspace.id,
      id: sent,
      channel: 'imessage',
      status: 'sent',
      address: '+14155550100',
      scheduled_at: new Date(),
      source: 'campaign',
      campaign_id: id,
    });
    expect((await api('DELETE', `/api/campaigns/${id}`)).status).toBe(200);
    expect((await api('GET', `/api/campaigns/${id}`)).status).toBe(404);
    expect((await api('GET', '/api/campaigns')).body.campaigns).toEqual([]);
    expect(await count('campaign_leads')).toBe(LEADS);
    await app.startWorker();
    await eventually(async () => (await count('campaigns')) === 0 && (await count('campaign_leads')) === 0);
    expect((await api('GET', '/api/messages?status=scheduled')).body.messages).toEqual([]);
    expect((await api('GET', `/api/messages/${sent}`)).body).toMatchObject({ status: 'sent' });
    await expect(app.temporal.workflow.getHandle(campaignWorkflowId(id)).result()).resolves.toContain(
      'archived or deleted',
    );
  });
});
