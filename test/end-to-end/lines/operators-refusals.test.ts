import { sql } from 'slonik';
import { beforeAll, expect, test } from 'vitest';
import { NoRows } from '#db/connection/rows.ts';
import { withSystem } from '#db/connection/transactions.ts';
import { updateWorkflow } from '#providers/temporal.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { campaignHelpers, later } from '#test/support/campaigns.ts';
import { apiClient, type ApiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { DANA, detailsOf, refusalOf, signalByHand } from '#test/support/operators.ts';
import { MAIN_QUEUE } from '#workflows/protocol/task-queues.ts';
import { pauseCampaign, pauseLine, resumeCampaign, resumeLine } from '#workflows/protocol/updates.ts';
import { campaignWorkflowId, linePacerId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
let api: ApiClient;
let lineId: string;

const { newList, newCampaign, statusOf } = campaignHelpers(() => ({ app, workspace, api }));

beforeAll(async () => void (app = await sharedApp()));

const change = (fields: ReturnType<typeof sql.fragment>) =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`update workspaces set ${fields} where id = ${workspace.id}`),
  );

/** As the Temporal UI does, and waits for what becomes of it. */
async function startByHand(campaignId: string): Promise<void> {
  const run = await app.temporal.workflow.signalWithStart('campaign', {
    workflowId: campaignWorkflowId(campaignId),
    taskQueue: MAIN_QUEUE,
    args: [{ workspaceId: workspace.id, subjectId: campaignId }],
    signal: 'started',
    signalArgs: [DANA],
  });
  await run.result();
}

test.each([
  ['suspended', sql.fragment`suspended_at = now()`, 'WORKSPACE_SUSPENDED', 'The workspace is suspended'],
  ['past due', sql.fragment`subscription_status = 'past_due'`, 'READ_ONLY', 'is past due'],
  ['not paid', sql.fragment`subscription_status = 'canceled'`, 'SUBSCRIPTION_REQUIRED', 'no subscription'],
])(
  'in a workspace that is %s, updates and signals of operators start nothing that the API refuses to start',
  async (_, stop, code, text) => {
    workspace = await createWorkspace(app);
    api = apiClient(app.url, workspace.key);
    lineId = await createLine(app, workspace.id);
    const line = { workflowId: linePacerId(lineId), workspaceId: workspace.id };
    const { listId } = await newList([{ firstName: 'Ada', phone: '+14155550100' }]);
    const fields = { listId, steps: [{ ...later, delay: { days: 9 } }], eligibleLineIds: [lineId] };
    const running = await newCampaign({ ...fields, start: true });
    const workflowId = campaignWorkflowId(running);
    const drafted = await newCampaign(fields);
    const campaign = { workflowId, workspaceId: workspace.id };
    await updateWorkflow(app.temporal, campaign, pauseCampaign, DANA);
    await updateWorkflow(app.temporal, line, pauseLine, DANA);
    await change(stop);

    expect((await api('POST', `/api/campaigns/${running}/resume`)).body.code).toBe(code);
    const resumed = await refusalOf(updateWorkflow(app.temporal, campaign, resumeCampaign, DANA));
    expect(resumed.type).toBe(code);
    await signalByHand(app.temporal, workflowId, 'resumed', DANA);
    await eventually(async () => (await detailsOf(app.temporal, workflowId)).includes(text));
    expect(await statusOf(running)).toBe('paused');

    expect((await api('POST', `/api/campaigns/${drafted}/start`)).body.code).toBe(code);
    await startByHand(drafted);
    expect(await statusOf(drafted)).toBe('draft');

    const { status, body } = await api('POST', `/api/lines/${lineId}/resume`, {});
    const resume = updateWorkflow(app.temporal, line, resumeLine, DANA);
    if (status === 200) expect(await resume).toEqual({ lineId, isPaused: false });
    else expect((await refusalOf(resume)).type).toBe(body.code);
    // What stops something stays possible.
    await updateWorkflow(app.temporal, line, pauseLine, DANA);
  },
);

test('a signal does not start a campaign for whose messages there is no room', async () => {
  workspace = await createWorkspace(app);
  api = apiClient(app.url, workspace.key);
  lineId = await createLine(app, workspace.id);
  const { listId } = await newList([{ firstName: 'Ada', phone: '+14155550100' }]);
  const drafted = await newCampaign({ listId, steps: [later], eligibleLineIds: [lineId] });
  await withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update lead_lists set lead_count = 2000000 where workspace_id = ${workspace.id} and id = ${listId}`),
  );
  expect((await api('POST', `/api/campaigns/${drafted}/start`)).body.code).toBe('LIMIT_REACHED');
  await startByHand(drafted);
  expect(await statusOf(drafted)).toBe('draft');
});
