import { beforeAll, describe, expect, it, test } from 'vitest';
import { createLineOrderActivities } from '#activities/lines/line-orders.ts';
import { planSends } from '#db/commands/sending/send-plan.ts';
import { withTenant } from '#db/connection/transactions.ts';
import { newId } from '#domain/base/ids.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { lock } from '#test/support/locks.ts';
import { ask, auditOf, DANA, refusalOf } from '#test/support/operators.ts';
import { planQuery } from '#workflows/protocol/queries.ts';
import { STATE } from '#workflows/protocol/search-attributes.ts';
import {
  type MessageOrder,
  pauseLine,
  resumeLine,
  sendNow,
  skipMessage,
} from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});

const pacer = (lineId: string) => app.temporal.workflow.getHandle(linePacerId(lineId));
const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

async function queue(fromLineId: string, fields: Record<string, unknown> = {}) {
  const recipientPhone = phone();
  const { status, body } = await api('POST', '/api/messages', {
    message: 'Hello',
    fromLineId,
    recipientPhone,
    ...fields,
  });
  expect(status).toBe(201);
  return { id: String(body._id), to: recipientPhone };
}
const messageOf = async (id: string) => (await api('GET', `/api/messages/${id}`)).body;
const isSent = async (to: string) => (await sentTo(app, to)).length === 1;
const lineOf = async (lineId: string) => {
  const { body } = await api('GET', '/api/lines/by-user');
  return (body.lines as { _id: string }[]).find(({ _id }) => _id === lineId);
};
/** Sends an update to the pacer, as from Temporal's UI. */
const tell = <V, O extends typeof DANA>(
  lineId: string,
  update: Parameters<typeof ask<V, O>>[2],
  order: O,
): Promise<V> => ask(app.temporal, linePacerId(lineId), update, order);
const auditOfLine = async (...ids: string[]) =>
  (await auditOf(app, workspace.id)).filter((entry) => ids.some((id) => entry.includes(id)));

describe('a line that an operator pauses', () => {
  it('sends nothing until it is resumed, shows that it is paused, and keeps its settings', async () => {
    const lineId = await createLine(app, workspace.id);
    const first = await queue(lineId);
    await eventually(() => isSent(first.to));
    expect(await tell(lineId, pauseLine, DANA)).toEqual({ lineId, isPaused: true });
    expect(await tell(lineId, pauseLine, { by: 'Robin' })).toEqual({ lineId, isPaused: true });
    expect(await lineOf(lineId)).toMatchObject({ isPaused: true, isActive: true });

    const held = await queue(lineId);
    await eventually(async () => (await messageOf(held.id)).holdReason === 'line_paused');
    // The hold is derived from the line, which its pacer looks at a moment later.
    const plan = await eventually(async () => {
      const found = await pacer(lineId).query(planQuery);
      return found.state === 'paused' && found;
    });
    expect(plan).toMatchObject({
      reason: expect.stringContaining('paused'),
      carrier: 'simulated',
    });
    expect((await pacer(lineId).describe()).typedSearchAttributes.get(STATE)).toBe('paused');
    expect(await sentTo(app, held.to)).toEqual([]);

    expect(await tell(lineId, resumeLine, DANA)).toEqual({ lineId, isPaused: false });
    await eventually(() => isSent(held.to));
    expect(await lineOf(lineId)).toMatchObject({ isPaused: false });
    expect(await auditOfLine(lineId)).toEqual([
      `Dana: line.paused ${lineId} maintenance`,
      `Dana: line.resumed ${lineId} maintenance`,
    ]);
  });

  it('is paused even if its pacer is not running', async () => {
    const lineId = await createLine(app, workspace.id);
    const target = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
    expect(await updateWorkflow(app.temporal, target, pauseLine, DANA)).toEqual({ lineId, isPaused: true });
    expect(await lineOf(lineId)).toMatchObject({ isPaused: true });
  });

  it('is refused to an operator whose name PostgreSQL cannot store', async () => {
    const lineId = await createLine(app, workspace.id);
    const { to } = await queue(lineId);
    await eventually(() => isSent(to));
    expect(await refusalOf(tell(lineId, pauseLine, { by: 'Da\0na' }))).toMatchObject({
      type: 'VALIDATION_ERROR',
      message: 'by: must not contain the NUL character',
    });
  });

  it('refuses an update without a name, or with one that is too long, before it enters the history', async () => {
    const lineId = await createLine(app, workspace.id);
    const { to } = await queue(lineId);
    await eventually(() => isSent(to));
    expect(await refusalOf(tell(lineId, pauseLine, { by: ' ' }))).toMatchObject({
      type: 'VALIDATION_ERROR',
      message: 'by: the name of the operator is required',
    });
    expect(await refusalOf(tell(lineId, pauseLine, { by: 'D'.repeat(201) }))).toMatchObject({
      type: 'VALIDATION_ERROR',
      message: 'by: must be a text of at most 200 characters',
    });
    expect(
      (await pacer(lineId).fetchHistory()).events?.some(
        (e) => e.workflowExecutionUpdateAcceptedEventAttributes,
      ),
    ).toBe(false);
  });
});

describe('sending a message now', () => {
  it('sends it before all others, whatever its time and the gaps', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 3600 });
    const first = await queue(lineId);
    await eventually(() => isSent(first.to));
    const second = await queue(lineId);
    const last = await queue(lineId, { scheduledDate: inAnHour() });
    expect(await tell(lineId, sendNow, { ...DANA, messageId: last.id })).toMatchObject({
      messageId: last.id,
    });
    await eventually(() => isSent(last.to));
    expect(await sentTo(app, second.to)).toEqual([]);
    expect(await tell(lineId, sendNow, DANA)).toMatchObject({ messageId: second.id });
    await eventually(() => isSent(second.to));
    expect((await refusalOf(tell(lineId, sendNow, DANA))).type).toBe('INVALID_STATE');
    // For a message that was sent already nothing changes.
    await tell(lineId, sendNow, { ...DANA, messageId: last.id });
    expect(await sentTo(app, last.to)).toHaveLength(1);
    expect(await auditOfLine(second.id, last.id)).toEqual([
      `Dana: message.sent_now ${last.id} maintenance`,
      `Dana: message.sent_now ${second.id} maintenance`,
    ]);
  });

  it('sends no other message if the activity is retried', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 3600 });
    const first = await queue(lineId);
    await eventually(() => isSent(first.to));
    const [wanted, other] = [await queue(lineId), await queue(lineId)];
    const updateId = newId();
    const verdict = await pacer(lineId).executeUpdate(sendNow, { args: [DANA], updateId });
    expect(verdict.messageId).toBe(wanted.id);
    await eventually(() => isSent(wanted.to));
    const activities = createLineOrderActivities({ pools: app.pools });
    const retried = await activities.sendNow({ ...DANA, workspaceId: workspace.id, lineId, updateId });
    expect(retried.messageId).toBe(wanted.id);
    expect(await auditOfLine(wanted.id, other.id)).toEqual([
      `Dana: message.sent_now ${wanted.id} maintenance`,
    ]);

    // An update of another line may have the same id, and workflows of earlier releases give none.
    const elsewhere = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 3600 });
    const sent = await queue(elsewhere);
    await eventually(() => isSent(sent.to));
    for (const order of [{ updateId }, {}]) {
      const next = await queue(elsewhere);
      const orderOfOther = { ...DANA, ...order, workspaceId: workspace.id, lineId: elsewhere };
      expect((await activities.sendNow(orderOfOther)).messageId).toBe(next.id);
      await eventually(() => isSent(next.to));
    }
  });

  it('waits for a concurrent change of its conversation', async () => {
    const [quick, slow] = [
      await createLine(app, workspace.id),
      await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 3600 }),
    ];
    const known = await queue(quick);
    const first = await queue(slow);
    await eventually(async () => (await isSent(known.to)) && (await isSent(first.to)));
    const wanted = await queue(slow, { recipientPhone: known.to });
    const conversation = await lock(app, 'conversations', known.to, 'address');
    await tell(slow, sendNow, { ...DANA, messageId: wanted.id });
    const look = await withTenant(app.pools, workspace.id, (db) =>
      planSends(db, slow, 1000, () => new Date()),
    );
    expect(look?.claims).toEqual([]);
    await conversation.release();
    await eventually(async () => (await sentTo(app, known.to)).length === 2);
  });

  it('is refused because of a cap, an opt-out, a send window or a paused line', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { hourly_new_limit: 1 });
    const first = await queue(lineId);
    await eventually(() => isSent(first.to));
    const capped = await queue(lineId, { scheduledDate: inAnHour() });
    const why = async (id: string) => {
      const { type, message } = await refusalOf(tell(lineId, sendNow, { ...DANA, messageId: id }));
      expect(type).toBe('INVALID_STATE');
      return message;
    };
    expect(await why(capped.id)).toContain('new conversations of this hour');
    const gone = phone();
    await api('POST', '/api/opt-outs', { address: gone });
    const out = await queue(lineId, { scheduledDate: inAnHour(), recipientPhone: gone });
    expect(await why(out.id)).toContain('failed');
    const today = new Date().getUTCDay();
    const windowed = await queue(lineId, {
      recipientPhone: first.to,
      allowedDaysOfWeek: [(today + 3) % 7],
      timezone: 'UTC',
    });
    expect(await why(windowed.id)).toContain('window');
    await tell(lineId, pauseLine, DANA);
    expect(await why(capped.id)).toContain('paused');
    // A refused message keeps its place.
    expect((await messageOf(capped.id)).status).toBe('scheduled');
    expect(await refusalOf(tell(lineId, sendNow, { ...DANA, messageId: newId() }))).toMatchObject({
      type: 'NOT_FOUND',
    });
  });
});

// Temporal's UI and CLI send any argument.
test.each<{ update: typeof sendNow | typeof skipMessage; messageId: unknown }>([
  { update: sendNow, messageId: 5 },
  { update: skipMessage, messageId: 5 },
  { update: skipMessage, messageId: undefined },
])('$update.name of the message $messageId is refused as wrong in itself', async ({ update, messageId }) => {
  const lineId = await createLine(app, workspace.id);
  const target = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
  const order = { ...DANA, messageId } as MessageOrder;
  expect(await refusalOf(updateWorkflow(app.temporal, target, update, order))).toMatchObject({
    type: 'VALIDATION_ERROR',
    message: 'messageId: must be the id of a message',
  });
});

describe('skipping a message', () => {
  it("cancels it once, and is refused for a sent message and for another line's", async () => {
    const lineId = await createLine(app, workspace.id);
    const first = await queue(lineId);
    await eventually(() => isSent(first.to));
    const later = await queue(lineId, { scheduledDate: inAnHour() });
    const skip = (messageId: string) => tell(lineId, skipMessage, { ...DANA, messageId });
    expect(await skip(later.id)).toEqual({ messageId: later.id, status: 'canceled' });
    expect(await skip(later.id)).toEqual({ messageId: later.id, status: 'canceled' });
    expect((await messageOf(later.id)).status).toBe('canceled');
    expect(await auditOfLine(later.id)).toEqual([`Dana: message.skipped ${later.id} maintenance`]);
    expect((await refusalOf(skip(first.id))).type).toBe('MESSAGE_NOT_CANCELABLE');
    const other = await queue(await createLine(app, workspace.id), { scheduledDate: inAnHour() });
    expect((await refusalOf(skip(other.id))).type).toBe('NOT_FOUND');
  });
});
