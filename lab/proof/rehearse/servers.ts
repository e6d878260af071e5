import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import pg from 'pg';
import { stringify } from 'yaml';
import { freePort } from '../../../providers/free-port.ts';
import { type TemporalOptions, connectionOptions } from '../../../providers/temporal.ts';
import { databaseLogins } from '../../../standalone/database-logins.ts';
import { openLog } from '../../../standalone/log-file.ts';
import { startPostgres } from '../../../standalone/postgres.ts';
import { postgresAccount } from '../../../standalone/postgres-account.ts';
import { type RunningProcess, runningProcess } from '../../../standalone/running-process.ts';
import { stopAtEnd } from '../../bench/support/leftovers.ts';
import { until } from '../../bench/support/waiting.ts';
import type { Certificates } from './certificates.ts';
import type { Programs } from './programs.ts';

/** A server that can be killed and started again on the same data. */
export interface Server {
  readonly pid: number;
  kill(): Promise<void>;
  /** Resolves when it is ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface Database extends Server {
  /** The owner's URL, on loopback without TLS. */
  ownerUrl: string;
  /** The URLs of the logins, which are accepted with TLS only. */
  tenantUrl: string;
  systemUrl: string;
  /** Has it start on another folder, with the same password, when it is started again. */
  moveTo(dataDir: string): void;
}

/** Where PostgreSQL runs. */
export interface DatabasePlace {
  /** Contains the cluster and its owner's password. */
  dataDir: string;
  port: number;
  settings: Readonly<Record<string, string>>;
}

/** Logins other than the owner's must use TLS. */
const LOGINS = `
local all postgres scram-sha-256
hostssl all linepace_tenant,linepace_system,temporal 127.0.0.1/32 scram-sha-256
host all postgres 127.0.0.1/32 scram-sha-256
`;

/** Starts PostgreSQL with TLS. @param folder of its log and its files. */
export async function startDatabase(
  folder: string,
  tls: Certificates,
  place: Partial<DatabasePlace> = {},
): Promise<Database> {
  mkdirSync(folder, { recursive: true });
  // As root, PostgreSQL runs as another user.
  chmodSync(folder, 0o711);
  const settings = {
    ssl: 'on',
    ssl_cert_file: readableBy(folder, tls.server),
    ssl_key_file: readableBy(folder, tls.serverKey),
    hba_file: readableBy(folder, written(folder, 'pg_hba.conf', LOGINS)),
    max_connections: '300',
    ...place.settings,
  };
  let dataDir = place.dataDir ?? join(folder, 'postgres');
  const port = place.port ?? (await freePort());
  const start = () =>
    startPostgres({
      dataDir,
      port,
      logFile: join(folder, 'postgres.log'),
      onSpawn: (server) => stopAtEnd(server, 'SIGINT'),
      settings,
    });
  const server = await start();
  const { tenantUrl, systemUrl } = databaseLogins(server.url);
  const overTls = (url: string): string => `${url}?sslmode=verify-full&sslrootcert=${tls.authority}`;
  return Object.assign(restartable(server, start), {
    ownerUrl: server.url,
    tenantUrl: overTls(tenantUrl),
    systemUrl: overTls(systemUrl),
    moveTo(to: string) {
      copyFileSync(join(dataDir, 'password'), join(to, 'password'));
      dataDir = to;
    },
  });
}

function restartable(first: RunningProcess, start: () => Promise<RunningProcess>): Server {
  let server = first;
  return {
    get pid() {
      return server.pid;
    },
    async kill() {
      server.kill();
      await server.ended;
    },
    async start() {
      server = await start();
    },
    stop: () => server.stop(),
  };
}

function written(folder: string, name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

/** PostgreSQL reads only files of its own user. */
function readableBy(folder: string, file: string): string {
  const own = join(folder, `postgres-${file.split('/').at(-1)}`);
  copyFileSync(file, own);
  chmodSync(own, 0o600);
  const account = postgresAccount();
  if (account) chownSync(own, account.uid, account.gid);
  return own;
}

export interface TemporalCluster extends Server {
  options: TemporalOptions;
  /** host:port of its metrics. */
  metrics: string;
}

const NAMESPACE = 'linepace';
const PASSWORD = 'temporal';
const READY_MS = 120_000;

/** Starts a Temporal server with all services, its schema in PostgreSQL, and TLS with client certificates. */
export async function startTemporalCluster(
  folder: string,
  { temporalServer, temporalSql }: Programs,
  database: Database,
  tls: Certificates,
): Promise<TemporalCluster> {
  const { hostname, port: databasePort } = new URL(database.ownerUrl);
  await createSchema(temporalSql, database.ownerUrl, {
    hostname,
    port: databasePort,
    authority: tls.authority,
  });
  // Temporal's tables hold ports up to 32,767, which is the highest of these.
  const ports = Object.fromEntries(
    await Promise.all(SERVICES.map(async (name) => [name, [await freePort(), await freePort()]])),
  ) as Record<string, [number, number]>;
  const [frontend] = ports['frontend'] ?? [0];
  const metrics = `127.0.0.1:${await freePort()}`;
  mkdirSync(folder, { recursive: true });
  const limits = stringify({ 'limit.maxIDLength': [{ value: 255 }] });
  const settings = stringify(
    configuration(ports, {
      database: `${hostname}:${databasePort}`,
      metrics,
      dynamicConfig: written(folder, 'dynamic.yaml', limits),
      tls,
    }),
  );
  const configFile = written(folder, 'temporal.yaml', settings);
  const options: TemporalOptions = {
    address: `localhost:${frontend}`,
    namespace: NAMESPACE,
    apiKey: null,
    codecKeys: null,
    apiKeyPath: null,
    tls: {
      clientCertPath: tls.client,
      clientKeyPath: tls.clientKey,
      serverCaCertPath: tls.authority,
      serverName: null,
    },
  };
  const log = join(folder, 'temporal.log');
  const start = async (): Promise<RunningProcess> => {
    const output = openLog(log);
    const arguments_ = ['--config-file', configFile, '--allow-no-auth', 'start'];
    const child = spawn(temporalServer, arguments_, { stdio: ['ignore', output, output], detached: true });
    const server = await runningProcess(child, 'SIGTERM');
    stopAtEnd(server, 'SIGTERM');
    let hasEnded = false;
    void server.ended.then(() => (hasEnded = true));
    await until(async () => hasEnded || (await isReady(options)), READY_MS);
    if (hasEnded) throw new Error(`Temporal did not start (${await server.ended}); its log is ${log}`);
    return server;
  };
  return Object.assign(restartable(await start(), start), { options, metrics });
}

/** Creates the databases and their schemas as `docker-compose.yml` does. */
async function createSchema(
  program: string,
  ownerUrl: string,
  server: { hostname: string; port: string; authority: string },
): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(`create role temporal login password '${PASSWORD}'`);
  for (const name of ['temporal', 'temporal_visibility'])
    await client.query(`create database ${name} owner temporal`);
  await client.end();
  const connect = [
    '--plugin',
    'postgres12',
    '--ep',
    server.hostname,
    '--port',
    server.port,
    '--user',
    'temporal',
  ];
  const secure = ['--password', PASSWORD, '--tls', '--tls-ca-file', server.authority];
  for (const [name, schema] of [
    ['temporal', 'temporal'],
    ['temporal_visibility', 'visibility'],
  ] as const) {
    const tool = (...args: string[]): unknown =>
      execFileSync(program, [...connect, ...secure, '--db', name, ...args], { stdio: 'pipe' });
    tool('setup-schema', '--version', '0.0');
    tool('update-schema', '--schema-name', `postgresql/v12/${schema}`);
  }
}

const SERVICES = ['frontend', 'history', 'matching', 'worker'] as const;

/** The server's configuration, in the format of `config/development-postgres12.yaml` of its repository. */
function configuration(
  ports: Record<string, [number, number]>,
  {
    database,
    metrics,
    dynamicConfig,
    tls,
  }: { database: string; metrics: string; dynamicConfig: string; tls: Certificates },
): object {
  const store = (databaseName: string): object => ({
    sql: {
      pluginName: 'postgres12',
      databaseName,
      connectAddr: database,
      connectProtocol: 'tcp',
      user: 'temporal',
      password: PASSWORD,
      maxConns: 20,
      maxIdleConns: 20,
      maxConnLifetime: '1h',
      tls: { enabled: true, caFile: tls.authority, enableHostVerification: true, serverName: 'localhost' },
    },
  });
  const client = { serverName: 'localhost', rootCaFiles: [tls.authority] };
  const server = {
    certFile: tls.server,
    keyFile: tls.serverKey,
    requireClientAuth: true,
    clientCaFiles: [tls.authority],
  };
  const [frontend] = ports['frontend'] ?? [0];
  return {
    log: { stdout: true, level: 'warn' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: 4,
      datastores: { default: store('temporal'), visibility: store('temporal_visibility') },
    },
    global: {
      membership: { maxJoinDuration: '30s', broadcastAddress: '127.0.0.1' },
      tls: {
        internode: { server, client },
        frontend: { server, client },
        systemWorker: { certFile: tls.client, keyFile: tls.clientKey, client },
      },
      metrics: { prometheus: { framework: 'tally', timerType: 'histogram', listenAddress: metrics } },
    },
    services: Object.fromEntries(
      Object.entries(ports).map(([name, [grpcPort, membershipPort]]) => [
        name,
        { rpc: { grpcPort, membershipPort, bindOnLocalHost: true } },
      ]),
    ),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `localhost:${frontend}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    publicClient: { hostPort: `localhost:${frontend}` },
    dynamicConfigClient: { filepath: dynamicConfig, pollInterval: '60s' },
  };
}

/** Creates the namespace on the first start. */
async function isReady(options: TemporalOptions): Promise<boolean> {
  const connection = await Connection.connect({ ...connectionOptions(options), connectTimeout: 2000 });
  try {
    const { workflowService } = connection;
    await workflowService.describeNamespace({ namespace: NAMESPACE }).catch(async () => {
      await workflowService.registerNamespace({
        namespace: NAMESPACE,
        workflowExecutionRetentionPeriod: msToTs('3 days'),
      });
    });
    await workflowService.listWorkflowExecutions({ namespace: NAMESPACE });
    return true;
  } finally {
    await connection.close();
  }
}
