import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { migrate } from '#db/migrate.ts';
import type { DatabaseUrls } from '#db/connection/pools.ts';
import { databaseLogins } from '#standalone/database-logins.ts';
import { livePid, stopByPidFile, writePidFile } from '#standalone/pid-file.ts';
import { freePort } from '#providers/free-port.ts';
import { removeFolder } from '#standalone/postgres-account.ts';
import { type RunningPostgres, startPostgres } from '#standalone/postgres.ts';
import type { RunningProcess } from '#standalone/running-process.ts';
import { findTemporalCli } from '#standalone/temporal-cli.ts';
import { type RunningTemporal, startTemporal } from '#standalone/temporal.ts';
import { bundleWorkflows } from '#workers/workflow-bundle.ts';
import { clusterNodes, createClusterTemplate, databaseAt, dropLeftDatabases } from './cluster.ts';
import { connected } from '#db/connection/connected.ts';
import { DEADLOCKS, TEMPLATE_DATABASE } from './database.ts';
import { startPooler } from './pooler.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser URL of the run's PostgreSQL server, at a local socket. Tests use their own databases (`createTestDatabase`). */
    databaseUrl: string;
    /** The logins of the processes, shared because deriving their passwords is slow (`databaseLogins`). */
    databaseLogins: DatabaseUrls;
    /** The servers of the Citus cluster of `TEST_CITUS`, the coordinator first; [] without it. */
    clusterNodes: readonly string[];
    /** The port of a PgBouncer in front of the server, if `TEST_PGBOUNCER` is the path of one; else null. */
    poolerPort: number | null;
    /** host:port of the run's Temporal server. */
    temporalAddress: string;
    /** The address of its metrics, without `/metrics`. */
    temporalMetrics: string;
    /** The path of the workflow bundle, which is built once per run. */
    workflowBundle: string;
    /** For the files of the run's apps. It is removed after the run, even one that was killed. */
    runFolder: string;
  }
}

/** URL of a superuser at the coordinator of a Citus cluster, which runs the tests in place of one server. */
const CLUSTER = process.env['TEST_CITUS'];

/** Contains one folder per test run of this user. */
const RUNS = join(tmpdir(), `linepace-test-${userInfo().uid}`);

/** A history is deleted once the server has noted that its other tasks are done, which by default takes half a minute. */
const SOON = [
  'history.transferProcessorUpdateAckInterval="1s"',
  'history.visibilityProcessorUpdateAckInterval="1s"',
];

/** Starts a temporary PostgreSQL and Temporal server and builds the workflow bundle, once per run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandonedRuns();
  const folder = mkdtempSync(join(RUNS, 'run-'));
  chmodSync(folder, 0o755);
  writePidFile(join(folder, 'owner.pid'), process.pid);
  // Processes that tests start share compiled code, and the bundle of the workflows.
  process.env['NODE_COMPILE_CACHE'] = join(folder, 'compile-cache');

  const servers: RunningProcess[] = [];
  const killAll = (): void => servers.forEach((server) => server.kill());
  // An interrupted run does not reach its teardown.
  process.once('exit', killAll);
  const onSpawn = (name: string) => (server: RunningProcess) => {
    servers.push(server);
    writePidFile(join(folder, `${name}.pid`), server.pid);
  };
  const teardown = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.stop()));
    process.off('exit', killAll);
    removeRun(folder);
  };

  const metricsPort = await freePort();
  const starts = await Promise.allSettled([
    startDatabase(folder, onSpawn('postgres')),
    startWorkflowServer(folder, onSpawn('temporal'), (line) => project.vitest.logger.log(line), metricsPort),
    writeWorkflowBundle(folder),
  ]);
  const [postgres, temporal, bundle] = starts;
  if (postgres.status === 'rejected' || temporal.status === 'rejected' || bundle.status === 'rejected') {
    await teardown();
    throw new AggregateError(
      starts.flatMap((start) => (start.status === 'rejected' ? [start.reason] : [])),
      'the servers for the tests did not start',
    );
  }
  const nodes = await createTemplate(postgres.value.url).catch(async (error: unknown) => {
    await teardown();
    throw error;
  });
  const logins = databaseLogins(postgres.value.url);
  const program = process.env['TEST_PGBOUNCER'];
  const pooler =
    program === undefined ? null : await startPooler(program, postgres.value.url, logins, folder);
  project.provide('clusterNodes', nodes);
  project.provide('databaseUrl', postgres.value.url);
  project.provide('databaseLogins', logins);
  project.provide('poolerPort', pooler?.port ?? null);
  project.provide('temporalMetrics', `http://127.0.0.1:${metricsPort}`);
  project.provide('temporalAddress', temporal.value.address);
  project.provide('workflowBundle', bundle.value);
  project.provide('runFolder', folder);
  return () =>
    failOnDeadlocks(postgres.value.url)
      .finally(() => pooler?.stop())
      .finally(teardown);
}

/** Fails the run if PostgreSQL detected a deadlock, because locks are taken in one order (docs/architecture.md). */
async function failOnDeadlocks(url: string): Promise<void> {
  const { rows } = await connected(url, (client) =>
    client.query<{ name: string; deadlocks: string }>(`
      select name, deadlocks from (
        select name, deadlocks from ${DEADLOCKS}
        union all select datname, deadlocks from pg_stat_database where datname is not null
      ) all_databases where deadlocks > 0`),
  );
  if (rows.length === 0) return;
  const counts = rows.map(({ name, deadlocks }) => `${deadlocks} in ${name}`).join(', ');
  throw new Error(`PostgreSQL found deadlocks: ${counts}. See "Lock order" in docs/architecture.md`);
}

type OnSpawn = (server: RunningProcess) => void;

/** With `TEST_CITUS`, the coordinator of that cluster; else a server of the run. */
async function startDatabase(folder: string, onSpawn: OnSpawn): Promise<Pick<RunningPostgres, 'url'>> {
  if (CLUSTER !== undefined) return { url: CLUSTER };
  // PostgreSQL may run as another user.
  const sockets = join(folder, 'sockets');
  mkdirSync(sockets);
  chmodSync(sockets, 0o1777);
  const { url } = await startPostgres({
    dataDir: join(folder, 'postgres'),
    port: await freePort(),
    durable: false,
    // Vitest runs four processes (`maxWorkers`). In each, the pools of the shared app open up to 80 connections and keep
    // idle ones for 30 seconds, while a file may start an app of its own, which rarely opens more than 20.
    // By default each login derives a key 4096 times.
    settings: { max_connections: '500', unix_socket_directories: sockets, scram_iterations: '1' },
    logFile: join(folder, 'postgres.log'),
    onSpawn,
  });
  // Statements take less processor time than over TCP.
  return { url: Object.assign(new URL(url), { hostname: encodeURIComponent(sockets) }).href };
}

const startWorkflowServer = async (
  folder: string,
  onSpawn: OnSpawn,
  log: (line: string) => void,
  metricsPort: number,
): Promise<RunningTemporal> =>
  startTemporal({
    program: await findTemporalCli(log),
    port: await freePort(),
    metricsPort,
    uiPort: null,
    dbFile: null,
    settings: SOON,
    logFile: join(folder, 'temporal.log'),
    onSpawn,
  });

async function writeWorkflowBundle(folder: string): Promise<string> {
  const file = join(folder, 'workflows.js');
  const { code } = await bundleWorkflows(null);
  writeFileSync(file, code);
  return file;
}

/** @returns the servers of the cluster; [] if there is none. */
async function createTemplate(url: string): Promise<readonly string[]> {
  const nodes = CLUSTER === undefined ? [] : await clusterNodes(CLUSTER);
  await dropLeftDatabases(nodes);
  await connected(url, async (client) => {
    await client.query(`drop table if exists ${DEADLOCKS}`);
    await client.query(`create table ${DEADLOCKS} (name text, deadlocks bigint)`);
    if (nodes.length === 0) await client.query(`create database ${TEMPLATE_DATABASE}`);
  });
  const template = databaseAt(url, TEMPLATE_DATABASE);
  if (nodes.length > 0) await createClusterTemplate(nodes, TEMPLATE_DATABASE);
  else await migrate(template, databaseLogins(template));
  return nodes;
}

/** Stops the servers and removes the folders of earlier runs that were killed. */
async function removeAbandonedRuns(): Promise<void> {
  mkdirSync(RUNS, { recursive: true, mode: 0o755 });
  for (const name of readdirSync(RUNS)) {
    const folder = join(RUNS, name);
    if (livePid(join(folder, 'owner.pid')) !== null) continue;
    await stopByPidFile(join(folder, 'postgres.pid'), 'SIGKILL');
    await stopByPidFile(join(folder, 'temporal.pid'), 'SIGKILL');
    removeRun(folder);
  }
}

function removeRun(folder: string): void {
  removeFolder(join(folder, 'postgres'));
  // A shared app ends with its process, which may end meanwhile.
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
