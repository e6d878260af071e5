import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../providers/free-port.ts';
import { openLog } from '../../../standalone/log-file.ts';
import { until } from '../../bench/support/waiting.ts';

export type Kind = 'api' | 'worker';

/** A place for a process: it keeps its name and its ports over restarts, as the scraper and the balancer know them. */
export interface QueuePosition {
  readonly name: string;
  readonly kind: Kind;
  /** The port of an API process. */
  readonly port: number;
  readonly metricsPort: number;
  readonly isRunning: boolean;
  /** Starts a process and waits until `/readyz` says that it is ready. */
  start(release: Release): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM. @returns how many seconds the process took to exit. */
  stop(): Promise<number>;
}

/** What a process runs. */
export interface Release {
  /** The folder of the product's files. */
  root: string;
  env: Readonly<Record<string, string>>;
}

const ENTRIES = { api: 'api/server.ts', worker: 'workers/worker.ts' } as const;
const NETWORK = fileURLToPath(new URL('arrive-at-loopback.ts', import.meta.url));
/** Compiled for the first time, on a machine that other work shares. */
const READY_MS = 300_000;

/** @param folder of the log. */
export async function createPlace(name: string, kind: Kind, folder: string): Promise<QueuePosition> {
  const [port, metricsPort] = [await freePort(), await freePort()];
  let child: ChildProcess | null = null;
  const isRunning = (): boolean => child !== null && child.exitCode === null && child.signalCode === null;
  const end = async (signal: NodeJS.Signals): Promise<number> => {
    if (child === null || !isRunning()) return 0;
    const started = performance.now();
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return (performance.now() - started) / 1000;
  };
  return {
    name,
    kind,
    port,
    metricsPort,
    get isRunning() {
      return isRunning();
    },
    async start({ root, env }) {
      const log = openLog(join(folder, `${name}.log`));
      child = spawn(process.execPath, ['--import', NETWORK, ENTRIES[kind]], {
        cwd: root,
        env: {
          PATH: process.env['PATH'] ?? '',
          ...env,
          HOST: '127.0.0.1',
          PORT: String(port),
          METRICS_PORT: String(metricsPort),
        },
        // The channel ends the process with this one.
        stdio: ['ignore', log, log, 'ipc'],
      });
      closeSync(log);
      const url = `http://127.0.0.1:${kind === 'api' ? port : metricsPort}/readyz`;
      await until(async () => {
        if (!isRunning()) throw new Error(`${name} has exited; its log is in ${folder}`);
        return (await fetch(url)).ok;
      }, READY_MS);
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
  };
}
