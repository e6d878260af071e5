import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { beginLineChange, endLineChange } from '#db/commands/lines/line-moves.ts';
import { systemDb } from '#db/connection/transactions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { writeIn } from '#test/support/inbound.ts';
import { DANA } from '#test/support/operators.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { signalsOf } from '#test/support/workflows.ts';
import { statusQuery } from '#workflows/protocol/queries.ts';
import { pauseLine, resumeLine, sendNow } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app, { timezone: 'UTC' });
  api = apiClient(app.url, workspace.key);
});

async function post(fromLineId: string, fields: { recipientPhone?: string; [field: string]: unknown } = {}) {
  const { recipientPhone: to = phone(), ...rest } = fields;
  const { status } = await api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    fromLineId,
    ...rest,
  });
  expect(status).toBe(201);
  return { to };
}

const sentFrom = async (to: string): Promise<number> => (await sentTo(app, to)).length;
const isSent = async ({ to }: { to: string }): Promise<boolean> => (await sentFrom(to)) > 0;
const dueSignals = async (lineId: string): Promise<number> =>
  (await signalsOf(app, linePacerId(lineId))).filter((name) => name === 'messagesDue').length;
const order = (lineId: string, update: typeof pauseLine | typeof sendNow): Promise<unknown> =>
  updateWorkflow<unknown, typeof DANA>(
    app.temporal,
    { workflowId: linePacerId(lineId), workspaceId: workspace.id },
    update,
    DANA,
  );

/** The pacer has nothing to do until something changes, or a time that is not near. */
async function rests(lineId: string, reason: RegExp): Promise<void> {
  const handle = app.temporal.workflow.getHandle(linePacerId(lineId));
  await eventually(async () => {
    const { raw } = await handle.describe();
    const status = await handle.query(statusQuery);
    return (
      (raw.pendingActivities?.length ?? 0) === 0 && !raw.pendingWorkflowTask && reason.test(status.reason)
    );
  });
}

/** A line that has used up `limit`, with one message in its queue that waits for it. */
async function cappedLine(limit: Record<string, number>): Promise<string> {
  const lineId = await createLine(app, workspace.id);
  const { status } = await api('PATCH', `/api/lines/${lineId}`, limit);
  expect(status).toBe(200);
  const first = await post(lineId);
  await eventually(() => isSent(first));
  await post(lineId);
  await rests(lineId, /used up/);
  return lineId;
}

describe('messages for a line that holds them', () => {
  it('cause no signal while an operator has paused it, and are sent when it is resumed', async () => {
    const lineId = await createLine(app, workspace.id);
    await order(lineId, pauseLine);
    await rests(lineId, /paused/);
    const held: { to: string }[] = [];
    for (let n = 0; n < 5; n += 1) held.push(await post(lineId));
    expect(await dueSignals(lineId)).toBe(0);
    await order(lineId, resumeLine);
    await eventually(async () => (await Promise.all(held.map(isSent))).every(Boolean));
  });

  it.each([
    ['day', { dailyTotalMessagesLimit: 1 }],
    ['hour', { hourlyNewConversationsLimit: 1 }],
  ])(
    'cause no signal while the cap of the %s is used up, and are sent when it is raised',
    async (_, limit) => {
      const lineId = await cappedLine(limit);
      const before = await dueSignals(lineId);
      const held = [await post(lineId), await post(lineId), await post(lineId)];
      expect((await dueSignals(lineId)) - before).toBe(0);
      const raised = Object.fromEntries(Object.keys(limit).map((key) => [key, 100]));
      await api('PATCH', `/api/lines/${lineId}`, raised);
      await eventually(async () => (await Promise.all(held.map(isSent))).every(Boolean));
    },
  );

  it('cause no signal while nobody has switched it on, and are sent when somebody does', async () => {
    const lineId = await createLine(app, workspace.id);
    await api('PATCH', `/api/lines/${lineId}`, { isActive: false });
    const first = await post(lineId);
    await rests(lineId, /not active/);
    const before = await dueSignals(lineId);
    const second = await post(lineId);
    expect((await dueSignals(lineId)) - before).toBe(0);
    await api('PATCH', `/api/lines/${lineId}`, { isActive: true });
    await eventually(async () => (await isSent(first)) && (await isSent(second)));
  });
});

describe('a message that may be sent although its line holds others', () => {
  it('is sent at once to a contact whom the line knows, while new contacts wait for their cap', async () => {
    const lineId = await createLine(app, workspace.id);
    await api('PATCH', `/api/lines/${lineId}`, { dailyNewConversationsLimit: 1 });
    const known = await post(lineId);
    await eventually(() => isSent(known));
    const stranger = await post(lineId);
    await rests(lineId, /used up/);
    await post(lineId, { recipientPhone: known.to });
    await eventually(async () => (await sentFrom(known.to)) === 2);
    expect(await isSent(stranger)).toBe(false);
  });

  it('is sent at once when its contact writes', async () => {
    const lineId = await cappedLine({ dailyNewConversationsLimit: 1 });
    const held = await post(lineId);
    await writeIn(app, { lineId, from: held.to, text: 'Hello?' });
    await eventually(() => isSent(held));
  });

  it('is sent at once in its window, while the window of others is closed', async () => {
    const lineId = await createLine(app, workspace.id);
    const inTwoHours = new Date(Date.now() + 2 * 3_600_000).toISOString().slice(11, 16);
    const inThreeHours = new Date(Date.now() + 3 * 3_600_000).toISOString().slice(11, 16);
    const window = { sendWindowStart: inTwoHours, sendWindowEnd: inThreeHours };
    const later = await post(lineId, window);
    await rests(lineId, /scheduled for later/);
    const before = await dueSignals(lineId);
    await post(lineId, window);
    expect((await dueSignals(lineId)) - before).toBe(0);
    const now = await post(lineId);
    await eventually(() => isSent(now));
    expect(await isSent(later)).toBe(false);
  });

  it('is sent at once when an operator says so, within the gap of the line', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 600 });
    const first = await post(lineId);
    await eventually(() => isSent(first));
    const second = await post(lineId);
    await rests(lineId, /pauses between/);
    const before = await dueSignals(lineId);
    await post(lineId);
    expect((await dueSignals(lineId)) - before).toBe(0);
    await order(lineId, sendNow);
    await eventually(() => isSent(second));
  });
});

test('loses no message that is accepted while its line is paused, resumed and changed', async () => {
  const lineId = await createLine(app, workspace.id);
  const accepted: { to: string }[] = [];
  const changing = (async () => {
    for (let n = 0; n < 6; n += 1) {
      await order(lineId, pauseLine);
      await api('PATCH', `/api/lines/${lineId}`, { dailyTotalMessagesLimit: n % 2 === 0 ? 1 : 10_000 });
      await order(lineId, resumeLine);
    }
  })();
  const posting = async (): Promise<void> => {
    for (let n = 0; n < 10; n += 1) accepted.push(await post(lineId));
  };
  await Promise.all([changing, posting(), posting(), posting()]);
  await eventually(async () => (await Promise.all(accepted.map(isSent))).every(Boolean));
});

test('a line that is changed after a restore of the database still waits until its carrier can list what it had sent', async () => {
  const lostUntil = new Date();
  const lineId = await createLine(app, workspace.id, 'imessage', {
    lost_from: new Date(lostUntil.getTime() - 60_000),
    lost_until: lostUntil,
  });
  const heldFor = () =>
    systemDb(app.pools).oneFirst(sql.type(z.object({ seconds: z.number().nullable() }))`
      select extract(epoch from held_until - lost_until)::float8 seconds from lines where id = ${lineId}`);
  await beginLineChange(app.pools, workspace.id, lineId);
  expect(await heldFor()).toBe(180);
  await endLineChange(app.pools, workspace.id, lineId);
  expect(await heldFor()).toBe(180);
});
