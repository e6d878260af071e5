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
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { lastLines, openLog } from './log-file.ts';
import { commandLine, isZombie, stopProcess } from './pid-file.ts';
import {
  type Account,
  postgresAccount,
  type PostgresPrograms,
  postgresPrograms,
  reachableFolder,
} from './postgres-account.ts';
import { endSessions, killSessions } from './postgres-sessions.ts';
import { type RunningProcess, runningProcess } from './running-process.ts';
import { becomesTrue } from './wait.ts';

export interface PostgresOptions {
  /** Contains the cluster and its password. Created on the first start. */
  dataDir: string;
  port: number;
  /** The server's output is appended to this file. */
  logFile: string;
  /** Default true. If false, a crash of the machine can lose or corrupt the data. */
  durable?: boolean;
  /** More settings of the server. */
  settings?: Readonly<Record<string, string>>;
  /** Called with the server's process before it is ready. */
  onSpawn?: (process: RunningProcess) => void;
  /** Prints a line for the operator: leftovers of an earlier start, and retries. */
  note?: (line: string) => void;
}

export interface RunningPostgres extends RunningProcess {
  /** Connects as the superuser to the database `linepace`. */
  url: string;
}

const USER = 'postgres';
const DATABASE = 'linepace';
/** Crash recovery replays the log since the last checkpoint, which can take minutes on a slow disk. */
const READY_TIMEOUT_MS = 300_000;
const ATTEMPTS = 5;
const RETRY_MS = 1000;
const STOP_LEFTOVER_MS = 10_000;

/**
 * Starts an embedded PostgreSQL server on loopback, and creates its cluster and database if they are missing. First stops
 * a server that a killed launcher left running on the same cluster.
 * @throws with the last lines of the log if the server does not start.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { note = () => {} } = options;
  const account = postgresAccount();
  const programs = postgresPrograms(account);
  const folder = reachableFolder(options.dataDir, account);
  const cluster = join(folder, 'cluster');
  const password = createCluster(folder, cluster, programs, account);
  const url = `postgres://${USER}:${password}@127.0.0.1:${options.port}/`;

  for (let attempt = 1; ; attempt++) {
    const previous = await endPreviousServer(cluster, note);
    const server = await spawnServer(programs, cluster, account, previous, options);
    options.onSpawn?.(server);
    try {
      await untilReady(server, `${url}postgres`, options.logFile);
      await createDatabase(`${url}postgres`);
      return { ...server, url: url + DATABASE };
    } catch (error) {
      await server.stop();
      // Exit code 0: it was asked to stop.
      if (attempt === ATTEMPTS || (await server.ended) === 'exit code 0') throw error;
      note(`PostgreSQL did not start (${await server.ended}); retrying`);
      await delay(RETRY_MS);
    }
  }
}

/** @returns the superuser's password, which is stored beside the cluster. */
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
  // Renamed when complete, so that an interrupted start leaves no partial cluster.
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
      // The builtin provider sorts the same on every system and requires no installed locale.
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

/** Without the caller's PG… variables and locale. */
const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], LC_ALL: 'C' });

async function spawnServer(
  programs: PostgresPrograms,
  cluster: string,
  account: Account | null,
  previous: number | null,
  { port, logFile, durable = true, settings: others = {} }: PostgresOptions,
): Promise<RunningProcess> {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    // The same on every machine, so that a query that depends on the session's time zone behaves the same everywhere.
    log_timezone: 'UTC',
    timezone: 'UTC',
    // Larger than the defaults, which are for the smallest machines: after each checkpoint, the first change of a page
    // writes the whole page to the log.
    shared_buffers: '256MB',
    checkpoint_timeout: '15min',
    max_wal_size: '2GB',
    wal_compression: 'on',
    ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
    ...others,
  };
  // With this variable PostgreSQL ignores a `postmaster.pid` that names the process, as under `pg_ctl`. It still refuses to
  // start while sessions of the previous server use its shared memory.
  const env = previous === null ? environment() : { ...environment(), PG_GRANDPARENT_PID: String(previous) };
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
      { ...account, cwd: '/', env, stdio: ['ignore', log, log], detached: true },
    );
    // SIGINT is PostgreSQL's fast shutdown: it terminates sessions and flushes data.
    const server = await runningProcess(child, 'SIGINT');
    return {
      ...server,
      async stop(timeoutMs) {
        await server.stop(timeoutMs);
        killSessions(cluster);
      },
      kill() {
        server.kill();
        killSessions(cluster);
      },
    };
  } finally {
    closeSync(log);
  }
}

/**
 * Stops a server that a killed launcher left running on the cluster, and ends the sessions of a server that was killed.
 * @returns the pid in `postmaster.pid`, or null without that file. No server of this cluster has that pid any more, but a
 *   zombie or another program can have it, and PostgreSQL takes either for a live server.
 */
async function endPreviousServer(cluster: string, note: (line: string) => void): Promise<number | null> {
  const file = join(cluster, 'postmaster.pid');
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, 'utf8').split('\n')[0]);
  if (!(pid > 0)) {
    // The file is incomplete: the server was killed while writing it.
    rmSync(file);
    return null;
  }
  if (commandLine(pid).includes(`postgres -D ${cluster} `)) {
    note(`Stopping PostgreSQL of an earlier start (process ${pid}) …`);
    await stopProcess(pid, 'SIGINT', STOP_LEFTOVER_MS);
  } else {
    const state = isZombie(pid) ? 'is a zombie: it has exited but was not reaped' : 'has exited';
    note(`PostgreSQL of an earlier start (process ${pid}) was killed and ${state}`);
  }
  await endSessions(cluster, note);
  return pid;
}

async function untilReady(server: RunningProcess, url: string, logFile: string): Promise<void> {
  let ended: string | null = null;
  void server.ended.then((how) => (ended = how));
  const ready = await becomesTrue(
    async () => ended !== null || (await acceptsConnections(url)),
    READY_TIMEOUT_MS,
  );
  if (ended !== null || !ready) {
    const reason = ended ?? `not ready after ${READY_TIMEOUT_MS / 1000} s`;
    throw new Error(`PostgreSQL did not start (${reason}):\n${lastLines(logFile)}`);
  }
}

async function acceptsConnections(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  // An interrupted connection is reported twice, by the promise and by this event.
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    // "invalid_password": another server uses the port, or the password file belongs to another cluster.
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
