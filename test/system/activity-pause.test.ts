import { beforeAll, describe, expect, it } from 'vitest';
import { signalWorkflow } from '#providers/temporal.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** `PENDING_ACTIVITY_STATE_PAUSED` in Temporal's API. */
const PAUSED = 4;
const MESSAGES = 20;

/** The worker hears of the pause with its next heartbeat. */
const HEARD_MS = 120_000;

let app: TestApp;
let lineId: string;
let workspace: TestWorkspace;
let call: ApiClient;
let pacer: string;

beforeAll(async () => {
  app = await sharedApp();
  workspace = await createWorkspace(app);
  // Slow enough to be paused by the first heartbeat, which comes after a minute.
  lineId = await createLine(app, workspace.id, 'imessage', { min_gap_seconds: 6 });
  call = apiClient(app.url, workspace.key);
  pacer = linePacerId(lineId);
});

const target = () => ({
  namespace: app.config.temporal.namespace,
  execution: { workflowId: pacer },
  type: 'sendDue',
});
const describePacer = async () => (await app.temporal.workflow.getHandle(pacer).describe()).raw;

describe('a line whose sending activity an operator pauses', () => {
  it('sends nothing until the activity is unpaused, and then everything once', async () => {
    const recipients = Array.from({ length: MESSAGES }, () => phone());
    for (const recipientPhone of recipients)
      await call('POST', '/api/messages', { message: 'Hello', recipientPhone });
    const sent = async () => (await Promise.all(recipients.map((to) => sentTo(app, to)))).flat();
    await eventually(async () => (await sent()).length > 0);

    await app.temporal.workflowService.pauseActivity({
      ...target(),
      identity: 'test',
      reason: 'maintenance',
    });
    await eventually(async () => {
      const [activity] = (await describePacer()).pendingActivities ?? [];
      const state: number | null | undefined = activity?.state;
      return state === PAUSED;
    }, HEARD_MS);
    const before = await sent();
    expect(before.length).toBeLessThan(MESSAGES);
    // The workflow handles a signal meanwhile, which starts no other round.
    const { historyLength } = (await describePacer()).workflowExecutionInfo ?? {};
    await signalWorkflow(app.temporal, pacer, workspace.id, 'messagesDue');
    await eventually(async () => {
      const { workflowExecutionInfo, pendingWorkflowTask } = await describePacer();
      return Number(workflowExecutionInfo?.historyLength) > Number(historyLength) && !pendingWorkflowTask;
    });
    expect(await sent()).toHaveLength(before.length);

    await app.temporal.workflowService.unpauseActivity({ ...target(), identity: 'test' });
    await call('PATCH', `/api/lines/${lineId}`, { minGapSeconds: 0 });
    await eventually(async () => (await sent()).length >= MESSAGES);
    expect(new Set((await sent()).map(({ id }) => id)).size).toBe(MESSAGES);
    expect(await Promise.all(recipients.map(async (to) => (await sentTo(app, to)).length))).toEqual(
      recipients.map(() => 1),
    );
  });
});
