import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Config } from '#domain/base/config.ts';
import { connected } from '#db/connection/connected.ts';
import { createTestDatabase, type TestDatabase } from '#test/setup/database.ts';
import { eventually, type OwnApp, registerNamespace, startTestApp } from '#test/support/app.ts';
import { phone, sentTo } from '#test/support/carrier.ts';
import { createLine, createLineAt, createWorkspace, type TestWorkspace } from '#test/support/factories.ts';
import { freePort } from '#providers/free-port.ts';
import { createTemporalClient } from '#providers/temporal.ts';
import { findTemporalCli } from '#standalone/temporal-cli.ts';
import { startTemporal } from '#standalone/temporal.ts';
import { TwilioConfig } from '#providers/carriers/twilio/api.ts';
import { startTwilio, type TwilioStandIn } from '#simulator/twilio.ts';
import { TWILIO_ACCOUNT } from '#test/support/twilio.ts';
import { environment } from '#test/support/process.ts';
import { runSweep } from '#test/support/workflows.ts';
import { ops } from '#workers/ops.ts';
import { startWorker } from '#workers/worker.ts';
import { statusQuery } from '#workflows/protocol/queries.ts';
import { linePacerId } from '#workflows/protocol/workflow-ids.ts';

/** A rehearsal of docs/backup.md. */
let app: OwnApp;
let workspace: TestWorkspace;
let lineId: string;
let twilio: TwilioStandIn;

beforeAll(async () => {
  twilio = await startTwilio(TWILIO_ACCOUNT);
  app = await startTestApp({ worker: false, environment: { TWILIO_API_URL: twilio.url } });
  workspace = await createWorkspace(app);
  lineId = await createLine(app, workspace.id);
});
afterAll(async () => {
  await app.stop();
  await twilio.stop();
});

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

  it('and an empty one answers in its place, the workers that run start everything in it', async () => {
    const { api, id } = await createWorkspace(app);
    const pausedLine = await createLine(app, id);
    await api('POST', `/api/lines/${pausedLine}/pause`);
    const place = {
      program: await findTemporalCli(() => {}),
      port: await freePort(),
      uiPort: null,
      dbFile: null,
      logFile: join(inject('runFolder'), 'emptied-temporal.log'),
    };
    const config = {
      ...app.config,
      temporal: { ...app.config.temporal, address: `127.0.0.1:${place.port}`, namespace: 'default' },
    };
    const temporal = createTemporalClient(config.temporal);
    const hasEverything = (): Promise<unknown> =>
      eventually(async () => {
        await temporal.schedule.getHandle('housekeeping').describe();
        const pacer = temporal.workflow.getHandle(linePacerId(pausedLine));
        return (await pacer.query(statusQuery)).state === 'paused';
      });
    const server = await startTemporal(place);
    const worker = await startWorkerWith(config);
    await hasEverything();
    await server.stop();
    const empty = await startTemporal(place);
    await hasEverything();
    await worker.stop();
    await temporal.connection.close();
    await empty.stop();
  });
});

/** The settings of processes on a restored database. */
const configOn = ({ tenantUrl, systemUrl }: TestDatabase): Config => ({
  ...app.config,
  database: { ...app.config.database, tenantUrl, systemUrl },
});

/** Runs an operator's command, and returns its verdict. */
async function run(config: Config, ...args: string[]): Promise<unknown> {
  const { status, stdout, stderr } = await ops([...args, '--by', 'Dana'], environment(config));
  expect([status, stderr]).toEqual([0, '']);
  return JSON.parse(stdout);
}

/** Settings with Temporal away, as it is before the processes start. */
const withoutTemporal = (config: Config): Config => ({
  ...config,
  temporal: { ...config.temporal, address: 'localhost:1' },
});

const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

describe('when the database is restored to an earlier point', () => {
  it('a carrier that knows what it has is asked before anything is sent, and gets nothing twice', async () => {
    const sender = await createWorkspace(app);
    const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
    const settings = { accountSid, authToken };
    const smsLine = await createLineAt(app, sender.id, 'sms', {
      name: 'twilio',
      schema: TwilioConfig,
      settings,
    });
    const emailLine = await createLine(app, sender.id, 'email', { carrier: 'smtp' });
    const sendSms = async (fields: object = {}): Promise<{ id: string; to: string }> => {
      const to = phone();
      const request = { message: 'Hello', recipientPhone: to, messageType: 'sms', ...fields };
      const { body } = await sender.api('POST', '/api/messages', request);
      return { id: body._id, to };
    };
    const texts = (to: string) => twilio.sent.filter((message) => message.to === to);
    const sentAfterwards = await sendSms();
    const stillWaiting = await sendSms({ scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
    const restored = await backUp();
    await app.startWorker();
    await eventually(async () => texts(sentAfterwards.to).length > 0);
    await app.stopWorker();

    const config = configOn(restored);
    // So long ago that nothing is on its way any more.
    const times = ['--from', minutesAgo(10), '--until', minutesAgo(5)];
    expect(await run(withoutTemporal(config), 'after-restore', ...times)).toEqual({
      askedLines: 1,
      pausedLines: 2,
    });
    const paused = await connected(restored.ownerUrl, (owner) =>
      owner.query(`set app.migrating = 'on'; select id from lines where paused_at is not null order by id`),
    );
    expect(JSON.stringify(paused)).toContain(emailLine);
    expect(JSON.stringify(paused)).not.toContain(smsLine);

    const worker = await startWorkerWith(config);
    await wakeOverdue(restored.ownerUrl, app.temporal);
    const timeline = () => run(config, 'timeline', sentAfterwards.id);
    await eventually(async () => JSON.stringify(await timeline()).includes('"type":"sent"'));
    await run(config, 'send-now', smsLine, '--message', stillWaiting.id);
    await eventually(async () => texts(stillWaiting.to).length > 0);
    await worker.stop();
    await restored.drop();
    for (const { to } of [sentAfterwards, stillWaiting]) expect(texts(to)).toHaveLength(1);
  });

  it('a message that another line has sent is not sent again', async () => {
    const sender = await createWorkspace(app);
    const account = { sid: 'AC00000000000000000000000000000002', authToken: 'another-token' };
    const other = await startTwilio(account);
    const { sid: accountSid, authToken } = TWILIO_ACCOUNT;
    const from = '+14155550111';
    const otherSettings = { accountSid: account.sid, authToken: account.authToken, from, baseUrl: other.url };
    const at = (settings: object) => ({ name: 'twilio', schema: TwilioConfig, settings });
    const lineId = await createLineAt(app, sender.id, 'sms', at({ accountSid, authToken }));
    const to = phone();
    const { body } = await sender.api('POST', '/api/messages', {
      message: 'Hello',
      recipientPhone: to,
      messageType: 'sms',
    });
    const otherLine = await createLineAt(app, sender.id, 'sms', at(otherSettings));
    // Its request was lost, and is repeated.
    const sentByOther = await fetch(`${other.url}/2010-04-01/Accounts/${account.sid}/Messages.json`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${account.sid}:${account.authToken}`)}` },
      body: new URLSearchParams({ To: to, From: from, Body: 'Hello' }),
    });
    expect([sentByOther.status, lineId === otherLine]).toEqual([201, false]);

    const restored = await backUp();
    const config = configOn(restored);
    const times = ['--from', minutesAgo(10), '--until', minutesAgo(5)];
    await run(withoutTemporal(config), 'after-restore', ...times);
    const worker = await startWorkerWith(config);
    await wakeOverdue(restored.ownerUrl, app.temporal);
    await eventually(async () =>
      JSON.stringify(await run(config, 'timeline', body._id)).includes('"type":"sent"'),
    );
    await worker.stop();
    await restored.drop();
    await other.stop();
    expect(twilio.sent.filter((message) => message.to === to)).toEqual([]);
  });

  it('paused lines send nothing until the messages that the carrier already has are canceled', async () => {
    const sentAfterwards = await send();
    const stillWaiting = await send({ scheduledDate: new Date(Date.now() + 3_600_000).toISOString() });
    const restored = await backUp();
    await app.startWorker();
    await isSent(sentAfterwards.to);
    await app.stopWorker();

    const config = configOn(restored);
    expect(await run(withoutTemporal(config), 'pause-all-lines')).toMatchObject({
      pausedLines: expect.any(Number),
    });

    const worker = await startWorkerWith(config);
    await wakeOverdue(restored.ownerUrl, app.temporal);
    expect(await run(config, 'skip-message', sentAfterwards.id)).toMatchObject({ status: 'canceled' });
    expect(await sentTo(app, sentAfterwards.to)).toHaveLength(1);
    await run(config, 'resume-line', lineId);
    await run(config, 'send-now', lineId, '--message', stillWaiting.id);
    await isSent(stillWaiting.to);
    await worker.stop();
    await restored.drop();
    for (const { to } of [sentAfterwards, stillWaiting]) expect(await sentTo(app, to)).toHaveLength(1);
  });
});
