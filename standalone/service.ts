import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { writePidFile } from './pid-file.ts';
import type { RunningProcess } from './running-process.ts';

/** A process that is restarted until it is stopped. */
export interface Service {
  /** Settles with the first start. */
  started: Promise<void>;
  /** @param timeoutMs milliseconds until the process is killed. */
  stop(timeoutMs: number): Promise<void>;
  /** Sends SIGKILL without waiting. */
  kill(): void;
}

export interface ServiceOptions {
  name: string;
  /** Starts the process, calls `onSpawn`, and resolves when it is ready. Called again after each exit. */
  start: (onSpawn: (process: RunningProcess) => void) => Promise<unknown>;
  /** Records the process, so that it can be stopped if the launcher is killed. */
  pidFile: string;
  /** Named in the line about an unexpected exit. */
  logFile: string;
  /** Prints a line for the operator. */
  log: (line: string) => void;
}

const FIRST_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 10_000;
/** The backoff is reset after a process has run this long. */
const STABLE_MS = 30_000;

/**
 * Starts a process and, once it has started, keeps it running: after an unexpected exit it is restarted with backoff.
 */
export function keepRunning({ name, start, pidFile, logFile, log }: ServiceOptions): Service {
  const stopping = new AbortController();
  let current: RunningProcess | undefined;

  const startOnce = async (): Promise<void> => {
    await start((spawned) => {
      current = spawned;
      writePidFile(pidFile, spawned.pid);
      // `stop` was called during the start, or between two attempts.
      if (stopping.signal.aborted) {
        spawned.kill();
        throw new Error(`${name} is stopping`);
      }
    });
  };

  const restartWhenItEnds = async (): Promise<void> => {
    let backoff = FIRST_BACKOFF_MS;
    let startedAt = performance.now();
    for (;;) {
      const how = await current?.ended;
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > STABLE_MS) backoff = FIRST_BACKOFF_MS;
      log(`${name} exited (${how}); restarting in ${backoff / 1000} s (log: ${logFile})`);
      await delay(backoff, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      backoff = Math.min(backoff * 2, MAX_BACKOFF_MS);
      startedAt = performance.now();
      try {
        await startOnce();
        log(`${name} restarted`);
      } catch (error) {
        if (!stopping.signal.aborted) log(error instanceof Error ? error.message : String(error));
      }
    }
  };

  const started = startOnce();
  const restarts = started.then(restartWhenItEnds, () => {});
  return {
    started,
    async stop(timeoutMs) {
      stopping.abort();
      await current?.stop(timeoutMs);
      await restarts;
      rmSync(pidFile, { force: true });
    },
    kill() {
      stopping.abort();
      current?.kill();
    },
  };
}
