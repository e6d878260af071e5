import { spawnSync } from 'node:child_process';
import { openSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { createPools } from '../../../db/connection/pools.ts';
import type { Config } from '../../../domain/base/config.ts';
import { freePort } from '../../../providers/free-port.ts';
import { createTemporalClient } from '../../../providers/temporal.ts';
import { startSimulator } from '../../../simulator/server.ts';
import { startTwilio } from '../../../simulator/twilio.ts';
import { startBlackHole } from '../../../test/support/black-hole.ts';
import { apiClient } from '../../../test/support/client.ts';
import { startFront } from '../../../test/support/front.ts';
import { type AppProcess, startProcess } from '../../../test/support/process.ts';
import { TWILIO_ACCOUNT } from '../../../test/support/twilio.ts';
import { startServers } from '../../bench/support/servers.ts';
import { until } from '../../bench/support/waiting.ts';
import { createBenchWorkspace, unpaced } from '../../bench/support/workspace.ts';
import { startPrometheus } from '../rehearse/prometheus.ts';

export type Scene = Awaited<ReturnType<typeof startScene>>;
type Part = 'api' | 'worker';

/** As in deploy/prometheus/prometheus.yml. */
const SCRAPED_EVERY = '15s';

/** Starts the product as in production, PostgreSQL behind a way that can swallow everything, and Prometheus if it is there. */
export async function startScene() {
  const servers = await startServers();
  const database = new URL(servers.ownerUrl);
  const hole = await startBlackHole(database.hostname, Number(database.port));
  const behind = (url: string): string => {
    const there = new URL(url);
    there.port = String(hole.port);
    return there.href;
  };
  const [port, workerPort] = [await freePort(), await freePort()];
  const publicUrl = `http://localhost:${port}`;
  const secret = randomBytes(16).toString('hex');
  const simulator = await startSimulator({
    port: 0,
    smtpPort: 0,
    dataDir: null,
    callbackBaseUrl: publicUrl,
    secret,
  });
  const config: Config = { ...servers.config, publicUrl, simulator: { url: simulator.url, secret } };
  const { tenantUrl, systemUrl, listenUrl } = config.database;
  const throughHole: Config = {
    ...config,
    database: {
      ...config.database,
      tenantUrl: behind(tenantUrl),
      systemUrl: behind(systemUrl),
      listenUrl: behind(listenUrl),
    },
  };
  const clocks = join(servers.folder, 'clocks');
  const steppedClock = new URL('../chaos/stepped-clock.ts', import.meta.url).href;
  const variables = { NODE_OPTIONS: `--import=${steppedClock}`, CLOCKS_DIR: clocks };
  const log = openSync(join(servers.folder, 'product.log'), 'a');
  const running: Partial<Record<Part, AppProcess>> = {};
  const metricsUrls: Record<Part, string> = { api: publicUrl, worker: `http://127.0.0.1:${workerPort}` };
  async function start(part: Part, overrides: Partial<Config> = {}): Promise<void> {
    const own = { ...throughHole, ...overrides };
    running[part] =
      part === 'api'
        ? await startProcess('api/server.ts', own, port, log, variables)
        : await startProcess('workers/worker.ts', { ...own, metricsPort: workerPort }, 0, log, variables);
  }
  const stop = async (part: Part) => running[part]?.kill();
  await start('api');
  await start('worker');
  await until(async () => (await fetch(`${metricsUrls.worker}/readyz`)).ok);
  const twilio = await startTwilio(TWILIO_ACCOUNT);
  const pools = await createPools(config.database, { size: 4, statementTimeoutMs: 300_000 });
  const temporal = createTemporalClient(config.temporal);
  const prometheus = isThere('prometheus')
    ? await startPrometheus(
        join(servers.folder, 'prometheus'),
        { prometheus: 'prometheus', promtool: 'promtool' },
        {
          'linepace-api': [new URL(metricsUrls.api).host],
          'linepace-worker': [new URL(metricsUrls.worker).host],
        },
        SCRAPED_EVERY,
      )
    : null;
  if (!prometheus) console.log('Prometheus is not on the PATH: no alerts');

  async function createTenant() {
    const { id, key, lineIds } = await createBenchWorkspace(pools, 1);
    await unpaced(pools, id);
    const call = apiClient(publicUrl, key);
    return { id, key, call, lineId: lineIds[0] ?? '' };
  }

  /** Whether a metric of a process has a value. @param series with its labels in the order of the process. */
  async function measures(part: Part, series: string, is: (value: number) => boolean): Promise<boolean> {
    const response = await fetch(`${metricsUrls[part]}/metrics`, { signal: AbortSignal.timeout(10_000) });
    const line = (await response.text()).split('\n').find((text) => text.startsWith(`${series} `));
    return line !== undefined && is(Number(line.slice(series.length + 1)));
  }

  return {
    config,
    ownerUrl: servers.ownerUrl,
    smtpUrl: simulator.smtpUrl,
    folder: servers.folder,
    clocks,
    pids: servers.pids,
    hole,
    twilio,
    pools,
    temporal,
    metricsUrls,
    workerPort,
    start,
    stopPart: stop,
    pidOf: (part: Part): number => running[part]?.pid ?? 0,
    createTenant,
    measures,
    /** A way to the simulated Twilio, in which somebody else can answer. */
    frontOfTwilio: () => startFront(twilio.url),
    async isNotReady(part: Part, check: string): Promise<boolean> {
      const response = await fetch(`${metricsUrls[part]}/readyz`, { signal: AbortSignal.timeout(10_000) });
      const { checks } = (await response.json()) as { checks: Record<string, string> };
      return checks[check] === 'failed';
    },
    /** `State` of a workflow. */
    async stateOf(workflowId: string): Promise<string | undefined> {
      const { searchAttributes } = await temporal.workflow.getHandle(workflowId).describe();
      return searchAttributes['State']?.[0] as string | undefined;
    },
    hasAlerts: prometheus !== null,
    async fires(alert: string): Promise<boolean> {
      const query = `ALERTS{alertname="${alert}",alertstate="firing"}`;
      const response = await fetch(
        `${prometheus?.url}/api/v1/query?${new URLSearchParams({ query }).toString()}`,
      );
      const { data } = (await response.json()) as { data: { result: unknown[] } };
      return data.result.length > 0;
    },
    async stop(): Promise<void> {
      await Promise.all([stop('api'), stop('worker')]);
      await Promise.all([
        prometheus?.stop(),
        pools.close(),
        temporal.connection.close(),
        simulator.stop(),
        twilio.stop(),
      ]);
      await hole.close();
      await servers.stop({ keepLogs: process.exitCode !== undefined && process.exitCode !== 0 });
    },
  };
}

const isThere = (program: string): boolean => spawnSync(program, ['--version']).status === 0;
