import { Worker } from '@temporalio/worker';
import { sql } from 'slonik';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { removeLine } from '#test/support/agency-lines.ts';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { campaignHelpers, now } from '#test/support/campaigns.ts';
import { phone } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { type Copilot, createCopilot, createDraft, decideDraft } from '#test/support/copilot.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createAgency, createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { DANA } from '#test/support/operators.ts';
import { sessionClient } from '#test/support/sessions.ts';
import { activitiesOf, runSweep } from '#test/support/workflows.ts';
import { pauseLine } from '#workflows/protocol/updates.ts';
import { aiDraftId, campaignWorkflowId, linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: OwnApp;
let receiver: Endpoint;
let desk: Copilot;
let workspace: TestWorkspace;

const { newList, newCampaign } = campaignHelpers(() => ({
  app,
  workspace,
  api: apiClient(app.url, workspace.key),
}));

beforeAll(async () => {
  receiver = await startEndpoint();
  app = await startTestApp();
  desk = await createCopilot(app, receiver);
  workspace = await createWorkspace(app);
});
afterAll(async () => {
  await app.stop();
  await receiver.close();
});

const historyOf = async (workflowId: string) =>
  (await app.temporal.workflow.getHandle(workflowId).fetchHistory()).events ?? [];

/** Waits until a workflow is in a state. @returns whether it then waits without a timer. */
async function waitsWithoutTimer(workflowId: string, state: string): Promise<boolean> {
  const handle = app.temporal.workflow.getHandle(workflowId);
  await eventually(async () => (await handle.query<{ state: string }>('status')).state === state);
  await eventually(async () => ((await handle.describe()).raw.pendingActivities ?? []).length === 0);
  const events = await historyOf(workflowId);
  const started = events.flatMap(({ timerStartedEventAttributes: timer }) => timer?.timerId ?? []);
  const over = events.flatMap(
    ({ timerFiredEventAttributes: fired, timerCanceledEventAttributes: canceled }) =>
      fired?.timerId ?? canceled?.timerId ?? [],
  );
  return started.every((id) => over.includes(id));
}

/** The days until the sweep wakes a workflow. */
async function sweptAfterDays(workflowId: string): Promise<number> {
  const days = await withSystem(app.pools, (db) =>
    db.oneFirst(sql.unsafe`
      select extract(epoch from sweep_at - now())::int / 86400 days from workflow_wakes where workflow_id = ${workflowId}`),
  );
  return days as number;
}

/** Lets the sweep wake a workflow as if its time had come. */
async function sweepNow(workflowId: string): Promise<void> {
  await withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update workflow_wakes set sweep_at = now() - interval '1 second' where workflow_id = ${workflowId}`),
  );
  await runSweep(app);
}

describe('a run whose subject is open', () => {
  it('waits for the review of a draft without a timer, and the sweep wakes it after a month', async () => {
    const { replyId } = await createDraft(desk, phone());
    const id = aiDraftId(replyId);
    expect(await waitsWithoutTimer(id, 'drafted')).toBe(true);
    expect(await sweptAfterDays(id)).toBeGreaterThanOrEqual(29);
    await sweepNow(id);
    await eventually(async () => (await activitiesOf(app, id)).at(-1) === 'lookAtDraft');
    expect(await waitsWithoutTimer(id, 'drafted')).toBe(true);
    expect(await sweptAfterDays(id)).toBeGreaterThanOrEqual(29);
    expect((await decideDraft(desk, replyId, 'reject')).status).toBe(200);
    await app.temporal.workflow.getHandle(id).result();
  });

  it('waits for a campaign and a line to be resumed without a timer', async () => {
    const lineId = await createLine(app, workspace.id);
    const pacer = linePacerId(lineId);
    await updateWorkflow(app.temporal, { workflowId: pacer, workspaceId: workspace.id }, pauseLine, DANA);
    expect(await waitsWithoutTimer(pacer, 'paused')).toBe(true);
    expect(await sweptAfterDays(pacer)).toBeGreaterThanOrEqual(29);

    const { listId } = await newList([{ firstName: 'Ada', phone: phone() }]);
    const id = await newCampaign({ listId, steps: [now], eligibleLineIds: [lineId], start: true });
    await apiClient(app.url, workspace.key)('POST', `/api/campaigns/${id}/pause`);
    expect(await waitsWithoutTimer(campaignWorkflowId(id), 'paused')).toBe(true);
    expect(await sweptAfterDays(campaignWorkflowId(id))).toBeGreaterThanOrEqual(29);
  });

  it('looks again after a month at the latest, though its next message is due later', async () => {
    const lineId = await createLine(app, workspace.id);
    const pacer = linePacerId(lineId);
    const { status } = await apiClient(app.url, workspace.key)('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: phone(),
      fromLineId: lineId,
      scheduledDate: new Date(Date.now() + 300 * 86_400_000).toISOString(),
    });
    expect(status).toBe(201);
    const timers = async () =>
      (await historyOf(pacer)).flatMap(({ timerStartedEventAttributes: timer }) =>
        timer ? Number(timer.startToFireTimeout?.seconds) / 86_400 : [],
      );
    expect(await eventually(async () => (await timers()).length > 0 && timers())).toEqual([30]);
  });

  it('ends when its paused line is deleted', async () => {
    const agency = await createAgency(app);
    const client = await createWorkspace(app, { agency_id: agency.id });
    const lineId = await createLine(app, client.id);
    const pacer = linePacerId(lineId);
    await updateWorkflow(app.temporal, { workflowId: pacer, workspaceId: client.id }, pauseLine, DANA);
    expect(await waitsWithoutTimer(pacer, 'paused')).toBe(true);
    const owner = await sessionClient(app, { userId: agency.ownerId });
    expect((await removeLine(owner, lineId, 'delete', client)).status).toBe(200);
    expect(await app.temporal.workflow.getHandle(pacer).result()).toBe('the line was deleted');
  });

  it.each([
    [29, null],
    [31, 'Continue as new'],
  ])('that is woken after %i days continues as new only then: %s', async (days, command) => {
    const { replyId } = await createDraft(desk, phone());
    const id = aiDraftId(replyId);
    expect(await waitsWithoutTimer(id, 'drafted')).toBe(true);
    const before = (await historyOf(id)).length;
    await sweepNow(id);
    await eventually(async () => (await activitiesOf(app, id)).at(-1) === 'lookAtDraft');
    expect(await waitsWithoutTimer(id, 'drafted')).toBe(true);
    // As if the sweep had woken it so much later. The run looked at the draft; an older one does not replay that.
    const events = (await historyOf(id)).map(({ eventTime, ...event }, index) => ({
      ...event,
      eventTime:
        index < before ? eventTime : { ...eventTime, seconds: eventTime?.seconds?.add(days * 86_400) },
    }));
    const bundle = { workflowBundle: { codePath: inject('workflowBundle') } };
    const replayed = await Worker.runReplayHistory(bundle, { events }, id).then(
      () => null,
      (error: unknown) => String(error),
    );
    if (command === null) expect(replayed).toBeNull();
    else expect(replayed).toContain(command);
  });
});
