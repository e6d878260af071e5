import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { startProcess } from '#test/support/process.ts';

/** A dead process is known after the heartbeat timeout, and the time that its next attempt waits for it. */
const GONE_MS = 60_000;

let app: OwnApp;
let call: ApiClient;
let target: Endpoint;

beforeAll(async () => {
  app = await startTestApp();
  const workspace = await createWorkspaceWithLine(app);
  call = apiClient(app.url, workspace.key);
  target = await startEndpoint();
  await call('POST', '/api/webhooks', { url: target.url, events: ['message.sent'] });
});
afterAll(async () => {
  await app.stop();
  await target.close();
});

interface Run {
  workflowId: string;
  runId: string;
}

async function runs(status: 'Running' | 'Completed'): Promise<Run[]> {
  const found: Run[] = [];
  const query = `WorkflowType = 'polledRounds' AND ExecutionStatus = '${status}'`;
  for await (const { workflowId, runId } of app.temporal.workflow.list({ query }))
    found.push({ workflowId, runId });
  return found;
}

async function onlyRun(): Promise<Run> {
  return eventually(async () => {
    const [first, ...others] = await runs('Running');
    return others.length === 0 && first;
  });
}

/** The details of the last heartbeat of a run's activity. */
async function heartbeat({ workflowId }: Run): Promise<Record<string, { running: number; done: number }>> {
  const { raw } = await app.temporal.workflow.getHandle(workflowId).describe();
  const [payload] = raw.pendingActivities?.[0]?.heartbeatDetails?.payloads ?? [];
  return payload?.data ? JSON.parse(Buffer.from(payload.data).toString()) : {};
}

async function deliver(): Promise<void> {
  const before = target.received.length;
  await call('POST', '/api/messages', { message: 'Hello', recipientPhone: phone() });
  await eventually(async () => target.received.length === before + 1);
}

test('what a process delivers, it delivers in the activity of its run, whose heartbeats count it', async () => {
  const run = await onlyRun();
  await deliver();
  await eventually(async () => {
    const { 'webhook-dispatcher': counts } = await heartbeat(run);
    return (counts?.done ?? 0) + (counts?.running ?? 0) >= 1;
  }, 40_000);
  expect(Object.keys(await heartbeat(run)).toSorted()).toEqual([
    'crm-connection',
    'drip-drainer',
    'mailbox-reader',
    'webhook-dispatcher',
  ]);
});

test('a run that an operator terminates is started anew, and deliveries go on', async () => {
  const { workflowId, runId } = await onlyRun();
  await app.temporal.workflow.getHandle(workflowId).terminate('a look at it');
  await eventually(async () => {
    const found = await runs('Running');
    return found.length === 1 && found[0]?.runId !== runId;
  }, 60_000);
  await deliver();
});

test('each process has a run, which ends when the process stops or dies', async () => {
  const own = await onlyRun();
  const worker = await startProcess('workers/worker.ts', app.config);
  const other = await eventually(async () => {
    const found = await runs('Running');
    return found.find(({ workflowId }) => workflowId !== own.workflowId);
  });
  await worker.kill();
  await eventually(async () => (await runs('Completed')).some(({ runId }) => runId === other.runId), GONE_MS);
  expect(await app.temporal.workflow.getHandle(other.workflowId).result()).toMatch(
    /does not answer any more/,
  );

  await app.stopWorker();
  await app.startWorker();
  await eventually(async () => (await runs('Completed')).some(({ runId }) => runId === own.runId));
  expect(await app.temporal.workflow.getHandle(own.workflowId).result()).toBe('its process stops');
  await deliver();
}, 180_000);
