import { sql } from 'slonik';
import { createSigner } from '#providers/signer.ts';
import { createUnsubscribeLinks } from '#providers/unsubscribe-link.ts';
import { z } from 'zod';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { newId } from '#domain/base/ids.ts';
import { signalWorkflow } from '#providers/temporal.ts';
import { transferLine } from '#test/support/agency-lines.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createCopilot, createDraft, waitForEnd } from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import {
  createAgencyWithTwoWorkspaces,
  createLine,
  createWorkspace,
  insertRow,
  type TestWorkspace,
} from '#test/support/factories.ts';
import { callBack, replyEvent } from '#test/support/inbound.ts';
import { deadlockCount, lock, race } from '#test/support/locks.ts';
import { ask, DANA } from '#test/support/operators.ts';
import { newPerson, type Person, plantContact, type Planted, traces } from '#test/support/planted-contact.ts';
import { filesOf, findTraces } from '#test/support/traces.ts';
import { decide } from '#workflows/protocol/updates.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
let receiver: Endpoint;
beforeAll(async () => {
  app = await startTestApp();
  receiver = await startEndpoint();
});
afterAll(async () => {
  await receiver.close();
  await app.stop();
});

const one = async (query: ReturnType<typeof sql.fragment>): Promise<unknown> =>
  app.pools.system.maybeOneFirst(sql.type(z.record(z.string(), z.unknown()))`${query}`);

const erase = async ({ api }: Pick<Planted, 'api'>, leadId: string) => {
  const { status, body } = await api('DELETE', `/api/leads/${leadId}?erase=true`);
  expect([status, body]).toEqual([202, { success: true }]);
};

/** Until nothing of it is left to do. */
const erased = (workspaceId: string) =>
  eventually(
    async () =>
      (await one(sql.fragment`select count(*) from contact_erasures where workspace_id = ${workspaceId}`)) ===
      0,
    60_000,
  );

/** What is counted and charged, of a workspace. */
async function counts({ api, workspace, campaignId }: Planted) {
  const to = new Date(Date.now() + 3_600_000).toISOString();
  const from = new Date(Date.now() - 86_400_000).toISOString();
  const rows = await Promise.all(
    [
      'messages',
      'attempts',
      'inbound_messages',
      'calls',
      'ai_drafts',
      'campaign_leads',
      'webhook_deliveries',
      'conversations',
    ].map(async (table) => [
      table,
      await one(
        sql.fragment`select count(*) from ${sql.identifier([table])} where workspace_id = ${workspace.id}`,
      ),
    ]),
  );
  const campaign = (await api('GET', `/api/campaigns/${campaignId}`)).body.campaign;
  return {
    rows: Object.fromEntries(rows) as Record<string, number>,
    analytics: (await api('GET', `/api/analytics?from=${from}&to=${to}`)).body,
    series: (await api('GET', `/api/analytics/timeseries?from=${from}&to=${to}`)).body.series,
    entered: campaign.progress?.entered,
  };
}

describe('erasing a contact that has touched everything', () => {
  let person: Person;
  let planted: Planted;
  let neighbour: Planted;
  let before: Awaited<ReturnType<typeof counts>>;
  beforeAll(async () => {
    person = newPerson();
    planted = await plantContact(app, receiver, person);
    neighbour = await plantContact(app, receiver, person);
    before = await counts(planted);
    // One that is accepted in bulk, and not a message yet.
    await insertDrip(planted, person);
    await erase(planted, planted.otherLeadId);
  });

  it('sends nothing any more from the answer on', async () => {
    const { api, leadId, messages } = planted;
    expect((await api('GET', `/api/leads/${leadId}`)).status).toBe(404);
    expect((await api('GET', `/api/messages/${messages.scheduled}`)).body.status).toBe('canceled');
    const waiting = await one(sql.fragment`
      select count(*) from messages
      where workspace_id = ${planted.workspace.id} and (status in ('pending', 'scheduled') or fallback_sms = 'due')`);
    expect(waiting).toBe(0);
    expect(
      await one(sql.fragment`select count(*) from drip_buffer where workspace_id = ${planted.workspace.id}`),
    ).toBe(0);
  });

  it('leaves no trace in any table, file or history', async () => {
    await erased(planted.workspace.id);
    expect(await findTraces(app, planted.workspace.id, traces(person))).toEqual([]);
    const claims = await one(sql.fragment`
      select count(*) from drip_claims where workspace_id = ${planted.workspace.id}`);
    expect(claims).toBe(0);
    expect(await filesOf(app, planted.workspace.id)).toEqual([]);
  });

  it('keeps what is counted', async () => {
    const after = await counts(planted);
    expect(after.analytics).toEqual(before.analytics);
    expect(after.series).toEqual(before.series);
    expect(after.entered).toEqual(before.entered);
    const { messages, ...rows } = after.rows;
    const { messages: earlier, ...earlierRows } = before.rows;
    expect(rows).toEqual(earlierRows);
    // The drip is one now.
    expect(messages).toBe(Number(earlier) + 1);
  });

  it('shows an erased message with its status, times and timeline', async () => {
    const { api, messages } = planted;
    const { status, body } = await api('GET', `/api/messages/${messages.delivered}`);
    expect([status, body.status, body.message, body.recipientPhone, body.attachmentUrls]).toEqual([
      200,
      'delivered',
      '',
      null,
      [],
    ]);
    const timeline = await api('GET', `/api/messages/${messages.delivered}/timeline`);
    expect(timeline.body.events.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['accepted', 'claimed', 'sent', 'delivered', 'webhook_delivered']),
    );
    expect((await api('GET', '/api/conversations')).body.conversations).toEqual([]);
    expect((await api('GET', '/api/replies')).body.replies).toEqual([]);
    const today = new Date().toISOString().slice(0, 10);
    expect((await api('GET', `/api/analytics/conversations?date=${today}`)).body.conversations).toEqual([]);
  });

  it('replays no event of it, and answers no retry with it', async () => {
    const { api } = planted;
    const [webhook] = (await api('GET', '/api/webhooks')).body.webhooks;
    const { deliveries } = (await api('GET', `/api/webhooks/${webhook._id}/deliveries`)).body;
    const replay = await api('POST', `/api/webhooks/${webhook._id}/deliveries/${deliveries[0].id}/replay`);
    expect(replay.status).toBe(404);
    const { key, body } = planted.retry;
    const retried = await api('POST', '/api/messages', body, { 'Idempotency-Key': key });
    expect([retried.status, retried.body.code]).toEqual([410, 'CONTACT_ERASED']);
  });

  it('leaves the same contact of another workspace alone', async () => {
    const { body } = await neighbour.api('GET', `/api/leads/${neighbour.leadId}/export`);
    expect(body.leads).toHaveLength(2);
    expect(JSON.stringify(body)).toContain('plugh one Zebulon');
    expect(await filesOf(app, neighbour.workspace.id)).toHaveLength(3);
  });

  it('keeps the opt-out, whoever brings the address back, until it is lifted', async () => {
    const { api, workspace } = planted;
    await createLine(app, workspace.id, 'email');
    expect((await api('GET', '/api/opt-outs')).body.optOuts).toEqual([]);
    const address = encodeURIComponent(person.email);
    expect((await api('GET', `/api/opt-outs/${address}`)).body.optedOut).toBe(true);
    const send = async () =>
      (
        await api('POST', '/api/messages', {
          recipientEmail: person.email,
          messageType: 'email',
          message: 'Hello',
        })
      ).body;
    expect(await send()).toMatchObject({ status: 'failed', errorMessage: 'recipient_opted_out' });
    expect(await sentTo(app, person.email)).toEqual([]);
    expect((await api('DELETE', `/api/opt-outs/${address}`)).status).toBe(200);
    expect((await api('GET', `/api/opt-outs/${address}`)).body.optedOut).toBe(false);
    expect((await api('DELETE', `/api/opt-outs/${address}`)).status).toBe(404);
    const { _id } = await send();
    await eventually(async () => (await api('GET', `/api/messages/${_id}`)).body.status === 'delivered');
  });

  it('takes who writes again for somebody new', async () => {
    const { api, lineId } = planted;
    await callBack(app, lineId, replyEvent(person.phone, 'Who is this?'));
    const { conversation, messages } = (
      await api('GET', `/api/conversations/${encodeURIComponent(person.phone)}`)
    ).body;
    expect(conversation).toMatchObject({ leadId: null, name: person.phone });
    // The copilot may have tagged the new reply.
    for (const tag of ['interested', 'zebulon the great']) expect(conversation.tags).not.toContain(tag);
    expect(messages).toHaveLength(1);
  });
});

/** A drip as it waits in its buffer. */
async function insertDrip({ workspace }: Planted, { phone: number }: Person): Promise<void> {
  const id = newId();
  await insertRow(app, 'drip_claims', {
    workspace_id: workspace.id,
    fingerprint: `\\x${id}`,
    message_id: `\\x${id}`,
    scheduled_at: new Date().toISOString(),
    jitter_ms: 0,
  });
  await insertRow(app, 'drip_buffer', {
    workspace_id: workspace.id,
    id,
    draft: JSON.stringify({
      channel: 'imessage',
      address: number,
      recipientPhone: number,
      recipientName: 'Zebulon',
      body: 'plugh buffered',
      scheduledAt: new Date().toISOString(),
    }),
  });
}

/** Saves a lead with the number. @returns its id. */
const leadOf = async ({ api }: TestWorkspace, number: string): Promise<string> =>
  (await api('POST', '/api/leads', { leads: [{ phone: number }] })).body.leadIds[0];
const deliverTo = async ({ api }: TestWorkspace, number: string): Promise<void> => {
  const { body } = await api('POST', '/api/messages', { recipientPhone: number, message: newId() });
  await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
};

describe('an erasure', () => {
  it('takes erase=false and no parameter for a deletion, and refuses anything else', async () => {
    const { key } = await createWorkspace(app);
    const api = apiClient(app.url, key);
    const lead = async (): Promise<string> =>
      (await api('POST', '/api/leads', { leads: [{ phone: phone() }] })).body.leadIds[0];
    const refused = await api('DELETE', `/api/leads/${await lead()}?erase=yes`);
    expect([refused.status, refused.body.issues[0].path]).toEqual([400, 'erase']);
    for (const query of ['', '?erase=false']) {
      const { status, body } = await api('DELETE', `/api/leads/${await lead()}${query}`);
      expect([status, body]).toEqual([200, { success: true }]);
    }
    expect((await api('DELETE', `/api/leads/${newId()}?erase=true`)).status).toBe(404);
  });

  it('skips the rows of an import from before, and counts them', async () => {
    const { id, key } = await createWorkspace(app);
    const api = apiClient(app.url, key);
    const person = newPerson();
    const { leadIds } = (await api('POST', '/api/leads', { leads: [{ phone: person.phone }] })).body;
    const listId = (await api('POST', '/api/lists', { name: 'Imported' })).body.list._id;
    await app.stopWorker();
    const csv = ['Name,Phone', `Zebulon,${person.phone}`, `Ada,${phone()}`].join('\n');
    const { importId } = (
      await api('POST', `/api/lists/${listId}/import`, csv, { 'content-type': 'text/csv' })
    ).body;
    await erase({ api }, leadIds[0]);
    await app.startWorker();
    await erased(id);
    const { body } = await api('GET', `/api/lists/${listId}/imports/${importId}`);
    expect(body).toMatchObject({ status: 'completed', processed: 2, saved: 1, rejected: 1 });
    expect(await findTraces(app, id, traces(person))).toEqual([]);
    expect(await filesOf(app, id)).toEqual([]);
  });

  // Together, since they wait for what an erasure waits for.
  it.concurrent('lets what is under way end, and takes nothing back from it', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const api = apiClient(app.url, workspace.key);
    // The carrier answers after five seconds.
    const slow = phone('0009');
    const { body } = await api('POST', '/api/messages', {
      recipientPhone: slow,
      recipientName: 'Zebulon',
      message: 'plugh {{ firstName }}',
    });
    await eventually(
      async () => (await one(sql.fragment`select status from messages where id = ${body._id}`)) === 'sending',
    );
    await erase({ api }, body.leadId);
    await erased(workspace.id);
    expect(await sentTo(app, slow)).toHaveLength(1);
    expect((await api('GET', `/api/messages/${body._id}`)).body).toMatchObject({
      message: '',
      recipientPhone: null,
    });
    expect(['sent', 'delivered']).toContain((await api('GET', `/api/messages/${body._id}`)).body.status);
    expect(await findTraces(app, workspace.id, [slow, 'zebulon', 'plugh'])).toEqual([]);
  });

  it.concurrent('tries nothing again that has not left when its contact is erased', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id);
    const api = apiClient(app.url, workspace.key);
    // The carrier takes it at the third try, the second of which comes five seconds after the first.
    const number = phone('0003');
    const { body } = await api('POST', '/api/messages', { recipientPhone: number, message: 'Hello' });
    await eventually(
      async () =>
        (await one(sql.fragment`select transient_failures from messages where id = ${body._id}`)) === 1,
    );
    await erase({ api }, body.leadId);
    await erased(workspace.id);
    const { status } = (await api('GET', `/api/messages/${body._id}`)).body;
    expect([status, await sentTo(app, number)]).toEqual(['canceled', []]);
  });

  it.concurrent('deletes the histories of all runs of a draft', async () => {
    const desk = await createCopilot(app, receiver);
    const contact = phone();
    const saved = await desk.call('POST', '/api/leads', { leads: [{ phone: contact }] });
    const { replyId } = await createDraft(desk, contact);
    const order = { ...DANA, action: 'approve', message: 'xyzzy typed' } as const;
    await ask(app.temporal, aiDraftId(replyId), decide, order);
    await waitForEnd(desk, replyId);
    await signalWorkflow(app.temporal, aiDraftId(replyId), desk.workspace.id, 'contactWrote');
    const query = `WorkflowId = '${aiDraftId(replyId)}'`;
    await eventually(async () => (await app.temporal.workflow.count(query)).count === 2);
    await erase({ api: desk.call }, saved.body.leadIds[0]);
    await erased(desk.workspace.id);
    // The server deletes in the background, once its other queues have caught up.
    await eventually(async () => (await findTraces(app, desk.workspace.id, ['xyzzy typed'])).length === 0);
  });

  it.concurrent('heeds an opt-out by the link of an earlier email', async () => {
    const workspace = await createWorkspace(app);
    await createLine(app, workspace.id, 'email');
    const api = apiClient(app.url, workspace.key);
    const email = `late.${newId()}@person.example`;
    const saved = await api('POST', '/api/leads', { leads: [{ email }] });
    const [leadId] = saved.body.leadIds;
    const { body } = await api('POST', '/api/messages', { leadId, messageType: 'email', message: 'Hello' });
    await eventually(async () => (await api('GET', `/api/messages/${body._id}`)).body.status === 'delivered');
    await erase({ api }, leadId);
    await erased(workspace.id);
    const links = createUnsubscribeLinks(app.config.publicUrl, createSigner(app.config.signingKeys));
    const url = links.url({ workspaceId: workspace.id, messageId: body._id });
    expect((await fetch(url, { method: 'POST' })).status).toBe(200);
    expect(await findTraces(app, workspace.id, [email])).toEqual([]);
    expect((await api('GET', `/api/opt-outs/${email}`)).body.optedOut).toBe(true);
  });

  it.concurrent('erases in each workspace what a line that moved there knows', async () => {
    const number = phone();
    const tracesIn = ({ id }: TestWorkspace) => findTraces(app, id, [number]);
    const { agency, first, second } = await createAgencyWithTwoWorkspaces(app);
    const lineId = await createLine(app, first.id);
    await deliverTo(first, number);
    await transferLine(agency.api, lineId, second);
    // All that the line needs to remember.
    expect(await tracesIn(second)).toEqual([`line_contacts.address: ${number}`]);

    await erase(first, await leadOf(first, number));
    await erased(first.id);
    expect(await tracesIn(first)).toEqual([]);
    expect(await tracesIn(second)).toEqual([`line_contacts.address: ${number}`]);

    await deliverTo(second, number);
    await transferLine(agency.api, lineId, first);
    await transferLine(agency.api, lineId, second);
    await erase(second, await leadOf(second, number));
    await erased(second.id);
    expect(await tracesIn(second)).toEqual([]);
    expect(await tracesIn(first)).toEqual([]);
  });
});

test('a contact of a line that moves to another workspace does not move while it is being erased', async () => {
  const number = phone();
  const tracesIn = ({ id }: TestWorkspace) => findTraces(app, id, [number]);
  const { agency, first, second } = await createAgencyWithTwoWorkspaces(app);
  const lineId = await createLine(app, first.id);
  await deliverTo(first, number);
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const waiting = { message: 'Later', recipientPhone: number, scheduledDate: tomorrow };
  const { _id } = (await first.api('POST', '/api/messages', waiting)).body;
  const leadId = await leadOf(first, number);
  const deadlocks = await deadlockCount(app);
  const [, moved] = await race(
    app,
    await lock(app, 'messages', _id),
    () => erase(first, leadId),
    () => transferLine(agency.api, lineId, second),
  );
  expect([moved.status, await deadlockCount(app)]).toEqual([200, deadlocks]);
  expect(await tracesIn(second)).toEqual([]);
  await erased(first.id);
  expect(await tracesIn(first)).toEqual([]);
});
