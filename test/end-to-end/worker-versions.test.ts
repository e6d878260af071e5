import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { apiClient } from '#test/support/client.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { DEPLOYMENT, startWorker } from '#workers/worker.ts';
import { linePacerId } from '#workflows/messages/wake.ts';

let app: OwnApp;
let workspace: TestWorkspace;
let lineId: string;

beforeEach(async () => {
  app = await startTestApp({ environment: { WORKER_BUILD_ID: 'one' } });
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
});
afterEach(() => app.stop());

/** Like `temporal worker deployment set-current-version`. Retries until the server knows the version's task queues. */
const setCurrent = (buildId: string) =>
  eventually(async () => {
    const { namespace } = app.config.temporal;
    await app.temporal.workflowService.setWorkerDeploymentCurrentVersion({
      namespace,
      deploymentName: DEPLOYMENT,
      buildId,
      version: `${DEPLOYMENT}.${buildId}`,
      identity: 'test',
    });
    return true;
  }, 60_000);

async function send(): Promise<void> {
  const to = phone();
  const call = apiClient(app.url, workspace.key);
  const { status } = await call('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  expect(status).toBe(201);
  await eventually(async () => (await sentTo(app, to)).length === 1, 60_000);
}

/** The builds that completed the pacer's workflow tasks, in order. */
async function buildsOfPacer(): Promise<string[]> {
  const { events } = await app.temporal.workflow.getHandle(linePacerId(lineId)).fetchHistory();
  return (events ?? []).flatMap(
    ({ workflowTaskCompletedEventAttributes: task }) => task?.deploymentVersion?.buildId ?? [],
  );
}

test('a running workflow continues on a new worker build once that is current, and its line keeps sending', async () => {
  await setCurrent('one');
  await send();
  expect(new Set(await buildsOfPacer())).toEqual(new Set(['one']));
  const { runId } = await app.temporal.workflow.getHandle(linePacerId(lineId)).describe();

  const temporal = { ...app.config.temporal, buildId: 'two' };
  const next = await startWorker({ ...app.config, temporal }, { codePath: inject('workflowBundle') });
  try {
    await setCurrent('two');
    // The server tells its task queues of the current version one after the other.
    await eventually(async () => {
      await send();
      return (await buildsOfPacer()).at(-1) === 'two';
    }, 60_000);
    expect((await app.temporal.workflow.getHandle(linePacerId(lineId)).describe()).runId).toBe(runId);

    // The workers of the previous build are no longer needed.
    await app.stopWorker();
    await send();
  } finally {
    await next.stop();
  }
}, 240_000);
