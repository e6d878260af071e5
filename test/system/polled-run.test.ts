import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { eventually, type OwnApp, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { type ApiClient, apiClient } from '#test/support/client.ts';
import { type Endpoint, startEndpoint } from '#test/support/endpoint.ts';
import { createWorkspaceWithLine } from '#test/support/factories.ts';
import { startProcess } from '#test/support/process.ts';
import { activitiesOf } from '#test/support/workflows.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** Twice as long as it takes until a dead process is known, and less than the heartbeat timeout of a round. */
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

test('a run ends by itself at last, even if its tasks fail and its process is gone', async () => {
  const { raw } = await app.temporal.workflow.getHandle((await onlyRun()).workflowId).describe();
  expect(Number(raw.executionConfig?.workflowRunTimeout?.seconds)).toBe(7 * 86_400);
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

test('a run ends with its process; if that was killed, its lines go on long before they miss a heartbeat', async () => {
  const line = await createWorkspaceWithLine(app, { line: { min_gap_seconds: 1, contact_gap_seconds: 0 } });
  const contact = phone();
  const sent = async (): Promise<number> => (await sentTo(app, contact)).length;
  const post = apiClient(app.url, line.key);
  const own = await onlyRun();
  await app.stopWorker();
  const worker = await startProcess('workers/worker.ts', app.config);
  await eventually(async () => (await runs('Completed')).some(({ runId }) => runId === own.runId));
  expect(await app.temporal.workflow.getHandle(own.workflowId).result()).toBe('its process stops');
  const lost = await onlyRun();
  for (let count = 0; count < 12; count += 1)
    await post('POST', '/api/messages', { message: `Hello ${count}`, recipientPhone: contact });
  const pacer = app.temporal.workflow.getHandle(linePacerId(line.lineId));
  await eventually(async () => (await pacer.describe()).raw.pendingActivities?.length === 1);
  await eventually(async () => (await sent()) >= 2, 20_000);
  await worker.kill();
  const before = await sent();
  const logFile = join(inject('runFolder'), 'polled-run.log');
  const log = await open(logFile, 'a');
  const next = await startProcess('workers/worker.ts', { ...app.config, logLevel: 'warn' }, 0, log.fd);
  await eventually(async () => (await sent()) > before, GONE_MS);
  const looks = async () =>
    (await activitiesOf(app, lost.workflowId)).filter((activity) => activity === 'endLostRounds').length;
  await eventually(async () => (await looks()) > 1, GONE_MS);
  expect((await readFile(logFile, 'utf8')).match(/a worker process is lost/g)).toHaveLength(1);

  await eventually(async () => (await sent()) === 12, 60_000);
  await deliver();
  await next.kill();
  await log.close();
}, 240_000);
