import { fileURLToPath } from 'node:url';
import { NativeConnection, Worker } from '@temporalio/worker';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { environment } from '#test/support/process.ts';
import { ops } from '#workers/ops.ts';

let app: OwnApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.stop());

const replay = (...options: string[]) => ops(['replay', ...options], environment(app.config));

test('replay passes the workflows of this build, and refuses those that this build cannot continue', async () => {
  const { api } = await createWorkspaceWithLine(app);
  const to = phone();
  await api('POST', '/api/messages', { message: 'Hello', recipientPhone: to });
  await eventually(async () => (await sentTo(app, to)).length === 1);
  const passed = await eventually(async () => {
    const { status, stdout } = await replay();
    expect(status).toBe(0);
    const verdict = JSON.parse(stdout) as { replayed: number; failed: number };
    return verdict.replayed > 1 && verdict;
  });
  expect(passed.failed).toBe(0);
  expect(JSON.parse((await replay('--limit', '1')).stdout)).toEqual({ replayed: 1, failed: 0 });
  expect(await replay('--limit', 'some')).toMatchObject({ status: 2 });

  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const other = await Worker.create({
    connection,
    namespace: app.config.temporal.namespace,
    taskQueue: 'other-build',
    workflowsPath: fileURLToPath(new URL('../fixtures/other-build.ts', import.meta.url)),
  });
  await other.runUntil(async () => {
    const options = { workflowId: 'of-the-other-build', taskQueue: 'other-build' };
    const handle = await app.temporal.workflow.start('retention', options);
    await eventually(async () => {
      const { events } = await handle.fetchHistory();
      return events?.some(({ timerStartedEventAttributes: timer }) => timer);
    });
  });
  await connection.close();
  const refused = await eventually(async () => {
    const { status, stderr } = await replay();
    return status === 1 && (JSON.parse(stderr) as object);
  });
  expect(refused).toMatchObject({
    code: 'INCOMPATIBLE',
    details: [{ workflowId: 'of-the-other-build', error: expect.stringMatching(/nondeterminism/i) }],
  });
  expect(await replay('--query', "WorkflowType = 'linePacer'")).toMatchObject({ status: 0 });
}, 180_000);
