import { sql } from 'slonik';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { judgeLines } from '#db/commands/lines/line-reputation.ts';
import { NoRows } from '#db/connection/rows.ts';
import { withTenant } from '#db/connection/transactions.ts';
import type { TimelineEvent } from '#domain/messages/timeline.ts';
import { statusQuery } from '#workflows/protocol/queries.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';
import { age } from '#test/support/age.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { signalsOf } from '#test/support/workflows.ts';

/** Lines whose reputation is critical, beside pools and forecasts. */
let app: TestApp;
let workspace: TestWorkspace;

beforeAll(async () => void (app = await sharedApp()));
beforeEach(async () => void (workspace = await createWorkspace(app)));

const change = (statement: ReturnType<typeof sql.fragment>) =>
  withTenant(app.pools, workspace.id, (db) => db.query(sql.type(NoRows)`${statement}`));

/** People complain about the line, which then rests. */
async function takeToRest(lineId: string): Promise<void> {
  await change(
    sql.fragment`insert into line_signals (workspace_id, line_id, day, sent, opened, approached, optouts, complained)
      values (${workspace.id}, ${lineId}, (now() at time zone 'UTC')::date - 1, 40, 40, 40, 12, 6)`,
  );
  // A line that a plan has locked is skipped.
  await eventually(async () => {
    await withTenant(app.pools, workspace.id, (db) =>
      judgeLines(db, [lineId], { seal: (text) => text }, new Date()),
    );
    return withTenant(app.pools, workspace.id, (db) =>
      db.exists(sql.type(NoRows)`
        select from lines where workspace_id = ${workspace.id} and id = ${lineId} and stop_reason = 'line_resting'`),
    );
  });
}

/** As if the line had begun to rest earlier. */
const restsFor = (lineId: string, minutes: number) =>
  age(app.pools, 'lines', ['stopped_at'], `${minutes} minutes`, `id = '${lineId}'`);

async function send(fields: object, to = phone()) {
  const { status, body } = await workspace.api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    ...fields,
  });
  expect(status, JSON.stringify(body)).toBe(201);
  return { id: String(body._id), lineId: body.fromLineId, to };
}
const isSent = async ({ to }: { to: string }) => (await sentTo(app, to)).length > 0;
const get = async (id: string) => (await workspace.api('GET', `/api/messages/${id}`)).body;
const inAnHour = () => ({ scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });

async function poolOf(lines: object[], fields: object = {}): Promise<string> {
  const { status, body } = await workspace.api('POST', '/api/pools', { name: 'Sales', lines, ...fields });
  expect(status, JSON.stringify(body)).toBe(201);
  return body.pool._id;
}

describe('a resting line of a pool', () => {
  it('gives its waiting new conversations to another line after the time of the pool, and keeps its contacts', async () => {
    const [line, other] = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
    const poolId = await poolOf([{ lineId: line, weight: 100 }, { lineId: other }], { failover: 'always' });
    const friend = await send({ poolId });
    await eventually(() => isSent(friend));
    const [waiting, known] = [
      await send({ poolId, ...inAnHour() }),
      await send({ poolId, ...inAnHour() }, friend.to),
    ];
    expect([friend, waiting, known].map(({ lineId }) => lineId)).toEqual([line, line, line]);
    await takeToRest(line);
    await restsFor(line, 14);
    await workspace.api('PATCH', `/api/pools/${poolId}`, { name: 'Looked at' });
    await eventually(async () => {
      const handover = app.temporal.workflow.getHandle(`line-handover:${line}:${workspace.id}`);
      return (await handover.describe()).status.name === 'RUNNING';
    });
    expect((await get(waiting.id)).fromLineId).toBe(line);
    await restsFor(line, 1);
    await workspace.api('PATCH', `/api/pools/${poolId}`, { name: 'Looked at again' });
    await eventually(async () => (await get(waiting.id)).fromLineId === other);
    expect((await get(known.id)).fromLineId).toBe(line);
    const { events } = (await workspace.api('GET', `/api/messages/${waiting.id}/timeline`)).body;
    expect(events.find(({ type }: TimelineEvent) => type === 'moved')?.data).toMatchObject({
      reason: 'line_resting',
      fromLineId: line,
      toLineId: other,
    });
  });

  it('is not chosen for new conversations while another line is healthy, and still is when none is', async () => {
    const [line, other] = [await createLine(app, workspace.id), await createLine(app, workspace.id)];
    const poolId = await poolOf([{ lineId: line, weight: 100 }, { lineId: other }]);
    const friend = await send({ poolId });
    await eventually(() => isSent(friend));
    await takeToRest(line);
    for (let count = 0; count < 4; count += 1)
      expect((await send({ poolId, ...inAnHour() })).lineId).toBe(other);
    expect((await send({ poolId, ...inAnHour() }, friend.to)).lineId).toBe(line);
    await takeToRest(other);
    expect([line, other]).toContain((await send({ poolId, ...inAnHour() })).lineId);
  });
});

describe('messages for a resting line', () => {
  it('cause no signal each, and leave at once when its effects are lifted', async () => {
    const lineId = await createLine(app, workspace.id);
    const dueSignals = async (): Promise<number> =>
      (await signalsOf(app, linePacerId(lineId))).filter((name) => name === 'messagesDue').length;
    await takeToRest(lineId);
    const first = await send({ fromLineId: lineId });
    const handle = app.temporal.workflow.getHandle(linePacerId(lineId));
    await eventually(async () => {
      const { raw } = await handle.describe();
      const { reason } = await handle.query(statusQuery);
      return (raw.pendingActivities?.length ?? 0) === 0 && /reputation/.test(reason);
    });
    const before = await dueSignals();
    const held = [first];
    for (let count = 0; count < 5; count += 1) held.push(await send({ fromLineId: lineId }));
    expect((await dueSignals()) - before).toBe(0);
    for (const { id } of held) expect((await get(id)).holdReason).toBe('line_resting');
    const path = `/api/lines/${lineId}/reputation/override`;
    expect((await workspace.api('POST', path, { hours: 1, reason: 'They asked for it' })).status).toBe(200);
    await eventually(async () => (await Promise.all(held.map(isSent))).every(Boolean));
  });

  it('tell afterwards that it rested, those to its contacts do not', async () => {
    const lineId = await createLine(app, workspace.id);
    const known = phone();
    await eventually(async () => isSent(await send({ fromLineId: lineId }, known)));
    await takeToRest(lineId);
    const waiting = await send({ fromLineId: lineId });
    await eventually(async () => (await get(waiting.id)).holdReason === 'line_resting');
    const answer = await send({ fromLineId: lineId }, known);
    await eventually(async () => ['sent', 'delivered'].includes((await get(answer.id)).status));
    await age(app.pools, 'messages', ['created_at', 'scheduled_at'], '1 minute', `id = '${waiting.id}'`);
    await age(app.pools, 'line_holds', ['began_at'], '1 minute', `line_id = '${lineId}'`);
    const path = `/api/lines/${lineId}/reputation/override`;
    await workspace.api('POST', path, { hours: 1, reason: 'They asked for it' });
    await eventually(() => isSent(waiting));
    const movesOf = async (id: string) =>
      ((await workspace.api('GET', `/api/messages/${id}/timeline`)).body.events as TimelineEvent[]).filter(
        ({ type }) => type === 'moved' || type === 'held',
      );
    expect(await movesOf(waiting.id)).toEqual([
      expect.objectContaining({
        type: 'moved',
        text: expect.stringContaining('the reputation of the line is critical') as string,
        data: expect.objectContaining({ reason: 'line_resting' }) as object,
      }),
    ]);
    expect(await movesOf(answer.id)).toEqual([]);
  });
});

describe('a forecast', () => {
  const body = { newConversations: 5, steps: [{ delay: {} }] };
  const forecast = async (fields: object = {}) => {
    const { status, body: found } = await workspace.api('POST', '/api/forecast', { ...body, ...fields });
    expect(status, JSON.stringify(found)).toBe(200);
    return found;
  };

  it('waits for a line that rests, gives its leads to another one, and counts an override', async () => {
    const lineId = await createLine(app, workspace.id);
    const today = new Date().toISOString().slice(0, 10);
    expect((await forecast()).completesAt.slice(0, 10)).toBe(today);
    await takeToRest(lineId);
    const resting = await forecast();
    const { restsUntil } = await restOf(lineId);
    expect(Date.parse(resting.completesAt)).toBeGreaterThanOrEqual(restsUntil.getTime());
    expect(resting.limitedBy[0].reason).toBe('line_resting');
    await workspace.api('POST', `/api/lines/${lineId}/reputation/override`, {
      hours: 24,
      reason: 'Asked for',
    });
    expect((await forecast()).completesAt.slice(0, 10)).toBe(today);
    await workspace.api('DELETE', `/api/lines/${lineId}/reputation/override`);
    await createLine(app, workspace.id);
    expect((await forecast()).completesAt.slice(0, 10)).toBe(today);
  });

  it('waits until the recipients are awake', async () => {
    await createLine(app, workspace.id);
    const hourIn = (hours: number): string =>
      `${new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 13)}:00`;
    await workspace.api('PUT', '/api/workspace/quiet-hours', {
      enabled: true,
      start: hourIn(4),
      end: hourIn(-2),
    });
    const { completesAt, limitedBy } = await forecast();
    expect(Date.parse(completesAt)).toBeGreaterThan(Date.now() + 3 * 3_600_000 - 60_000);
    expect(completesAt.slice(11, 13)).toBe(hourIn(4).slice(0, 2));
    expect(limitedBy[0].reason).toBe('recipient_quiet_hours');
  });

  const restOf = async (lineId: string) => {
    const RestRow = z.object({ restsUntil: z.date() });
    return withTenant(app.pools, workspace.id, (db) =>
      db.one(sql.type(RestRow)`
        select reputation_rests_until rests_until from lines where id = ${lineId}`),
    );
  };
});
