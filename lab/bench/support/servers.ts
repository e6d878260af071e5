import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import { migrate } from '../../../db/migrate.ts';
import { type Config, readConfig } from '../../../domain/base/config.ts';
import { databaseLogins } from '../../../standalone/database-logins.ts';
import { clusterNodes, createDistributedDatabase, databaseAt } from '../../../test/setup/cluster.ts';
import { connected } from '../../../db/connection/connected.ts';
import { freePort } from '../../../providers/free-port.ts';
import { startPostgres } from '../../../standalone/postgres.ts';
import { findTemporalCli } from '../../../standalone/temporal-cli.ts';
import { removeFolder } from '../../../standalone/postgres-account.ts';
import { startTemporal } from '../../../standalone/temporal.ts';
import { startTemporalOnPostgres } from './temporal-on-postgres.ts';
import { keepFolder, removeTemporaryFolder, stopAtEnd, temporaryFolder } from './leftovers.ts';

/**
 * Starts throwaway servers for a benchmark, which do not outlive it. PostgreSQL is durable, as in production: commits wait for
 * the disk. `BENCH_TEMPORAL` says where Temporal stores: in `memory` (the default), in a `file` of SQLite as `npm start` does, or on
 * the same `postgres` as docker-compose.yml does. With `BENCH_CITUS`, as `TEST_CITUS`, the database is a new one on that cluster.
 * @param settings of PostgreSQL.
 */
export async function startServers(settings: Readonly<Record<string, string>> = {}): Promise<{
  config: Config;
  /** URL of the database with the owner's login. */
  ownerUrl: string;
  pids: { postgres: number; temporal: number } & Record<string, number>;
  /** URL of Temporal's metrics. */
  temporalMetrics: string;
  /** The folder of data and logs. */
  folder: string;
  /** @param options.keepLogs whether to keep the logs in `folder`. */
  stop(options?: { keepLogs?: boolean }): Promise<void>;
}> {
  const folder = temporaryFolder('linepace-bench-');
  const metricsPort = await freePort();
  const store = process.env['BENCH_TEMPORAL'] ?? 'memory';
  const cluster = process.env['BENCH_CITUS'];
  const startDatabase = async () =>
    cluster !== undefined
      ? createOnCluster(cluster)
      : startPostgres({
          dataDir: join(folder, 'postgres'),
          port: await freePort(),
          logFile: join(folder, 'postgres.log'),
          settings,
          onSpawn: (server) => stopAtEnd(server, 'SIGINT'),
        });
  const onSpawn = (server: { pid: number }): void => stopAtEnd(server, 'SIGTERM');
  const startDevelopmentServer = async () =>
    startTemporal({
      program: await findTemporalCli(console.log),
      port: await freePort(),
      uiPort: null,
      metricsPort,
      dbFile: store === 'file' ? join(folder, 'temporal.db') : null,
      logFile: join(folder, 'temporal.log'),
      onSpawn,
    });
  const startBoth = async () => {
    if (store !== 'postgres') return Promise.all([startDatabase(), startDevelopmentServer()]);
    const postgres = await startDatabase();
    const { url: postgresUrl } = postgres;
    return [postgres, await startTemporalOnPostgres({ postgresUrl, folder, metricsPort, onSpawn })] as const;
  };
  const [postgres, temporal] = await startBoth();
  const logins = databaseLogins(postgres.url);
  if (cluster === undefined) await migrate(postgres.url, logins);
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const config = readConfig({
    DATABASE_URL: logins.tenantUrl,
    DATABASE_SYSTEM_URL: logins.systemUrl,
    TEMPORAL_ADDRESS: temporal.address,
    LOG_LEVEL: 'error',
    ENCRYPTION_KEYS: `1:${randomBytes(32).toString('base64')}`,
    SIGNING_KEYS: `1:${randomBytes(32).toString('base64')}`,
    AUTH_LOCAL_JWK: JSON.stringify(await exportJWK(privateKey)),
    WEBHOOK_ALLOW_PRIVATE: '1',
  });
  return {
    config,
    ownerUrl: postgres.url,
    pids: { postgres: postgres.pid, temporal: temporal.pid, ...('nodes' in postgres && postgres.nodes) },
    temporalMetrics: `http://127.0.0.1:${metricsPort}/metrics`,
    folder,
    async stop({ keepLogs = false } = {}) {
      await Promise.all([postgres.stop(), temporal.stop()]);
      if (keepLogs) {
        keepFolder(folder);
        removeFolder(join(folder, 'postgres'));
      } else removeTemporaryFolder(folder);
    },
  };
}

/** A distributed database, with the servers of the cluster: `postgres` is the coordinator. */
export async function createOnCluster(coordinator: string) {
  const servers = await clusterNodes(coordinator);
  await createDistributedDatabase(servers, 'linepace_bench');
  const [pid = 0, ...nodes] = await Promise.all(
    servers.map((url) =>
      connected(url, async (client) => {
        const { rows } = await client.query(
          `select split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int pid`,
        );
        return rows[0].pid as number;
      }),
    ),
  );
  return {
    url: databaseAt(coordinator, 'linepace_bench'),
    pid,
    nodes: Object.fromEntries(nodes.map((node, index) => [`node ${index + 1}`, node])),
    stop: async () => {},
  };
}
