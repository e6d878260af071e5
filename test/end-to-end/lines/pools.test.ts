import { beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { recordProbe } from '#db/commands/lines/line-health.ts';
import { deleteLine } from '#db/commands/lines/line-moves.ts';
import { withTenant } from '#db/connection/transactions.ts';
import type { Message } from '#domain/messages/message.ts';
import type { TimelineEvent } from '#domain/messages/timeline.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { pauseLine } from '#workflows/protocol/updates.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers } from '#test/support/campaigns.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { ask, DANA } from '#test/support/operators.ts';
import { auditLogOf } from '#test/support/sessions.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => {
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});

const { newList, newCampaign, messagesOf } = campaignHelpers(() => ({ app, workspace, api }));

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();
const newLine = (fields: Parameters<typeof createLine>[3] = {}) =>
  createLine(app, workspace.id, 'imessage', fields);

async function newPool(lines: (string | { lineId: string; weight: number })[], fields: object = {}) {
  const { status, body } = await api('POST', '/api/pools', {
    name: 'Sales',
    lines: lines.map((line) => (typeof line === 'string' ? { lineId: line } : line)),
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return String(body.pool._id);
}

async function queue(poolId: string, fields: object = {}): Promise<Message> {
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: phone(),
    scheduledDate: inAnHour(),
    poolId,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return body;
}

const lineOf = async (id: string) => (await api('GET', `/api/messages/${id}`)).body.fromLineId;
const eventsOf = async (id: string, type: TimelineEvent['type']): Promise<TimelineEvent[]> =>
  (await api('GET', `/api/messages/${id}/timeline`)).body.events.filter(
    (event: TimelineEvent) => event.type === type,
  );
const movesOf = (id: string) => eventsOf(id, 'moved');

/** Three failed probes in a row, and what any probe by housekeeping finds. */
async function takeDown(lineId: string): Promise<void> {
  await api('POST', `/simulated/carrier/lines/${lineId}`, { down: true });
  await withTenant(app.pools, workspace.id, async (db) => {
    for (let probe = 0; probe < 3; probe += 1) await recordProbe(db, lineId, false, new Date());
  });
}

/** As if the line had stopped earlier. */
const stoppedFor = (lineId: string, minutes: number) =>
  age(app.pools, 'lines', ['stopped_at'], `${minutes} minutes`, `id = '${lineId}'`);

describe('a pool', () => {
  it('is created, listed, changed and deleted', async () => {
    const [first, second] = [await newLine(), await newLine()];
    const id = await newPool([first, { lineId: second, weight: 3 }]);
    expect((await api('GET', `/api/pools/${id}`)).body.pool).toMatchObject({
      name: 'Sales',
      lines: [
        { lineId: first, weight: 1 },
        { lineId: second, weight: 3 },
      ],
      strategy: 'round_robin',
      sticky: true,
      failover: 'new_conversations',
      failoverAfterMinutes: 15,
    });
    const changed = await api('PATCH', `/api/pools/${id}`, {
      lines: [{ lineId: second }],
      failover: 'always',
      failoverAfterMinutes: 0,
    });
    expect(changed.body.pool).toMatchObject({
      name: 'Sales',
      lines: [{ lineId: second, weight: 1 }],
      failover: 'always',
      failoverAfterMinutes: 0,
    });
    expect((await api('GET', '/api/pools')).body.pools).toEqual([changed.body.pool]);
    expect((await api('DELETE', `/api/pools/${id}`)).status).toBe(200);
    expect((await api('GET', `/api/pools/${id}`)).status).toBe(404);
    const recorded = await auditLogOf(app, workspace, { targetId: id });
    expect(recorded.map(({ action }) => action)).toEqual(['pool.created', 'pool.updated', 'pool.deleted']);
  });

  it('has lines of its workspace only, each once', async () => {
    const [own, other] = [await newLine(), await createLine(app, (await createWorkspace(app)).id)];
    const refused = await api('POST', '/api/pools', {
      name: 'Sales',
      lines: [{ lineId: own }, { lineId: other }],
    });
    expect(refused).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'lines.1.lineId', message: 'no such line in this workspace' }] },
    });
    const twice = await api('POST', '/api/pools', {
      name: 'Sales',
      lines: [{ lineId: own }, { lineId: own }],
    });
    expect(twice).toMatchObject({ status: 400, body: { issues: [{ path: 'lines.1.lineId' }] } });
    const heavy = await api('POST', '/api/pools', { name: 'Sales', lines: [{ lineId: own, weight: 101 }] });
    expect(heavy).toMatchObject({ status: 400, body: { issues: [{ path: 'lines.0.weight' }] } });
  });

  it('loses a line that is deleted', async () => {
    const [first, second] = [await newLine(), await newLine()];
    const id = await newPool([first, second]);
    await withTenant(app.pools, workspace.id, (db) => deleteLine(db, first));
    expect((await api('GET', `/api/pools/${id}`)).body.pool.lines).toEqual([{ lineId: second, weight: 1 }]);
  });

  it('is kept while a campaign uses it', async () => {
    const id = await newPool([await newLine()]);
    const campaign = await newCampaign({ poolId: id });
    expect(await api('DELETE', `/api/pools/${id}`)).toMatchObject({
      status: 409,
      body: { code: 'CONFLICT', campaigns: [{ _id: campaign, name: 'Spring' }] },
    });
    await api('DELETE', `/api/campaigns/${campaign}`);
    expect((await api('DELETE', `/api/pools/${id}`)).status).toBe(200);
  });

  it('is named in messages, drips and campaigns, alone and if it is of the workspace', async () => {
    const lineId = await newLine();
    const id = await newPool([lineId]);
    const to = { message: 'Hello', recipientPhone: phone(), poolId: id };
    for (const path of ['/api/messages', '/api/drip'])
      expect(await api('POST', path, { ...to, fromLineId: lineId })).toMatchObject({
        status: 400,
        body: { issues: [{ path: 'fromLineId', message: 'cannot be combined with poolId' }] },
      });
    expect(await api('POST', '/api/messages', { ...to, poolId: '0'.repeat(24) })).toMatchObject({
      status: 404,
      body: { error: 'poolId: no such pool in this workspace' },
    });
    expect(
      await api('POST', '/api/messages', { ...to, messageType: 'email', recipientEmail: 'a@b.example' }),
    ).toMatchObject({
      status: 400,
      body: { code: 'NO_ACTIVE_LINE' },
    });
    const steps = [{ message: 'Hi' }];
    const both = { name: 'Spring', steps, poolId: id, eligibleLineIds: [lineId] };
    expect(await api('POST', '/api/campaigns', both)).toMatchObject({
      status: 400,
      body: { issues: [{ path: 'eligibleLineIds' }] },
    });
    expect((await api('POST', '/api/drip', to)).status).toBe(202);
    await eventually(async () => {
      const { messages } = (await api('GET', '/api/messages')).body;
      return messages.length === 1 && messages[0].poolId === id && messages[0].fromLineId === lineId;
    });
  });
});

describe('the line of a message of a pool', () => {
  it('is the next in turn by weight, over requests', async () => {
    const [first, second] = [await newLine(), await newLine()];
    await newLine();
    const id = await newPool([
      { lineId: first, weight: 3 },
      { lineId: second, weight: 1 },
    ]);
    const taken: unknown[] = [];
    for (let count = 0; count < 8; count += 1) taken.push((await queue(id)).fromLineId);
    expect(taken.filter((lineId) => lineId === first)).toHaveLength(6);
    expect(taken.filter((lineId) => lineId === second)).toHaveLength(2);
    expect(taken.slice(0, 4)).toContain(second);
  });

  it('is the one with the fewest messages for its weight', async () => {
    const [first, second] = [await newLine(), await newLine()];
    const id = await newPool([{ lineId: first, weight: 2 }, second], { strategy: 'least_used' });
    for (let count = 0; count < 2; count += 1)
      await api('POST', '/api/messages', {
        message: 'Hello',
        recipientPhone: phone(),
        scheduledDate: inAnHour(),
        fromLineId: second,
      });
    const taken: unknown[] = [];
    for (let count = 0; count < 4; count += 1) taken.push((await queue(id)).fromLineId);
    expect(taken).toEqual([first, first, first, first]);
    await queue(id);
    const next = [(await queue(id)).fromLineId, (await queue(id)).fromLineId];
    expect(next).toContain(second);
  });

  it('is local: of the same area code, else state or province, else country', async () => {
    const [newYork, buffalo, toronto, berlin] = [
      await newLine({ phone: '+12125550100' }),
      await newLine({ phone: '+17165550100' }),
      await newLine({ phone: '+14165550100' }),
      await newLine({ phone: '+4930555010' }),
    ];
    const id = await newPool([newYork, buffalo, toronto, berlin], { strategy: 'local' });
    const lineTo = async (recipientPhone: string) => (await queue(id, { recipientPhone })).fromLineId;
    expect(await lineTo('+12125550111')).toBe(newYork);
    expect(await lineTo('+17165550111')).toBe(buffalo);
    // Ottawa and Toronto are in Ontario, Vancouver is in Canada.
    expect(await lineTo('+16135550111')).toBe(toronto);
    expect(await lineTo('+16045550111')).toBe(toronto);
    expect(await lineTo('+4940555011')).toBe(berlin);
    // Albany is in the state of both New York's lines.
    expect(new Set([await lineTo('+15185550111'), await lineTo('+15185550112')])).toEqual(
      new Set([newYork, buffalo]),
    );
  });

  it('stays the same for a contact if the pool is sticky, and else rotates', async () => {
    const lines = [await newLine(), await newLine(), await newLine()];
    const contact = { recipientPhone: phone() };
    const sticky = await newPool(lines);
    const first = (await queue(sticky, contact)).fromLineId;
    await queue(sticky);
    expect((await queue(sticky, contact)).fromLineId).toBe(first);
    const rotating = await newPool(lines, { sticky: false });
    const taken = new Set<unknown>();
    for (let count = 0; count < 3; count += 1) taken.add((await queue(rotating, contact)).fromLineId);
    expect(taken.size).toBe(3);
  });

  it('is that of the workspace in turn without a pool, except for a contact who has just written', async () => {
    const [first, second] = [await newLine(), await newLine()];
    const contact = phone();
    const taken = new Set<unknown>();
    const send = async () =>
      (
        await api('POST', '/api/messages', {
          message: 'Hello',
          recipientPhone: contact,
          scheduledDate: inAnHour(),
        })
      ).body.fromLineId;
    for (let count = 0; count < 2; count += 1) taken.add(await send());
    expect(taken).toEqual(new Set([first, second]));
    await writeIn(app, { lineId: second, from: contact, text: 'Hello?' });
    await eventually(async () => (await api('GET', '/api/replies')).body.replies.length === 1);
    expect([await send(), await send(), await send()]).toEqual([second, second, second]);
  });
});

test('the lines of a channel take turns, whatever is sent through other channels in between', async () => {
  const lines = [await newLine(), await newLine()];
  await createLine(app, workspace.id, 'email');
  const lineOf = async (message: object): Promise<string> => {
    const body = { message: 'Hello', scheduledDate: inAnHour(), ...message };
    return (await api('POST', '/api/messages', body)).body.fromLineId;
  };
  const taken = new Set<string>();
  for (let count = 0; count < 2; count += 1) {
    taken.add(await lineOf({ recipientPhone: phone() }));
    await lineOf({ messageType: 'email', recipientEmail: `${count}@example.com` });
  }
  expect(taken).toEqual(new Set(lines));
});

describe('a line of a pool that goes down', () => {
  it('in the middle of a campaign costs no message its place', async () => {
    const [dying, healthy] = [await newLine({ min_gap_seconds: 1 }), await newLine({ min_gap_seconds: 0 })];
    const poolId = await newPool([dying, healthy], { failoverAfterMinutes: 0 });
    const to = Array.from({ length: 16 }, () => phone());
    const { listId } = await newList(to.map((number) => ({ phone: number })));
    const steps = [{ message: 'One' }, { message: 'Two', delay: { days: 2 } }];
    const campaignId = await newCampaign({ listId, poolId, steps, start: true });
    await eventually(async () => {
      const log = await Promise.all(to.map((number) => sentTo(app, number)));
      return log.flat().some(({ lineId }) => lineId === dying);
    });
    const before = await messagesOf(campaignId);
    await takeDown(dying);
    const log = await eventually(async () => {
      const sent = await Promise.all(to.map((number) => sentTo(app, number)));
      return sent.every(({ length }) => length > 0) && sent;
    });
    expect(log.map(({ length }) => length)).toEqual(to.map(() => 1));

    const messages = await messagesOf(campaignId);
    const moved = messages.filter(
      ({ _id, fromLineId }) => fromLineId !== before.find((message) => message._id === _id)?.fromLineId,
    );
    const ofStep = (index: number) => moved.filter(({ stepIndex }) => stepIndex === index);
    expect(ofStep(0).length).toBeGreaterThan(0);
    // The second step goes with the first.
    expect(
      ofStep(1)
        .map(({ leadId }) => leadId)
        .toSorted(),
    ).toEqual(
      ofStep(0)
        .map(({ leadId }) => leadId)
        .toSorted(),
    );
    for (const { _id, scheduledDate } of ofStep(0)) {
      const claims = await eventsOf(_id, 'claimed');
      // One that the line had in its hands when it went down is tried again later.
      if (claims.length > 1) continue;
      expect(scheduledDate).toBe(before.find((message) => message._id === _id)?.scheduledDate);
      expect(await movesOf(_id)).toEqual([
        expect.objectContaining({
          text: 'Moved to another line of its pool: its line was down.',
          data: {
            reason: 'line_down',
            fromLineId: dying,
            toLineId: healthy,
            rule: 'failover:new_conversations',
          },
        }),
      ]);
    }
  });

  it('keeps its messages for the time of the pool', async () => {
    const [dying, healthy] = [await newLine(), await newLine()];
    const poolId = await newPool([{ lineId: dying, weight: 100 }, healthy], { failoverAfterMinutes: 15 });
    const waiting = await queue(poolId);
    expect(waiting.fromLineId).toBe(dying);
    await takeDown(dying);
    await stoppedFor(dying, 14);
    await api('PATCH', `/api/pools/${poolId}`, { name: 'Looked at' });
    await eventually(async () => {
      const handover = app.temporal.workflow.getHandle(`line-handover:${dying}:${workspace.id}`);
      return (await handover.describe()).status.name === 'RUNNING';
    });
    expect(await lineOf(waiting._id)).toBe(dying);
    await stoppedFor(dying, 1);
    await api('PATCH', `/api/pools/${poolId}`, { name: 'Looked at again' });
    await eventually(async () => (await lineOf(waiting._id)) === healthy);
  });

  it('keeps known contacts, unless the failover is always, and everybody if it is never', async () => {
    const [line, other] = [await newLine(), await newLine()];
    const lines = [{ lineId: line, weight: 100 }, other];
    const [known, friend] = [{ recipientPhone: phone() }, { recipientPhone: phone() }];
    const pools = {
      never: await newPool(lines, { failover: 'never', failoverAfterMinutes: 0 }),
      strangers: await newPool(lines, { failoverAfterMinutes: 0 }),
      always: await newPool(lines, { failover: 'always', failoverAfterMinutes: 0 }),
    };
    for (const contact of [known, friend]) {
      await queue(pools.never, { ...contact, scheduledDate: new Date().toISOString() });
      await eventually(async () => (await sentTo(app, contact.recipientPhone)).length === 1);
    }
    const stays = [
      await queue(pools.never),
      await queue(pools.never, known),
      await queue(pools.strangers, friend),
    ];
    const moves = [await queue(pools.strangers), await queue(pools.always), await queue(pools.always, known)];
    expect([...stays, ...moves].map(({ fromLineId }) => fromLineId)).toEqual(
      Array.from({ length: 6 }, () => line),
    );
    await takeDown(line);
    await eventually(async () => {
      const at = await Promise.all(moves.map(({ _id }) => lineOf(_id)));
      return at.every((lineId) => lineId === other);
    });
    expect(await Promise.all(stays.map(({ _id }) => lineOf(_id)))).toEqual([line, line, line]);
    // What is accepted meanwhile follows the same rules.
    expect((await queue(pools.strangers, friend)).fromLineId).toBe(line);
    expect((await queue(pools.always, known)).fromLineId).toBe(other);
    expect((await queue(pools.strangers)).fromLineId).toBe(other);
  });
});

describe('another stop of a line of a pool', () => {
  it.each(['paused', 'inactive', 'deleted'])('moves its messages: %s', async (stop) => {
    const [line, other] = [await newLine(), await newLine()];
    const poolId = await newPool([{ lineId: line, weight: 100 }, other], { failoverAfterMinutes: 0 });
    // A message that is sent starts the pacer.
    const sent = phone();
    await queue(poolId, { recipientPhone: sent, scheduledDate: new Date().toISOString() });
    await eventually(async () => (await sentTo(app, sent)).length === 1);
    const waiting = await queue(poolId);
    expect(waiting.fromLineId).toBe(line);
    if (stop === 'paused') await ask(app.temporal, linePacerId(line), pauseLine, DANA);
    if (stop === 'inactive') await api('PATCH', `/api/lines/${line}`, { isActive: false });
    if (stop === 'deleted') await withTenant(app.pools, workspace.id, (db) => deleteLine(db, line));
    await eventually(async () => (await lineOf(waiting._id)) === other);
    const [move] = await movesOf(waiting._id);
    expect(move?.data).toMatchObject({ fromLineId: line, toLineId: other });
  });

  it('leaves them until a line of the pool works', async () => {
    const [line, other] = [await newLine(), await newLine()];
    const poolId = await newPool([line, other], { failoverAfterMinutes: 0 });
    await takeDown(line);
    await takeDown(other);
    const waiting = await queue(poolId);
    const at = String(waiting.fromLineId);
    const recovers = at === line ? other : line;
    await withTenant(app.pools, workspace.id, (db) => recordProbe(db, recovers, true, new Date()));
    await api('PATCH', `/api/pools/${poolId}`, { name: 'Looked at' });
    await eventually(async () => (await lineOf(waiting._id)) === recovers);
  });
});
