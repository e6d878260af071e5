import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { lastLines, openLog } from './log-file.ts';
import { commandLine, stopProcess } from './pid-file.ts';
import {
  type Account,
  postgresAccount,
  type PostgresPrograms,
  postgresPrograms,
  reachableFolder,
} from './postgres-account.ts';
import { type RunningProcess, runningProcess } from './running-process.ts';
import { becomesTrue } from './wait.ts';

export interface PostgresOptions {
  /** Holds the cluster and its password; made on the first start. */
  dataDir: string;
  port: number;
  /** What the server says; appended. */
  logFile: string;
  /** False only for throwaway data: a crash of the machine may then lose or break it. Default true. */
  durable?: boolean;
  /** Told of the server's process at once, before it is ready. */
  onSpawn?: (process: RunningProcess) => void;
}

export interface RunningPostgres extends RunningProcess {
  /** Connects as the superuser to the database `linepace`. */
  url: string;
}

const USER = 'postgres';
const DATABASE = 'linepace';
/** Recovery after a crash replays the log since the last checkpoint, which may take minutes on a slow disk. */
const READY_TIMEOUT_MS = 300_000;
/** Ended servers of the same cluster let go of their shared memory within moments. */
const ATTEMPTS = 5;

/**
 * Starts an embedded PostgreSQL server, on loopback only, and makes its cluster and database where they are missing.
 * A server that a killed launcher left behind on the same cluster is stopped first.
 * @throws with the last lines of the log where the server does not come up.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const account = postgresAccount();
  const programs = postgresPrograms(account);
  const folder = reachableFolder(options.dataDir, account);
  const cluster = join(folder, 'cluster');
  const password = createCluster(folder, cluster, programs, account);
  const url = `postgres://${USER}:${password}@127.0.0.1:${options.port}/`;

  for (let attempt = 1; ; attempt++) {
    await clearStaleLock(cluster);
    const server = await spawnServer(programs, cluster, account, options);
    options.onSpawn?.(server);
    try {
      await untilReady(server, `${url}postgres`, options.logFile);
      await createDatabase(`${url}postgres`);
      return { ...server, url: url + DATABASE };
    } catch (error) {
      await server.stop();
      // Exit code 0: somebody asked it to stop.
      if (attempt === ATTEMPTS || (await server.ended) === 'exit code 0') throw error;
    }
  }
}

/** @returns the superuser's password, kept beside the cluster. */
function createCluster(
  folder: string,
  cluster: string,
  programs: PostgresPrograms,
  account: Account | null,
): string {
  const passwordFile = join(folder, 'password');
  if (existsSync(cluster)) return readFileSync(passwordFile, 'utf8').trim();

  const password = randomBytes(18).toString('base64url');
  rmSync(passwordFile, { force: true });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  // Under another name until it is whole: a start that is interrupted here leaves no half cluster.
  const partial = `${cluster}.partial`;
  rmSync(partial, { recursive: true, force: true });
  mkdirSync(partial, { mode: 0o700 });
  if (account) for (const path of [passwordFile, partial]) chownSync(path, account.uid, account.gid);
  const { status, stderr, error } = spawnSync(
    programs.initdb,
    [
      `--pgdata=${partial}`,
      `--username=${USER}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      // The builtin provider sorts alike on every system, and needs no locale to be installed.
      '--locale=C',
      '--locale-provider=builtin',
      '--builtin-locale=C.UTF-8',
      '--no-sync',
    ],
    { ...account, cwd: '/', env: environment(), encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`initdb failed: ${stderr.trim()}`, { cause: error });
  renameSync(partial, cluster);
  return password;
}

/** Nothing of the caller's PG… variables and locale is to reach the server. */
const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], LC_ALL: 'C' });

async function spawnServer(
  programs: PostgresPrograms,
  cluster: string,
  account: Account | null,
  { port, logFile, durable = true }: PostgresOptions,
): Promise<RunningProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // The same on every machine, so that a query that leans on the session's zone by mistake fails nowhere or everywhere.
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  };
  const log = openLog(logFile);
  try {
    const child = spawn(
      programs.postgres,
      [
        '-D',
        cluster,
        '-p',
        String(port),
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      // Its own process group: Ctrl-C reaches only the launcher, which stops the database last.
      { ...account, cwd: '/', env: environment(), stdio: ['ignore', log, log], detached: true },
    );
    // SIGINT is PostgreSQL's fast shutdown: sessions are ended, data is written out.
    return await runningProcess(child, 'SIGINT');
  } finally {
    closeSync(log);
  }
}

/**
 * `postmaster.pid` names the server that holds a cluster. Where a killed launcher left one running, it is stopped. Where
 * the pid has gone to another program, PostgreSQL would refuse to start: the file goes. In all other cases it stays,
 * because by it PostgreSQL finds out about sessions of a killed server that have not ended yet.
 */
async function clearStaleLock(cluster: string): Promise<void> {
  const file = join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  const command = commandLine(pid);
  if (command === '') return;
  if (command.includes(`postgres -D ${cluster} `)) await stopProcess(pid, 'SIGINT');
  else rmSync(file);
}

async function untilReady(server: RunningProcess, url: string, logFile: string): Promise<void> {
  let ended: string | null = null;
  void server.ended.then((how) => (ended = how));
  const ready = await becomesTrue(async () => ended !== null || (await answers(url)), READY_TIMEOUT_MS);
  if (ended !== null || !ready) {
    const reason = ended ?? `not ready after ${READY_TIMEOUT_MS / 1000} s`;
    throw new Error(`PostgreSQL did not start (${reason}):\n${lastLines(logFile)}`);
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  // The end of a connection that is refused midway is told twice, by the promise and by this event.
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    // "invalid_password": another server has the port, or the password file is another cluster's. Waiting is no cure.
    if ((error as { code?: string }).code === '28P01') throw error;
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } finally {
    await client.end();
  }
}
