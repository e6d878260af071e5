import type { Context } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import { sql } from 'slonik';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startApi } from '#api/server.ts';
import { readBacklog } from '#db/queries/messages/backlog.ts';
import { NoRows } from '#db/connection/rows.ts';
import { systemDb, withSystem } from '#db/connection/transactions.ts';
import { newId, newUserId } from '#domain/base/ids.ts';
import { createLogger } from '#providers/log.ts';
import { eventually, sharedApp, type TestApp } from '#test/support/app.ts';
import { apiClient } from '#test/support/client.ts';
import { createAgency, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { environment } from '#test/support/process.ts';
import { signIn } from '#test/support/sessions.ts';
import { ops } from '#workers/ops.ts';
import { setsAside } from '#workers/set-aside.ts';
import { aiDraftId } from '#workflows/protocol/workflow-ids.ts';

let app: TestApp;
let workspace: TestWorkspace;
beforeAll(async () => {
  app = await sharedApp({ worker: false });
  workspace = await createWorkspace(app);
});

/** A draft whose activity is attempted as Temporal does. */
function failingDraft() {
  const replyId = newId();
  const workflowId = aiDraftId(replyId);
  let attempt = 0;
  let calls = 0;
  let failure: Error | null = new Error('invalid byte sequence for ada@example.com');
  return {
    workflowId,
    calls: () => calls,
    recover: () => void (failure = null),
    async attempt(): Promise<unknown> {
      attempt += 1;
      const info = { attempt, activityType: 'draftReply', workflowExecution: { workflowId, runId: 'r' } };
      const { inbound } = setsAside(
        app.pools,
        createLogger('test', 'silent'),
      )({ info } as unknown as Context);
      const input = { args: [{ workspaceId: workspace.id, replyId }], headers: {} };
      const execute = inbound?.execute?.bind(inbound) as NonNullable<
        ActivityInboundCallsInterceptor['execute']
      >;
      return execute(input, async () => {
        calls += 1;
        if (failure) throw failure;
        return 'done';
      }).catch((error: unknown) => error);
    },
  };
}

const run = async (...args: string[]) => {
  const { status, stdout, stderr } = await ops(args, environment(app.config));
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as { setAside: { id: string; workflowId: string }[] };
};
const listed = async (workflowId: string) =>
  (await run('set-aside')).setAside.find((work) => work.workflowId === workflowId);
const lately = (workflowId: string, interval: string) =>
  withSystem(app.pools, (db) =>
    db.query(sql.type(NoRows)`
      update set_aside set first_failed_at = first_failed_at - ${interval}::interval,
        last_failed_at = last_failed_at - ${interval}::interval where workflow_id = ${workflowId}`),
  );

test('work that fails twenty times is set aside, tried once an hour for a day, and then no more', async () => {
  const draft = failingDraft();
  for (let n = 0; n < 30; n += 1) await draft.attempt();
  const calls = draft.calls();
  expect(calls).toBeLessThanOrEqual(22);
  expect(await listed(draft.workflowId)).toMatchObject({
    workspaceId: workspace.id,
    activity: 'draftReply',
    reason: 'Error: invalid byte sequence for …',
    failures: 20,
  });
  expect(await draft.attempt()).toMatchObject({ type: 'SetAside', nextRetryDelay: 3_600_000 });
  expect(draft.calls()).toBe(calls);
  await lately(draft.workflowId, '1 hour');
  await draft.attempt();
  expect(draft.calls()).toBe(calls + 1);
  await lately(draft.workflowId, '1 day');
  await draft.attempt();
  expect(draft.calls()).toBe(calls + 1);
});

test('an operator has it tried again or drops it', async () => {
  const draft = failingDraft();
  for (let n = 0; n < 25; n += 1) await draft.attempt();
  const found = await listed(draft.workflowId);
  await run('set-aside', 'drop', found?.id ?? '', '--by', 'Ada');
  expect(await listed(draft.workflowId)).toBeUndefined();
  draft.recover();
  expect(await draft.attempt()).toBe('done');
});

test('what has succeeded is not counted any more', async () => {
  const draft = failingDraft();
  const told = async () => (await readBacklog(systemDb(app.pools))).failingWork;
  const before = await told();
  // Within half a minute, as Temporal spaces attempts.
  for (let n = 0; n < 5; n += 1) await draft.attempt();
  expect(await told()).toBe(before + 1);
  for (let n = 0; n < 5; n += 1) await draft.attempt();
  draft.recover();
  expect(await draft.attempt()).toBe('done');
  const { calls } = draft;
  await eventually(async () => calls() === 11);
  expect(await listed(draft.workflowId)).toBeUndefined();
});

test('what is set aside is listed, tried again and dropped by the operators of the installation alone', async () => {
  // Operators may be in no workspace.
  const operatorId = newUserId();
  const draft = failingDraft();
  for (let n = 0; n < 25; n += 1) await draft.attempt();
  const operator = await startApi({
    ...app.config,
    port: 0,
    metricsPort: null,
    operators: [operatorId],
  });
  afterAll(() => operator.stop());
  const session = await signIn(app, { userId: operatorId });
  const admin = await signIn(app, {
    userId: workspace.ownerId,
    organizationId: workspace.id,
    role: 'org:admin',
  });
  const asOperator = apiClient(operator.url, session);
  const item = async () =>
    (await asOperator('GET', '/api/operations/set-aside')).body.items.find(
      ({ workflowId }: { workflowId: string }) => workflowId === draft.workflowId,
    );
  const path = `/api/operations/set-aside/${(await item()).id}`;
  for (const [call, code] of [
    [apiClient(app.url, session), 'OPERATOR_REQUIRED'],
    [apiClient(operator.url, admin), 'OPERATOR_REQUIRED'],
    [apiClient(operator.url, workspace.key), 'SESSION_REQUIRED'],
    [apiClient(operator.url, (await createAgency(app)).key), 'SESSION_REQUIRED'],
    [apiClient(operator.url, `${workspace.key}x`), 'UNAUTHORIZED'],
    [apiClient(operator.url, ''), 'UNAUTHORIZED'],
  ] as const) {
    const answers = [
      await call('GET', '/api/operations/set-aside'),
      await call('POST', `${path}/retry`),
      await call('POST', `${path}/drop`),
    ];
    expect(answers.map(({ body }) => body.code)).toEqual([code, code, code]);
  }
  expect((await asOperator('POST', '/api/operations/set-aside/none/drop')).status).toBe(404);

  expect(await asOperator('POST', `${path}/retry`)).toMatchObject({
    status: 200,
    body: { workflowId: draft.workflowId },
  });
  expect(await item()).toBeUndefined();
  // It was started anew.
  expect((await app.temporal.workflow.getHandle(draft.workflowId).describe()).status.name).toBe('RUNNING');
  expect((await asOperator('POST', `${path}/retry`)).status).toBe(404);

  for (let n = 0; n < 25; n += 1) await draft.attempt();
  const again = `/api/operations/set-aside/${(await item()).id}`;
  expect((await asOperator('POST', `${again}/drop`)).status).toBe(200);
  expect(await item()).toBeUndefined();
  expect((await app.temporal.workflow.getHandle(draft.workflowId).describe()).status.name).toBe('TERMINATED');

  const decided = await apiClient(app.url, admin)(
    'GET',
    `/api/audit-log?targetType=workflow&targetId=${draft.workflowId}`,
  );
  expect(decided.body.entries).toMatchObject(
    ['set_aside.dropped', 'set_aside.retried'].map((action) => ({
      action,
      actor: { type: 'operator', id: operatorId },
      channel: 'session',
      changes: { activity: 'draftReply' },
    })),
  );
});
