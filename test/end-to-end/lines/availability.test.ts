import { MockActivityEnvironment } from '@temporalio/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { sql } from 'slonik';
import { z } from 'zod';
import { createAvailabilityActivities } from '#activities/lines/availability.ts';
import type { Dependencies } from '#activities/dependencies.ts';
import { insertJob } from '#db/queries/lines/availability.ts';
import { systemDb, withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { createSecretBox } from '#providers/secret-box.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLead, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';

let app: TestApp;
let workspace: TestWorkspace;
let lineId: string;
let call: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
  call = apiClient(app.url, workspace.key);
});

const setDown = (id: string, down: boolean) => call('POST', `/simulated/carrier/lines/${id}`, { down });

describe('an availability check', () => {
  it('returns whether an address has iMessage', async () => {
    const available = phone();
    expect(await call('POST', '/api/leads/check-availability', { address: available })).toMatchObject({
      status: 200,
      body: { success: true, available: true, address: available },
    });
    const { body } = await call('POST', '/api/leads/check-availability', { address: phone('0001') });
    expect(body).toMatchObject({ available: false });
    expect(body).not.toHaveProperty('verified');
    expect((await call('POST', '/api/leads/check-availability', {})).body.issues[0].path).toBe('address');
    expect((await call('POST', '/api/leads/check-availability', { address: 'x' })).status).toBe(400);
  });

  it('of a lead returns the status of its address', async () => {
    const leadId = await createLead(app, workspace.id, { phones: [phone('0001')] });
    const checked = await call('GET', `/api/leads/check-availability?id=${leadId}`);
    expect(checked).toMatchObject({
      status: 200,
      body: { success: true, leadId, available: false, status: 'unavailable' },
    });
    expect((await call('GET', '/api/leads/check-availability?id=unknown')).status).toBe(404);
    expect((await call('GET', '/api/leads/check-availability')).status).toBe(400);
  });

  it('of many leads runs in the background', async () => {
    const leadIds = [
      await createLead(app, workspace.id, { phones: [phone()] }),
      await createLead(app, workspace.id, { phones: [phone('0001')] }),
      await createLead(app, workspace.id, {}),
    ];
    const { status, body } = await call('POST', '/api/leads/check-availability', { leadIds });
    expect(status).toBe(202);
    expect(body.total).toBe(3);
    const job = await eventually(async () => {
      const response = await call('GET', `/api/leads/check-availability/jobs/${body.jobId}`);
      return response.body.status === 'completed' && response.body;
    });
    expect(job).toEqual({
      success: true,
      status: 'completed',
      total: 3,
      checked: 3,
      available: 1,
      unavailable: 1,
      errors: 1,
    });
  });

  it('of many leads counts each lead once if a round overlaps its retry', async () => {
    const own = await createWorkspace(app);
    const name = `carrier-${newId()}`;
    await createLine(app, own.id, 'imessage', { carrier: name });
    const leadIds: string[] = [];
    for (let n = 0; n < 3; n += 1) leadIds.push(await createLead(app, own.id, { phones: [phone()] }));
    const { id: jobId } = await withTenant(app.pools, own.id, (db) => insertJob(db, leadIds));
    let asked = 0;
    const bothHaveAsked = Promise.withResolvers<void>();
    const carrier = {
      name,
      config: z.object({}),
      async checkAvailability() {
        asked += 1;
        if (asked === 2) bothHaveAsked.resolve();
        await bothHaveAsked.promise;
        return { status: 'available' };
      },
    };
    const { checkLeads } = createAvailabilityActivities({
      pools: app.pools,
      carriers: { get: () => carrier },
      secrets: createSecretBox(app.config.encryptionKeys),
    } as unknown as Dependencies);
    const round = () => new MockActivityEnvironment().run(checkLeads, { workspaceId: own.id, jobId });
    await Promise.all([round(), round()]);
    expect(await round()).toMatchObject({ ended: true });
    expect((await own.api('GET', `/api/leads/check-availability/jobs/${jobId}`)).body).toMatchObject({
      status: 'completed',
      checked: 3,
      available: 3,
    });
  });

  it('of a list includes leads that joined it later', async () => {
    const leadId = await createLead(app, workspace.id, { phones: [phone()] });
    const list = (await call('POST', '/api/lists', { name: 'Joined' })).body.list;
    const steps = [{ message: 'Hello', delay: { minutes: 0 } }];
    const campaign = (await call('POST', '/api/campaigns', { name: 'Joined', listId: list._id, steps })).body
      .campaign;
    expect((await call('POST', `/api/campaigns/${campaign._id}/leads`, { leadId })).status).toBe(201);
    expect(await call('POST', '/api/leads/check-availability', { listId: list._id })).toMatchObject({
      status: 202,
      body: { total: 1 },
    });
  });

  it('of one address takes one of the checks of the day each time', async () => {
    const own = await createWorkspace(app);
    const line = await createLine(app, own.id);
    await systemDb(app.pools).query(sql.type(z.unknown())`
      insert into availability_checks (workspace_id, line_id, id, checked_at)
      select ${own.id}, ${line}, substr(md5(${line}::text || n), 1, 24), now() from generate_series(1, 69) n returning null`);
    const address = phone();
    const check = () => own.api('POST', '/api/leads/check-availability', { address });
    expect((await check()).body).toMatchObject({ available: true });
    expect((await check()).body).toMatchObject({ available: false, verified: false });
  });

  it('of many leads runs once for each idempotency key', async () => {
    const leadIds = [await createLead(app, workspace.id, { phones: [phone()] })];
    const headers = { 'idempotency-key': newId() };
    const check = () => call('POST', '/api/leads/check-availability', { leadIds }, headers);
    const [first, second] = [await check(), await check()];
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });

  it('rotates among the lines, each of which allows 70 a day', async () => {
    const own = await createWorkspace(app);
    const lines = [await createLine(app, own.id), await createLine(app, own.id)];
    const ownCall = apiClient(app.url, own.key);
    const first = await ownCall('GET', `/api/check-availability-rr?address=${encodeURIComponent(phone())}`);
    const second = await ownCall('POST', '/api/check-availability-rr', { address: phone() });
    expect([first.body.lineId, second.body.lineId].toSorted()).toEqual(lines.toSorted());
    await systemDb(app.pools).query(sql.type(z.unknown())`
      insert into availability_checks (workspace_id, line_id, id, checked_at)
      select ${own.id}, l, substr(md5(l || n), 1, 24), now() from unnest(${sql.array(lines, 'text')}) l, generate_series(1, 69) n returning null`);
    expect(await ownCall('POST', '/api/check-availability-rr', { address: phone() })).toMatchObject({
      status: 200,
      body: { available: false, verified: false, reason: 'daily_quota_exhausted', lineId: null },
    });
    const bare = await createWorkspace(app);
    const unchecked = { available: false, verified: false, reason: 'no_healthy_line' };
    const { body } = await bare.api('POST', '/api/leads/check-availability', { address: phone() });
    expect(body).toMatchObject(unchecked);
    for (const [before, after] of [
      [null, 'error'],
      ['available', 'available'],
    ] as const) {
      const leadId = await createLead(app, bare.id, { phones: [phone()], status: before });
      const check = await bare.api('GET', `/api/leads/check-availability?id=${leadId}`);
      expect(check.body).toMatchObject({ ...unchecked, status: 'error' });
      expect((await bare.api('GET', `/api/leads/${leadId}`)).body.lead.status).toBe(after);
    }
  });
});

describe('a health check of a line', () => {
  it('marks it down after three failures, hands over its messages, notifies once, and lets it recover', async () => {
    const own = await createWorkspace(app);
    const failing = await createLine(app, own.id);
    const ownCall = apiClient(app.url, own.key);
    const to = phone();
    const scheduledDate = new Date(Date.now() + 3_600_000).toISOString();
    const { body: pinned } = await ownCall('POST', '/api/messages', {
      message: 'pinned',
      recipientPhone: phone(),
      fromLineId: failing,
      scheduledDate,
    });
    const { body: free } = await ownCall('POST', '/api/messages', {
      message: 'free',
      recipientPhone: to,
      scheduledDate,
    });
    const other = await createLine(app, own.id);
    await setDown(failing, true);
    const probe = async () => (await ownCall('GET', `/api/lines/check-availability?id=${failing}`)).body;
    expect(await probe()).toMatchObject({
      status: 'degraded',
      failures: [{ check: 'probe', error: expect.any(String) }],
      shouldNotify: false,
    });
    await probe();
    expect(await probe()).toMatchObject({ status: 'down', shouldNotify: true, notificationSent: true });
    expect(await probe()).toMatchObject({ status: 'down', shouldNotify: false, notificationSent: false });
    expect((await ownCall('GET', `/api/messages/${free._id}`)).body.fromLineId).toBe(other);
    expect((await ownCall('GET', `/api/messages/${pinned._id}`)).body.fromLineId).toBe(failing);

    const held = (
      await ownCall('POST', '/api/messages', { message: 'held', recipientPhone: to, fromLineId: failing })
    ).body;
    await eventually(
      async () => (await ownCall('GET', `/api/messages/${held._id}`)).body.holdReason === 'line_down',
    );
    expect(await sentTo(app, to)).toEqual([]);
    await setDown(failing, false);
    expect(await probe()).toMatchObject({ status: 'healthy', failures: [] });
    await eventually(async () => (await sentTo(app, to)).length === 1);
    const line = (await ownCall('GET', '/api/lines/by-user')).body.lines.find(
      ({ _id }: { _id: string }) => _id === failing,
    );
    expect(line.healthCheck).toMatchObject({ status: 'healthy' });
  });

  it('is refused without an id, for an inactive line and for a line of another workspace', async () => {
    expect((await call('GET', '/api/lines/check-availability')).status).toBe(400);
    const inactive = await createLine(app, workspace.id, 'imessage', { is_active: false });
    expect((await call('GET', `/api/lines/check-availability?id=${inactive}`)).status).toBe(400);
    const foreign = await createLine(app, (await createWorkspace(app)).id);
    expect((await call('GET', `/api/lines/check-availability?id=${foreign}`)).status).toBe(404);
    expect((await call('GET', `/api/lines/check-availability?id=${lineId}`)).body.status).toBe('healthy');
  });
});
