import { spawn } from 'node:child_process';
import { closeSync } from 'node:fs';
import { Connection } from '@temporalio/client';
import { lastLines, openLog } from './log-file.ts';
import { type RunningProcess, runningProcess } from './running-process.ts';
import { becomesTrue } from './wait.ts';

export interface TemporalOptions {
  /** The Temporal CLI, see `findTemporalCli`. */
  program: string;
  port: number;
  /** Port of the Web UI; null: no Web UI. */
  uiPort: number | null;
  /** Port of its Prometheus metrics. */
  metricsPort?: number;
  /** SQLite file with all state; null: in memory, which is several times faster. */
  dbFile: string | null;
  /** Settings of its dynamic configuration, as `name=value`. */
  settings?: readonly string[];
  /** The server's output is appended to this file. */
  logFile: string;
  /** Called with the server's process before it is ready. */
  onSpawn?: (process: RunningProcess) => void;
}

export interface RunningTemporal extends RunningProcess {
  /** host:port */
  address: string;
}

/** The custom search attributes of our workflows. */
const SEARCH_ATTRIBUTES = ['WorkspaceId', 'LineId', 'State'];
/** Priorities and fairness of tasks, which servers before 1.31 do not have by default. As in docker-compose.yml. */
const DYNAMIC_CONFIG = ['matching.useNewMatcher=true', 'matching.enableFairness=true'];
/**
 * Several partitions of a task queue pay off only across several servers: one process forwards tasks between its own. Not
 * for a server with a file, whose other partitions may have tasks that nobody would poll.
 */
const ONE_PARTITION = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'];
const NAMESPACE = 'default';
/** On a busy machine. A process that ends is noticed at once. */
const READY_TIMEOUT_MS = 180_000;

/**
 * Starts a Temporal development server on loopback, and waits until its namespace is available.
 * @throws with the last lines of the log if it does not start.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  const log = openLog(options.logFile);
  let server: RunningProcess;
  try {
    // Its own process group: Ctrl-C reaches only the launcher, which stops things in order.
    const child = spawn(options.program, serverArguments(options), {
      stdio: ['ignore', log, log],
      detached: true,
    });
    server = await runningProcess(child, 'SIGTERM');
  } finally {
    closeSync(log);
  }

  options.onSpawn?.(server);

  const address = `127.0.0.1:${options.port}`;
  let ended: string | null = null;
  void server.ended.then((how) => (ended = how));
  const ready = await becomesTrue(async () => ended !== null || (await isReady(address)), READY_TIMEOUT_MS);
  if (ended !== null || !ready) {
    await server.stop();
    const reason = ended ?? `not ready after ${READY_TIMEOUT_MS / 1000} s`;
    throw new Error(`Temporal did not start (${reason}):\n${lastLines(options.logFile)}`);
  }
  return { ...server, address };
}

function serverArguments({ port, uiPort, metricsPort, dbFile, settings = [] }: TemporalOptions): string[] {
  const args = ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--log-level', 'error'];
  // The user's CLI profile may refer to other servers.
  args.push('--disable-config-file', '--disable-config-env');
  for (const setting of [...DYNAMIC_CONFIG, ...(dbFile === null ? ONE_PARTITION : []), ...settings])
    args.push('--dynamic-config-value', setting);
  for (const name of SEARCH_ATTRIBUTES) args.push('--search-attribute', `${name}=Keyword`);
  if (uiPort === null) args.push('--headless');
  else args.push('--ui-port', String(uiPort));
  if (metricsPort !== undefined) args.push('--metrics-port', String(metricsPort));
  if (dbFile !== null) {
    args.push('--db-filename', dbFile);
    // A write-ahead log is three times as fast and still survives a crash of the process.
    args.push('--sqlite-pragma', 'journal_mode=wal', '--sqlite-pragma', 'synchronous=normal');
  }
  return args;
}

async function isReady(address: string): Promise<boolean> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: 2000 });
    await connection.workflowService.describeNamespace({ namespace: NAMESPACE });
    return true;
  } catch {
    return false;
  } finally {
    await connection?.close();
  }
}
