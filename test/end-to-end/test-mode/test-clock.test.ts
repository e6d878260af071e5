import { WorkflowNotFoundError } from '@temporalio/client';
import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { startTestClock } from '#db/commands/test-mode/clock.ts';
import { claimIdempotencyKeys } from '#db/queries/accounts/idempotency.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, type TenantDb, withTenant } from '#db/connection/transactions.ts';
import { wake } from '#db/wakes/wakes.ts';
import { currentTime } from '#domain/base/clock.ts';
import { connected } from '#db/connection/connected.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import type { ApiClient } from '#test/support/client.ts';
import { registerWebhook, startTestEndpoint } from '#test/support/endpoint.ts';
import { createWorkspace } from '#test/support/factories.ts';
import { advanceClock, openTestMode } from '#test/support/test-mode.ts';
import { dripDrainerId, webhookDispatcherId } from '#workflows/protocol/workflow-ids.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const LEADS = 8;
const ANSWERS = '+14155550107';

let app: TestApp;
let api: ApiClient;
let twinId: string;

beforeAll(async () => {
  app = await sharedApp();
});
beforeEach(async () => {
  ({ api, id: twinId } = await openTestMode(app, await createWorkspace(app)));
});

interface Sent {
  to: string;
  text: string;
  lineId: string;
  sentAt: string;
  messageId: string;
}

const daysAgo = (days: number): string => new Date(Date.now() - days * DAY * 1000).toISOString().slice(0, 10);

async function sentTo(to?: string): Promise<Sent[]> {
  const query = to === undefined ? '' : `&to=${encodeURIComponent(to)}`;
  const { body } = await api('GET', `/api/test/sent?limit=200${query}`);
  return body.sent.toReversed();
}

describe('a sequence of five days with a reply on day three', { timeout: 120_000 }, () => {
  it('runs within the limits of its line, stops for the contact who wrote, and tells webhooks of each message', async () => {
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url);
    const { body: made } = await api('POST', '/api/lists', { name: 'Prospects' });
    const leads = Array.from({ length: LEADS }, (_, index) => ({
      firstName: `Lead ${index}`,
      phone: `+1415555010${index}`,
    }));
    const saved = await api('POST', '/api/leads', { listId: made.list._id, leads });
    expect(saved.status).toBeLessThan(300);
    const lines = (await api('GET', '/api/lines/by-user')).body.lines;
    const line = lines.find(({ requestedChannelType: type }: Record<string, string>) => type === 'imessage');
    const { status, body } = await api('POST', '/api/campaigns', {
      name: 'Five days',
      listId: made.list._id,
      timezone: 'UTC',
      sendWindowStart: '09:00',
      sendWindowEnd: '17:00',
      steps: [0, 1, 2, 3, 4].map((days) => ({
        message: `Day ${days + 1}, {{ firstName }}`,
        delay: { days: days === 0 ? 0 : 1 },
      })),
      start: true,
    });
    expect([status, body.campaign?.status]).toEqual([201, 'active']);

    await advanceClock(api, 2.5 * DAY);
    const before = await sentTo(ANSWERS);
    expect(before.length).toBeGreaterThanOrEqual(1);
    expect((await api('POST', '/api/test/inbound', { from: ANSWERS, text: 'Tell me more' })).status).toBe(
      200,
    );
    await advanceClock(api, 7 * DAY);

    expect(await sentTo(ANSWERS)).toEqual(before);
    for (const { phone } of leads.filter((lead) => lead.phone !== ANSWERS))
      expect((await sentTo(phone)).map(({ text }) => text.slice(0, 5))).toEqual(
        [1, 2, 3, 4, 5].map((day) => `Day ${day}`),
      );
    const sent = await sentTo();
    expect(endpoint.received.map(({ json }) => json.messageId).toSorted()).toEqual(
      sent.map(({ messageId }) => messageId).toSorted(),
    );
    const times = sent.map(({ sentAt }) => Date.parse(sentAt));
    for (const [index, at] of times.entries()) {
      const hour = new Date(at).getUTCHours();
      expect(hour >= 9 && hour < 17).toBe(true);
      // A gap is jittered by half.
      if (index > 0)
        expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual((line.minGapSeconds / 2) * 1000);
    }
    const openings = Map.groupBy(
      sent.filter(({ text }) => text.startsWith('Day 1')),
      ({ sentAt }) => sentAt.slice(0, 13),
    );
    for (const [, inHour] of openings) expect(inHour.length).toBeLessThanOrEqual(7);
    const campaign = (await api('GET', `/api/campaigns/${body.campaign._id}`)).body.campaign;
    expect(campaign.status).toBe('completed');
  });
});

const WakeRow = z.object({ inSeconds: z.number() });

test('work that is stored while the clock moves is due at its time', async () => {
  const workflowId = `test-wake:${twinId}`;
  await withTenant(app.pools, twinId, async (db) => {
    wake(db, workflowId, new Date(currentTime().getTime() + 3_600_000), 'messagesDue');
    await connected(app.ownerUrl, (owner) =>
      owner.query('update test_clocks set ahead_ms = ahead_ms + 7200000 where workspace_id = $1', [twinId]),
    );
  });
  const { inSeconds } = await systemDb(app.pools).one(sql.type(WakeRow)`
    select extract(epoch from wake_at - now())::int in_seconds from workflow_wakes where workflow_id = ${workflowId}`);
  expect(inSeconds).toBeLessThan(0);
});

test('a request that holds an idempotency key does not deadlock with one that moves the clock', async () => {
  const isWaiting = (): Promise<boolean> =>
    connected(app.ownerUrl, async (owner) => {
      const { rowCount } = await owner.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
          and query like '%idempotency_keys%for update%'`,
      );
      return rowCount === 1;
    });
  const claim = (db: TenantDb) =>
    claimIdempotencyKeys(db, 'createList', [{ workspaceId: twinId, key: 'held', requestHash: 'hash' }]);
  // Others wait for a key only if its row is committed.
  await withTenant(app.pools, twinId, claim);
  const { moving } = await withTenant(app.pools, twinId, async (db) => {
    await claim(db);
    const target = new Date(currentTime().getTime() + 1000);
    const moving = withTenant(app.pools, twinId, (other) => startTestClock(other, target));
    await eventually(isWaiting);
    wake(db, `test-wake:${twinId}`, new Date(currentTime().getTime() + DAY * 1000), 'messagesDue');
    return { moving };
  });
  expect(await moving).toBe(true);
});

describe('the clock of test mode', () => {
  const now = async (): Promise<number> => Date.parse((await api('GET', '/api/test/clock')).body.now);

  it('is real until it is moved, and goes on from where it has arrived', async () => {
    expect(Math.abs((await now()) - Date.now())).toBeLessThan(5000);
    const to = new Date(Date.now() + 3 * DAY * 1000).toISOString();
    const { status, body } = await api('POST', '/api/test/clock', { to });
    expect([status, body.movingTo, body.problem]).toEqual([200, null, null]);
    const arrived = await now();
    expect(arrived - Date.parse(to)).toBeGreaterThanOrEqual(0);
    expect(arrived - Date.parse(to)).toBeLessThan(30_000);
    expect(await now()).toBeGreaterThanOrEqual(arrived);
  });

  it('starts no workflow whose rounds a worker process takes itself', async () => {
    const endpoint = await startTestEndpoint();
    await registerWebhook(api, endpoint.url);
    expect((await api('POST', '/api/drip', { recipientPhone: ANSWERS, message: 'Hello' })).status).toBe(202);
    for (const seconds of [HOUR, DAY]) await advanceClock(api, seconds);
    expect(await sentTo(ANSWERS)).toHaveLength(1);
    for (const workflowId of [dripDrainerId(twinId), webhookDispatcherId(twinId)])
      await expect(app.temporal.workflow.getHandle(workflowId).describe()).rejects.toThrow(
        WorkflowNotFoundError,
      );
  });

  it('sends a scheduled message in its minute, by the time of the workspace', async () => {
    const scheduledDate = new Date(Date.now() + 2 * DAY * 1000).toISOString();
    const input = { recipientPhone: '+14155550122', message: 'Later', scheduledDate };
    const { body: message } = await api('POST', '/api/messages', input);
    await advanceClock(api, DAY);
    expect((await api('GET', `/api/messages/${message._id}`)).body.status).toBe('scheduled');
    await advanceClock(api, 2 * DAY);
    const [sent] = await sentTo('+14155550122');
    const late = Date.parse(sent?.sentAt ?? '') - Date.parse(scheduledDate);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(60_000);
    const { sentAt } = (await api('GET', `/api/messages/${message._id}`)).body;
    expect(Math.abs(Date.parse(sentAt) - Date.parse(sent?.sentAt ?? ''))).toBeLessThan(60_000);
  });

  it('does not wait for the timer of a workflow whose time has come by itself', async () => {
    const input = {
      message: 'Later',
      scheduledDate: new Date((await now()) + 10 * DAY * 1000).toISOString(),
    };
    await api('POST', '/api/messages', { ...input, recipientPhone: '+14155550124' });
    const pacers = sql.fragment`workflow_id like 'line-pacer:%' and workspace_id = ${twinId}`;
    // Until it waits for its timer.
    await eventually(async () => {
      const waiting = await systemDb(app.pools).anyFirst(sql.type(z.object({ workflowId: z.string() }))`
        select workflow_id from workflow_wakes where ${pacers} and wake_at between now() + interval '1 day' and now() + interval '1 year'`);
      if (waiting.length !== 1) return false;
      const { raw } = await app.temporal.workflow.getHandle(waiting[0] ?? '').describe();
      return raw.pendingActivities?.length === 0 && !raw.pendingWorkflowTask;
    });
    // The sweep leaves it alone.
    await systemDb(app.pools).query(sql.type(NoRows)`
      update workflow_wakes set wake_at = now() - interval '1 second', sweep_at = now() + interval '1 day' where ${pacers}`);
    const { status, body } = await api('POST', '/api/test/clock', { advanceSeconds: 60 });
    expect([status, body.movingTo]).toEqual([200, null]);
  });

  it('judges the reputation of lines and ends snoozes before it answers, with their events', async () => {
    const endpoint = await startTestEndpoint();
    const events = ['line.reputation_changed', 'conversation.status_changed'];
    await api('POST', '/api/webhooks', { url: endpoint.url, events });
    const { line } = (await api('POST', '/api/test/lines', { channelType: 'imessage' })).body;
    const limits = { minGapSeconds: 0, contactGapSeconds: 0, hourlyNewConversationsLimit: 100 };
    await api('PATCH', `/api/lines/${line._id}`, limits);
    const contacts = Array.from({ length: 24 }, (_, index) => `+14155550${200 + index}`);
    for (const recipientPhone of contacts)
      await api('POST', '/api/messages', { recipientPhone, message: 'Hello', fromLineId: line._id });
    await eventually(async () => (await sentTo()).length === contacts.length);
    for (const from of contacts.slice(0, 14))
      await api('POST', '/api/test/inbound', { from, lineId: line._id, text: 'STOP' });
    const [snoozed] = contacts;
    const snoozedUntil = new Date((await now()) + HOUR * 1000).toISOString();
    await api('PATCH', `/api/conversations/${snoozed}`, { status: 'snoozed', snoozedUntil });

    await advanceClock(api, 2 * HOUR);
    const { body } = await api('GET', `/api/lines/${line._id}/reputation`);
    expect([body.state, body.history.at(-1)?.state]).toEqual(['critical', 'critical']);
    expect(endpoint.received.map(({ json: { event, from, to } }) => [event, from, to].join(' '))).toEqual(
      expect.arrayContaining([
        'line.reputation_changed new critical',
        'conversation.status_changed snoozed open',
      ]),
    );
  });

  it('lets the delay of a failover pass before the messages of a paused line move', async () => {
    await advanceClock(api, DAY);
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const { line } = (await api('POST', '/api/test/lines', { channelType: 'imessage' })).body;
        await api('PATCH', `/api/lines/${line._id}`, { hourlyNewConversationsLimit: 100 });
        await api('POST', `/api/lines/${line._id}/pause`);
        return line._id as string;
      }),
    );
    const { pool } = (
      await api('POST', '/api/pools', { name: 'Both', lines: ids.map((lineId) => ({ lineId })) })
    ).body;
    const placed = [];
    for (const recipientPhone of ['+14155550141', '+14155550142'])
      placed.push(
        (await api('POST', '/api/messages', { recipientPhone, message: 'Hi', poolId: pool._id })).body,
      );
    const [held, other] = placed;
    expect([held.fromLineId, other.fromLineId].toSorted()).toEqual(ids.toSorted());
    await api('POST', `/api/lines/${other.fromLineId}/resume`);
    await advanceClock(api, 10 * 60);
    expect((await api('GET', `/api/messages/${held._id}`)).body).toMatchObject({
      fromLineId: held.fromLineId,
      holdReason: 'line_paused',
    });
    await advanceClock(api, 6 * 60);
    expect((await api('GET', `/api/messages/${held._id}`)).body).toMatchObject({
      fromLineId: other.fromLineId,
      status: 'sent',
    });
    const { events } = (await api('GET', `/api/messages/${held._id}/timeline`)).body;
    const types: string[] = events.map(({ type }: { type: string }) => type);
    expect(types.filter((type) => ['accepted', 'moved', 'sent'].includes(type))).toEqual([
      'accepted',
      'moved',
      'sent',
    ]);
  });

  it('keeps in the timeline that quiet hours have moved a message that is sent', async () => {
    await advanceClock(api, DAY);
    const at = new Date(await now());
    const zone = 'America/Los_Angeles';
    const clock = (hours: number): string =>
      new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' }).format(
        new Date(at.getTime() + hours * HOUR * 1000),
      );
    const { status } = await api('PUT', '/api/workspace/quiet-hours', {
      enabled: true,
      start: clock(2),
      end: clock(4),
      appliesTo: ['message'],
    });
    expect(status).toBe(200);
    const { body } = await api('POST', '/api/messages', { recipientPhone: '+14155550177', message: 'Hi' });
    await eventually(
      async () => (await api('GET', `/api/messages/${body._id}`)).body.holdReason === 'recipient_quiet_hours',
    );
    await advanceClock(api, 3 * HOUR);
    const { events } = (await api('GET', `/api/messages/${body._id}/timeline`)).body;
    const told = events.filter(({ type }: { type: string }) => ['accepted', 'moved', 'sent'].includes(type));
    expect(told.map(({ type }: { type: string }) => type)).toEqual(['accepted', 'moved', 'sent']);
    expect(told[1].data).toMatchObject({ reason: 'recipient_quiet_hours' });
    expect(Date.parse(told[1].data.to)).toBeLessThanOrEqual(Date.parse(told[2].at));
    await api('PUT', '/api/workspace/quiet-hours', { enabled: false });
  });

  it('sends the next step of a campaign in the window of the time zone to which the workspace has moved', async () => {
    const [eve, day, next] = [daysAgo(2), daysAgo(1), daysAgo(0)];
    expect((await api('POST', '/api/test/reset', { startsAt: `${eve}T12:00:00Z` })).status).toBe(200);
    const { campaign } = (
      await api('POST', '/api/campaigns', {
        name: 'Mornings',
        sendWindowStart: '09:00',
        sendWindowEnd: '11:00',
        steps: [{ message: 'First' }, { message: 'Second', delay: { hours: 1 } }],
        start: true,
      })
    ).body;
    const to = '+14155550108';
    const added = await api('POST', `/api/campaigns/${campaign._id}/leads`, { lead: { phone: to } });
    expect(added.status).toBe(201);
    await advanceClock(api, 0.8 * DAY);
    expect((await api('PATCH', '/api/workspace', { timezone: 'Asia/Tokyo' })).status).toBe(200);
    await advanceClock(api, DAY);
    // One hour after the first it is evening in Tokyo.
    expect((await sentTo(to)).map(({ text, sentAt }) => [text, sentAt.slice(0, 13)])).toEqual([
      ['First', `${day}T09`],
      ['Second', `${next}T00`],
    ]);
  });

  it('tells when a campaign was started and completed, and when a lead has joined and left it', async () => {
    await advanceClock(api, DAY);
    const startedAfter = await now();
    const steps = [{ message: 'Hi' }];
    const { campaign } = (await api('POST', '/api/campaigns', { name: 'One step', steps, start: true })).body;
    await api('POST', `/api/campaigns/${campaign._id}/leads`, { lead: { phone: '+14155550143' } });
    await advanceClock(api, HOUR);
    const { body } = await api('GET', `/api/campaigns/${campaign._id}`);
    const [started, completed] = [body.campaign.startedAt, body.campaign.completedAt].map(Date.parse);
    expect(started).toBeGreaterThanOrEqual(startedAfter);
    expect(completed).toBeGreaterThan(started ?? Number.NaN);
    expect(completed).toBeLessThanOrEqual(await now());
    const [{ leadId }] = (await api('GET', `/api/campaigns/${campaign._id}/leads`)).body.leads;
    const { entries } = (await api('GET', `/api/leads/${leadId}/timeline`)).body;
    const { at } = entries.find(({ type }: { type: string }) => type === 'campaign_left');
    expect(Date.parse(at)).toBeGreaterThanOrEqual(started ?? Number.NaN);
  });

  it('ends the 24 hours in which a contact is answered by the line they wrote to', async () => {
    const added = await api('POST', '/api/test/lines', { channelType: 'imessage' });
    const { lines } = (await api('GET', '/api/lines/by-user')).body;
    const phoneLines: string[] = lines
      .filter(({ requestedChannelType: type }: Record<string, string>) => type === 'imessage')
      .map(({ _id }: { _id: string }) => _id);
    expect(phoneLines).toContain(added.body.line._id);
    const { pool } = (
      await api('POST', '/api/pools', {
        name: 'In turn',
        sticky: false,
        lines: phoneLines.map((lineId) => ({ lineId })),
      })
    ).body;
    const contact = '+14155550133';
    const linesOf = async (count: number): Promise<Set<string>> => {
      const taken = new Set<string>();
      for (let turn = 0; turn < count; turn += 1) {
        const input = { recipientPhone: contact, message: `Turn ${turn}`, poolId: pool._id };
        taken.add((await api('POST', '/api/messages', input)).body.fromLineId);
      }
      return taken;
    };
    await api('POST', '/api/test/inbound', { from: contact, lineId: phoneLines[0], text: 'Hello?' });
    expect(await linesOf(2)).toEqual(new Set([phoneLines[0]]));
    await advanceClock(api, 1.5 * DAY);
    expect(await linesOf(2)).toEqual(new Set(phoneLines));
  });

  it('ends the 60 minutes in which a drip is a duplicate, and the 24 hours of an idempotency key', async () => {
    const to = '+14155550134';
    const drip = async () => {
      const { status } = await api('POST', '/api/drip', { recipientPhone: to, message: 'Same' });
      expect(status).toBe(202);
    };
    const list = (name: string) => api('POST', '/api/lists', { name }, { 'idempotency-key': 'one' });
    const { list: first } = (await list('First')).body;
    await drip();
    await advanceClock(api, 0.5 * HOUR);
    await drip();
    expect((await list('Other')).body.code).toBe('IDEMPOTENCY_KEY_REUSED');
    await advanceClock(api, 0.5 * HOUR + 1);
    expect(await sentTo(to)).toHaveLength(1);
    await drip();
    await advanceClock(api, HOUR);
    expect(await sentTo(to)).toHaveLength(2);
    expect((await list('First')).body.list).toEqual(first);
    await advanceClock(api, 22 * HOUR);
    const again = await list('Other');
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null]);
  });

  it('keeps the daily cap of a line', async () => {
    const [line] = (await api('GET', '/api/lines/by-user')).body.lines;
    const limits = { dailyTotalMessagesLimit: 3, hourlyNewConversationsLimit: 100, minGapSeconds: 0 };
    expect((await api('PATCH', `/api/lines/${line._id}`, limits)).status).toBe(200);
    for (let index = 0; index < 7; index += 1)
      await api('POST', '/api/messages', {
        recipientPhone: `+1415555013${index}`,
        message: 'Hi',
        fromLineId: line._id,
      });
    await advanceClock(api, 4 * DAY);
    const sent = await sentTo();
    expect(sent).toHaveLength(7);
    const days = Map.groupBy(sent, ({ sentAt }) => sentAt.slice(0, 10));
    expect([...days.values()].map((ofDay) => ofDay.length)).toEqual([3, 3, 1]);
  });

  it.each([
    ['advanceSeconds', {}],
    ['advanceSeconds', { advanceSeconds: 0 }],
    ['advanceSeconds', { advanceSeconds: 91 * DAY }],
    ['advanceSeconds', { advanceSeconds: 1, to: '2100-01-01T00:00:00Z' }],
    ['to', { to: '2020-01-01T00:00:00Z' }],
    ['to', { to: '2100-01-01T00:00:00Z' }],
  ])('names the field %s that is not valid (%j)', async (path, input) => {
    const { status, body } = await api('POST', '/api/test/clock', input);
    expect([status, body.issues?.[0]?.path]).toEqual([400, path]);
  });
});
