import { randomBytes } from 'node:crypto';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Config } from '#domain/config.ts';
import { connected, createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { eventually, type OwnApp, registerNamespace, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { environment } from '#test/support/process.ts';
import { runSweep } from '#test/support/workflows.ts';
import { ops } from '#workers/ops.ts';
import { startWorker } from '#workers/worker.ts';

/** A rehearsal of docs/backup.md. */
let app: OwnApp;
let workspace: TestWorkspace;
let lineId: string;

beforeAll(async () => {
  app = await startTestApp({ worker: false });
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
});
afterAll(() => app.stop());

async function send(fields: object = {}): Promise<{ id: string; to: string }> {
  const to = phone();
  const { body } = await workspace.api('POST', '/api/messages', {
    message: 'Hello',
    recipientPhone: to,
    ...fields,
  });
  return { id: body._id, to };
}

const isSent = (to: string) => eventually(async () => (await sentTo(app, to)).length > 0);

/** The database as it is now. Nobody may be connected to what is copied. */
async function backUp(): Promise<TestDatabase> {
  const name = new URL(app.ownerUrl).pathname.slice(1);
  await connected(inject('databaseUrl'), async (server) => {
    await server.query(`alter database ${name} allow_connections false`);
    await server.query(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  });
  try {
    return await createTestDatabase(name);
  } finally {
    await connected(inject('databaseUrl'), (server) =>
      server.query(`alter database ${name} allow_connections true`),
    );
  }
}

/** Wakes at once what the sweep would find overdue half a minute later. */
async function wakeOverdue(ownerUrl: string, temporal: Client): Promise<void> {
  await connected(ownerUrl, (owner) =>
    owner.query('update workflow_wakes set sweep_at = now() where wake_at < now()'),
  );
  await runSweep({ temporal });
}

const startWorkerWith = (config: Config) => startWorker(config, { codePath: inject('workflowBundle') });

describe('when Temporal is lost', () => {
  it('a new one goes on with what waits, and sends nothing twice', async () => {
    await app.startWorker();
    const before = await send();
    await isSent(before.to);
    await app.stopWorker();
    const waiting = await send();
    const namespace = `new-${randomBytes(6).toString('hex')}`;
    await registerNamespace(app.temporal.connection, namespace);
    const temporal = new Client({ connection: app.temporal.connection, namespace });
    const worker = await startWorkerWith({ ...app.config, temporal: { ...app.config.temporal, namespace } });
    await wakeOverdue(app.ownerUrl, temporal);
    await isSent(waiting.to);
    await worker.stop();
    for (const { to } of [before, waiting]) expect(await sentTo(app, to)).toHaveLength(1);
  });
});

describe('when the database is restored to an earlier point', () => {
  it('paused lines send nothing until the messages that the carrier already has are canceled', async () => {
    const sentAfterwards = await send();
    const stillWaiting = await send({ scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
    const restored = await backUp();
    await app.startWorker();
    await isSent(sentAfterwards.to);
    await app.stopWorker();

    const { tenantUrl, systemUrl, ownerUrl } = restored;
    const config = { ...app.config, database: { ...app.config.database, tenantUrl, systemUrl } };
    const run = async (...args: string[]): Promise<unknown> => {
      const { status, stdout, stderr } = await ops([...args, '--by', 'Dana'], environment(config));
      expect([status, stderr]).toEqual([0, '']);
      return JSON.parse(stdout);
    };
    // With Temporal away, as it is before the processes start.
    const offline = { ...environment(config), TEMPORAL_ADDRESS: 'localhost:1' };
    const paused = await ops(['pause-all-lines', '--by', 'Dana'], offline);
    expect(paused).toMatchObject({ status: 0, stderr: '' });
    expect(JSON.parse(paused.stdout)).toEqual({ pausedLines: 1 });

    const worker = await startWorkerWith(config);
    await wakeOverdue(ownerUrl, app.temporal);
    expect(await run('skip-message', sentAfterwards.id)).toMatchObject({ status: 'canceled' });
    expect(await sentTo(app, sentAfterwards.to)).toHaveLength(1);
    await run('resume-line', lineId);
    await run('send-now', lineId, '--message', stillWaiting.id);
    await isSent(stillWaiting.to);
    await worker.stop();
    await restored.drop();
    for (const { to } of [sentAfterwards, stillWaiting]) expect(await sentTo(app, to)).toHaveLength(1);
  });
});
