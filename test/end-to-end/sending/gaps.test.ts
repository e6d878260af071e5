import { defaultPayloadConverter, type UpdateDefinition } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { sql } from 'slonik';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { systemDb } from '#db/connection/transactions.ts';
import { lineGapMs } from '#domain/sending/line-limits.ts';
import { billableActions } from '#test/support/actions.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { ask, DANA } from '#test/support/operators.ts';
import { planQuery } from '#workflows/protocol/queries.ts';
import type { LineRound } from '#workflows/protocol/round.ts';
import { STATE } from '#workflows/protocol/search-attributes.ts';
import { type Order, pauseLine, resumeLine, sendNow } from '#workflows/protocol/updates.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** Between two sends a round waits on its task slot: no timer, no new round, and still everybody is heard. */

/** Gaps of 10 to 30 seconds: what comes before the end of one did not wait for it. */
const GAP_SECONDS = 20;
const STARTED = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
});

const pacer = (lineId: string) => app.temporal.workflow.getHandle(linePacerId(lineId));
const stateOf = async (lineId: string) => (await pacer(lineId).describe()).typedSearchAttributes.get(STATE);
const isSent = async (to: string) => (await sentTo(app, to)).length === 1;
const unsent = async (contacts: readonly string[]) => {
  const sent = await Promise.all(contacts.map(isSent));
  return contacts.filter((_, index) => !sent[index]);
};

/** @returns the contacts, in their order. */
async function queue(fromLineId: string, count: number): Promise<string[]> {
  const contacts = Array.from({ length: count }, () => phone());
  for (const recipientPhone of contacts) {
    const { status } = await api('POST', '/api/messages', { message: 'Hello', fromLineId, recipientPhone });
    expect(status).toBe(201);
  }
  return contacts;
}

/** When the line may send again by itself. */
async function gapEnd(lineId: string): Promise<number> {
  const startedAt = await systemDb(app.pools).oneFirst(sql.type(z.object({ startedAt: z.date() }))`
    select max(started_at) started_at from attempts where workspace_id = ${workspace.id} and line_id = ${lineId}`);
  return startedAt.getTime() + lineGapMs({ id: lineId, minGapSeconds: GAP_SECONDS }, startedAt);
}

/** Within the gap that the line is in. */
async function atOnce(lineId: string, ask: () => Promise<unknown>, isDone: () => Promise<boolean>) {
  const end = await gapEnd(lineId);
  await ask();
  await eventually(isDone);
  expect(Date.now()).toBeLessThan(end);
}

/** A line that has sent the first of its messages, and waits for the time of the second within a round. */
async function waitingLine(messages: number) {
  const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: GAP_SECONDS });
  const contacts = await queue(lineId, messages);
  await eventually(() => isSent(contacts[0] ?? ''));
  await eventually(async () => (await stateOf(lineId)) === 'sending');
  await eventually(async () => {
    const { raw } = await pacer(lineId).describe();
    // A task that is scheduled only, and given to a worker that is just ending, is lost for the heartbeat timeout.
    return raw.pendingActivities?.[0]?.state === STARTED && !raw.pendingWorkflowTask;
  });
  expect(await unsent(contacts)).toEqual(contacts.slice(1));
  return { lineId, contacts };
}

/** What the last round that has ended told the pacer. */
async function lastRound(lineId: string): Promise<LineRound> {
  const { events } = await pacer(lineId).fetchHistory();
  const [result] =
    events
      ?.flatMap((event) => event.activityTaskCompletedEventAttributes?.result?.payloads ?? [])
      .slice(-1) ?? [];
  if (!result) throw new Error('no round has ended');
  return defaultPayloadConverter.fromPayload(result);
}

// They wait for the gaps.
describe.concurrent('a line that keeps gaps', () => {
  it('costs at most 5 events and 1.3 actions a message, and shows that it is sending', async () => {
    const lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 3, is_active: false });
    const contacts = await queue(lineId, 6);
    await eventually(async () => (await pacer(lineId).query(planQuery)).reason.includes('not active'));
    const { historyLength } = await pacer(lineId).describe();

    await api('PATCH', `/api/lines/${lineId}`, { isActive: true });
    await eventually(async () => (await unsent(contacts)).length < 4);
    expect(await stateOf(lineId)).toBe('sending');
    await eventually(async () => (await unsent(contacts)).length === 0);
    await eventually(async () => (await stateOf(lineId)) === 'idle');
    const events = ((await pacer(lineId).fetchHistory()).events ?? []).slice(historyLength);
    expect(events.length / contacts.length).toBeLessThanOrEqual(5);
    expect(billableActions(events) / contacts.length).toBeLessThanOrEqual(1.3);
  });

  it('obeys its operators in the middle of a gap', async () => {
    const { lineId, contacts } = await waitingLine(3);
    const tell =
      <V>(update: UpdateDefinition<V, [Order]>) =>
      () =>
        ask(app.temporal, linePacerId(lineId), update, DANA);

    await atOnce(lineId, tell(sendNow), () => isSent(contacts[1] ?? ''));
    await atOnce(lineId, tell(pauseLine), async () => (await stateOf(lineId)) === 'paused');
    await atOnce(lineId, tell(resumeLine), async () => (await stateOf(lineId)) === 'sending');
    expect(await unsent(contacts)).toEqual(contacts.slice(2));
  });

  it('keeps new settings from the moment they are made', async () => {
    const { lineId, contacts } = await waitingLine(3);
    const change = () => api('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 0 });
    await atOnce(lineId, change, async () => (await unsent(contacts)).length === 0);
  });

  it('keeps its gap after a message that the carrier refuses', async () => {
    // Both gaps are waited for.
    const minGapSeconds = 6;
    const lineId = await createLine(app, workspace.id, 'imessage', {
      min_gap_seconds: minGapSeconds,
      is_active: false,
    });
    const [first] = await queue(lineId, 1);
    const refused = phone('0002');
    await api('POST', '/api/messages', { message: 'Hello', fromLineId: lineId, recipientPhone: refused });
    const [last] = await queue(lineId, 1);
    await api('PATCH', `/api/lines/${lineId}`, { isActive: true });
    await eventually(() => isSent(last ?? ''));

    const attempts = await systemDb(app.pools).any(
      sql.type(z.object({ address: z.string(), startedAt: z.date() }))`
        select address, started_at from attempts where workspace_id = ${workspace.id} and line_id = ${lineId} order by started_at`,
    );
    expect(attempts.map(({ address }) => address)).toEqual([first, refused, last]);
    const [, second, third] = attempts.map(({ startedAt }) => startedAt.getTime());
    expect((third ?? 0) - (second ?? 0)).toBeGreaterThanOrEqual(
      lineGapMs({ id: lineId, minGapSeconds }, new Date(second ?? 0)),
    );
  });
});

test('a line in a gap keeps no worker from ending, and goes on with the next one', async () => {
  const { lineId, contacts } = await waitingLine(2);
  await app.stopWorker();
  await app.startWorker();
  // A worker cuts its rounds short when they have not ended after ten seconds.
  expect((await lastRound(lineId)).reason).not.toBe('more may be due');
  await api('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 0 });
  await eventually(async () => (await unsent(contacts)).length === 0);
});

test('a shorter gap between messages to a contact counts for what already waits for the end of the longer one', async () => {
  const fromLineId = await createLine(app, workspace.id, 'imessage', {
    min_gap_seconds: 0,
    contact_gap_seconds: 3600,
  });
  const recipientPhone = phone();
  await api('POST', '/api/messages', { message: 'One', fromLineId, recipientPhone });
  await eventually(() => isSent(recipientPhone));
  const { _id } = (await api('POST', '/api/messages', { message: 'Two', fromLineId, recipientPhone })).body;
  await eventually(async () => (await api('GET', `/api/messages/${_id}`)).body.holdReason === 'contact_gap');
  expect((await api('PATCH', `/api/lines/${fromLineId}`, { contactGapSeconds: 0 })).status).toBe(200);
  await eventually(async () => (await sentTo(app, recipientPhone)).length === 2);
});
