import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import pg from 'pg';
import { freePort } from '../../../providers/free-port.ts';
import { openLog } from '../../../standalone/log-file.ts';
import { type RunningProcess, runningProcess } from '../../../standalone/running-process.ts';
import { cacheFolder } from '../../../standalone/temporal-cli.ts';
import { becomesTrue } from '../../../standalone/wait.ts';

/** The version in docker-compose.yml. */
const VERSION = 'v1.31.2';
const SHARDS = 512;
const SEARCH_ATTRIBUTES = ['WorkspaceId', 'LineId', 'State'];
const KEYWORD = 2;
const SERVICES = ['frontend', 'history', 'matching', 'worker'];

/** The server and the tool for its schema, built by Go unless they are in the cache: ten minutes on two cores, once. */
function programs(): { server: string; sql: string; schemas: string } {
  const folder = join(cacheFolder(), `temporal-server-${VERSION}`);
  const env = { ...process.env, GOBIN: folder, CGO_ENABLED: '0' };
  for (const [name, path] of [
    ['server', 'cmd/server'],
    ['sql', 'cmd/tools/sql'],
  ] as const)
    if (!existsSync(join(folder, name)))
      execFileSync('go', ['install', `go.temporal.io/server/${path}@${VERSION}`], { env, stdio: 'inherit' });
  const modules = execFileSync('go', ['env', 'GOMODCACHE'], { encoding: 'utf8' }).trim();
  const schemas = join(modules, `go.temporal.io/server@${VERSION}/schema/postgresql/v12`);
  return { server: join(folder, 'server'), sql: join(folder, 'sql'), schemas };
}

/**
 * Starts Temporal's server as docker-compose.yml does: with its databases on the PostgreSQL of the product.
 * @param postgresUrl with a superuser's login.
 */
export async function startTemporalOnPostgres({
  postgresUrl,
  folder,
  metricsPort,
  onSpawn,
}: {
  postgresUrl: string;
  folder: string;
  metricsPort: number;
  onSpawn: (server: RunningProcess) => void;
}): Promise<RunningProcess & { address: string }> {
  const { server: program, sql, schemas } = programs();
  const { hostname, port: postgresPort, username, password } = new URL(postgresUrl);
  const owner = new pg.Client({ connectionString: postgresUrl });
  await owner.connect();
  for (const name of ['temporal', 'visibility']) {
    await owner.query(`create database ${name}`);
    const login = ['--ep', hostname, '--port', postgresPort, '--user', username, '--pw', password];
    const tool = ['--plugin', 'postgres12', ...login, '--db', name];
    execFileSync(sql, [...tool, 'setup-schema', '--version', '0.0']);
    execFileSync(sql, [...tool, 'update-schema', '--schema-dir', join(schemas, name, 'versioned')]);
  }
  await owner.end();

  const store = (databaseName: string) => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: `${hostname}:${postgresPort}`,
      connectProtocol: 'tcp',
      user: username,
      password,
      maxConns: 20,
      maxIdleConns: 20,
    },
  });
  const ports = await Promise.all(
    SERVICES.map(async (name) => ({ name, grpcPort: await freePort(), membershipPort: await freePort() })),
  );
  const address = `127.0.0.1:${ports[0]?.grpcPort}`;
  const configFolder = join(folder, 'temporal');
  mkdirSync(configFolder);
  const dynamic = join(configFolder, 'dynamic.yaml');
  const yes = [{ value: true }];
  writeFileSync(dynamic, JSON.stringify({ 'matching.useNewMatcher': yes, 'matching.enableFairness': yes }));
  const config = join(configFolder, 'config.yaml');
  // JSON is YAML.
  writeFileSync(
    config,
    JSON.stringify({
      log: { level: 'error' },
      persistence: {
        defaultStore: 'default',
        visibilityStore: 'visibility',
        numHistoryShards: SHARDS,
        datastores: { default: store('temporal'), visibility: store('visibility') },
      },
      global: {
        membership: { broadcastAddress: '127.0.0.1' },
        metrics: { prometheus: { listenAddress: `127.0.0.1:${metricsPort}` } },
      },
      services: Object.fromEntries(
        ports.map(({ name, ...rpc }) => [name, { rpc: { ...rpc, bindOnLocalHost: true } }]),
      ),
      clusterMetadata: {
        failoverVersionIncrement: 10,
        masterClusterName: 'active',
        currentClusterName: 'active',
        clusterInformation: {
          active: { enabled: true, initialFailoverVersion: 1, rpcName: 'frontend', rpcAddress: address },
        },
      },
      dynamicConfigClient: { filepath: dynamic, pollInterval: '60s' },
    }),
  );
  const log = openLog(join(folder, 'temporal.log'));
  const child = spawn(program, ['--config-file', config, '--allow-no-auth', 'start'], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const server = await runningProcess(child, 'SIGTERM');
  onSpawn(server);
  if (!(await becomesTrue(() => prepareNamespace(address), 120_000))) {
    await server.stop();
    throw new Error(`Temporal did not start: ${join(folder, 'temporal.log')}`);
  }
  return { ...server, address };
}

/** @returns false while the server is not ready. */
async function prepareNamespace(address: string): Promise<boolean> {
  const namespace = 'default';
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2000 });
    const { workflowService: service, operatorService: operator } = connection;
    await service
      .registerNamespace({ namespace, workflowExecutionRetentionPeriod: { seconds: 259_200 as never } })
      .catch(ignoreExisting);
    const searchAttributes = Object.fromEntries(SEARCH_ATTRIBUTES.map((name) => [name, KEYWORD]));
    await operator.addSearchAttributes({ namespace, searchAttributes }).catch(ignoreExisting);
    await service.describeNamespace({ namespace });
    const { customAttributes } = await operator.listSearchAttributes({ namespace });
    return SEARCH_ATTRIBUTES.every((name) => name in (customAttributes ?? {}));
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}

const ALREADY_EXISTS = 6;
function ignoreExisting(error: { code?: number }): void {
  if (error.code !== ALREADY_EXISTS) throw error;
}
