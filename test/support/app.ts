import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { exportJWK, generateKeyPair } from 'jose';
import { inject } from 'vitest';
import { type RunningApi, startApi } from '#api/server.ts';
import { createPools, type Pools } from '#db/connection/pools.ts';
import { type Config, readConfig } from '#domain/base/config.ts';
import { freePort } from '#providers/free-port.ts';
import { createLogger } from '#providers/log.ts';
import { dataConverter } from '#providers/payload-codec.ts';
import { createWaker } from '#providers/temporal.ts';
import { startSimulator } from '#simulator/server.ts';
import { createTestDatabase } from '#test/setup/database.ts';
import { saveHistories } from './histories.ts';
import { type RunningWorker, startWorker } from '#workers/worker.ts';
import { bundleWorkflows } from '#workers/workflow-bundle.ts';

export interface TestApp {
  url: string;
  config: Config;
  /** The database URL of the schema's owner, whose login no process of the product has. */
  ownerUrl: string;
  pools: Pools;
  temporal: Client;
  simulatorUrl: string;
  /** The simulator's mail server. */
  smtpUrl: string;
  api: RunningApi;
  worker: RunningWorker | null;
  /** Stops the worker, for tests of crashes and outages. */
  stopWorker(): Promise<void>;
  startWorker(): Promise<void>;
}

export interface OwnApp extends TestApp {
  stop(): Promise<void>;
}

/** The apps that `sharedApp` has started, by whether they have a worker. */
const shared = new Map<boolean, Promise<OwnApp>>();

/**
 * The app that the test files of a process use one after the other. It ends with the process.
 * What earlier files created is still there, so a test creates workspaces of its own and looks at nothing else.
 * @param options.worker false for the API alone, for tests that send nothing.
 */
export async function sharedApp({ worker = true } = {}): Promise<TestApp> {
  const starting =
    shared.get(worker) ?? startTestApp({ worker, environment: { FAILED_ATTEMPTS_PER_MINUTE: '100000' } });
  shared.set(worker, starting);
  const app = await starting.catch((error: unknown) => {
    // The next file starts it again.
    shared.delete(worker);
    throw error;
  });
  // A failed test may have left it stopped.
  if (worker && app.worker === null) await app.startWorker();
  return app;
}

/** Saves the histories of the shared apps, as `stop` does of others. */
export async function saveSharedHistories(): Promise<void> {
  for (const app of shared.values()) await saveHistories((await app).temporal);
}

/**
 * Starts the whole product with its own database, Temporal namespace and simulator, for tests that configure it, break
 * it, or look at everything in it.
 * @param options.worker false for the API alone, for tests that send nothing.
 */
export async function startTestApp(
  options: { worker?: boolean; environment?: Record<string, string> } = {},
): Promise<OwnApp> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(inject('runFolder'), 'app-'));
  const address = inject('temporalAddress');
  const namespace = `test-${randomBytes(6).toString('hex')}`;
  const connection = await Connection.connect({ address });
  await registerNamespace(connection, namespace);
  const simulatorSecret = randomBytes(32).toString('hex');
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const port = await freePort();
  const publicUrl = `http://localhost:${port}`;
  const simulator = await startSimulator({
    port: 0,
    smtpPort: 0,
    dataDir: null,
    callbackBaseUrl: publicUrl,
    secret: simulatorSecret,
  });
  const config = readConfig({
    PATH: process.env['PATH'],
    DATABASE_URL: database.tenantUrl,
    DATABASE_SYSTEM_URL: database.systemUrl,
    DATABASE_DIRECT_URL: database.directUrl,
    DATA_DIR: dataDir,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    PORT: String(port),
    PUBLIC_URL: publicUrl,
    LOG_LEVEL: 'error',
    ENCRYPTION_KEYS: `1:${randomBytes(32).toString('base64')}`,
    SIGNING_KEYS: `1:${randomBytes(32).toString('base64')}`,
    AUTH_LOCAL_JWK: JSON.stringify({ ...(await exportJWK(privateKey)), kid: 'local', alg: 'ES256' }),
    SIMULATOR_URL: simulator.url,
    SIMULATOR_SECRET: simulatorSecret,
    SMTP_URL: simulator.smtpUrl,
    WEBHOOK_ALLOW_PRIVATE: '1',
    ...options.environment,
  });
  const { codecKeys } = config.temporal;
  const temporal = new Client({ connection, namespace, dataConverter: dataConverter(codecKeys) });
  const waker = createWaker(temporal, createLogger('test', 'silent'));
  const pools = await createPools(config.database, { size: 4, waker });
  const api = await startApi(config);
  const app: OwnApp = {
    url: api.url,
    config,
    ownerUrl: database.ownerUrl,
    pools,
    temporal,
    simulatorUrl: simulator.url,
    smtpUrl: simulator.smtpUrl,
    api,
    worker: null,
    async startWorker() {
      app.worker = await startWorker(
        config,
        codecKeys === null ? { codePath: inject('workflowBundle') } : await bundleWorkflows(codecKeys),
      );
    },
    async stopWorker() {
      await app.worker?.stop();
      app.worker = null;
    },
    async stop() {
      await saveHistories(app.temporal);
      await app.stopWorker();
      await app.api.stop();
      await simulator.stop();
      await waker.close();
      await pools.close();
      await connection.close();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  if (options.worker ?? true) await app.startWorker();
  return app;
}

export async function registerNamespace(connection: Client['connection'], namespace: string): Promise<void> {
  await connection.workflowService.registerNamespace({
    namespace,
    workflowExecutionRetentionPeriod: { seconds: 86_400 as never },
  });
  const client = new Client({ connection, namespace });
  // The server's caches take a while to know a new namespace.
  await eventually(async () => {
    await client.workflow.count();
    return true;
  });
}

/**
 * Polls until `ask` returns a value; undefined, false or an error means not yet. The interval grows, because an endpoint
 * allows 120 requests a minute.
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false>,
  timeoutMs = 120_000,
): Promise<T> {
  const end = Date.now() + timeoutMs;
  let last: unknown;
  for (let wait = 50; ; wait = Math.min(600, wait * 1.1)) {
    try {
      const value = await ask();
      if (value !== undefined && value !== false) return value;
      last = value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`not within ${timeoutMs} ms`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
