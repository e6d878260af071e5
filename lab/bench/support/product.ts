import { randomBytes } from 'node:crypto';
import { openSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { sql } from 'slonik';
import { z } from 'zod';
import { createPools, type Pools } from '../../../db/connection/pools.ts';
import { systemDb } from '../../../db/connection/transactions.ts';
import type { Config } from '../../../domain/base/config.ts';
import { EVENT_NAMES } from '../../../domain/events/event.ts';
import { createTemporalClient, createWaker } from '../../../providers/temporal.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { freePort } from '../../../providers/free-port.ts';
import { type Endpoint, startEndpoint } from '../../../test/support/endpoint.ts';
import { startProcess } from '../../../test/support/process.ts';
import { startServers } from './servers.ts';

/** The product as in production, with API and worker as separate processes, and with simulated providers. */
export interface Product {
  config: Config;
  /** URL of the database with the owner's login. */
  ownerUrl: string;
  pools: Pools;
  /** The URL of each API process. */
  urls: string[];
  simulatorUrl: string;
  /** URL of its mail server. */
  smtpUrl: string;
  temporalMetrics: string;
  /** URL of the worker's metrics. */
  workerMetrics: string;
  /** The pids of the first API process, the current worker and the servers. */
  readonly pids: { api: number; worker: number; postgres: number; temporal: number };
  /** Kills the worker with SIGKILL. */
  killWorker(): Promise<void>;
  startWorker(): Promise<void>;
  /** Stops everything but keeps the logs of a failed run. @throws if PostgreSQL found a deadlock. */
  stop(): Promise<void>;
}

export const countDeadlocks = (pools: Pools): Promise<number> =>
  systemDb(pools).oneFirst(sql.type(z.object({ deadlocks: z.int() }))`
    select deadlocks from pg_stat_database where datname = current_database()`);

/** Registers a webhook for every event of a workspace, with an endpoint that responds at once. */
export async function startListener(
  { config }: Pick<Product, 'config'>,
  key: string,
): Promise<Pick<Endpoint, 'received' | 'close'>> {
  const endpoint = await startEndpoint();
  const response = await fetch(`${config.publicUrl}/api/webhooks`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: endpoint.url, events: EVENT_NAMES }),
  });
  if (!response.ok) throw new Error(`the webhook was refused with ${response.status}`);
  return endpoint;
}

/**
 * @param overrides of the benchmarks' configuration.
 * @param settings of PostgreSQL.
 */
export async function startProduct(
  apis = 1,
  overrides: Partial<Config> = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<Product> {
  const servers = await startServers(settings);
  const ports = await Promise.all(Array.from({ length: apis }, () => freePort()));
  const urls = ports.map((port) => `http://localhost:${port}`);
  const publicUrl = urls[0] ?? '';
  const secret = randomBytes(16).toString('hex');
  const simulator = await startSimulator({
    port: 0,
    smtpPort: 0,
    dataDir: null,
    callbackBaseUrl: publicUrl,
    secret,
  });
  const config = { ...servers.config, publicUrl, simulator: { url: simulator.url, secret }, ...overrides };
  const temporal = createTemporalClient(config.temporal);
  const waker = createWaker(temporal, pino({ level: 'error' }));
  const pools = await createPools(config.database, { size: 4, statementTimeoutMs: 300_000, waker });
  const log = openSync(join(servers.folder, 'product.log'), 'a');
  const apiProcesses = await Promise.all(
    ports.map((port) => startProcess('api/server.ts', config, port, log)),
  );
  const metricsPort = await freePort();
  const startWorker = () => startProcess('workers/worker.ts', { ...config, metricsPort }, 0, log);
  let worker = await startWorker();
  return {
    config,
    ownerUrl: servers.ownerUrl,
    pools,
    urls,
    simulatorUrl: simulator.url,
    smtpUrl: simulator.smtpUrl,
    temporalMetrics: servers.temporalMetrics,
    workerMetrics: `http://127.0.0.1:${metricsPort}/metrics`,
    get pids() {
      return { api: apiProcesses[0]?.pid ?? 0, worker: worker.pid, ...servers.pids };
    },
    killWorker: () => worker.kill(),
    async startWorker() {
      worker = await startWorker();
    },
    async stop() {
      await Promise.all([worker, ...apiProcesses].map((process) => process.kill()));
      const deadlocks = await countDeadlocks(pools);
      await waker.close();
      await Promise.all([simulator.stop(), pools.close(), temporal.connection.close()]);
      const isRight = deadlocks === 0 && (process.exitCode ?? 0) === 0;
      await servers.stop({ keepLogs: !isRight });
      if (!isRight) console.log(`logs: ${servers.folder}`);
      if (deadlocks > 0) throw new Error(`PostgreSQL found ${deadlocks} deadlocks`);
    },
  };
}
