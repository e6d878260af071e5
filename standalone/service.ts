import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { writePidFile } from './pid-file.ts';
import type { RunningProcess } from './running-process.ts';

/** A process that is restarted until it is stopped. */
export interface Service {
  /** Settles with the first start; rejects where it fails. */
  started: Promise<void>;
  /** @param timeoutMs milliseconds until the process is killed. */
  stop(timeoutMs: number): Promise<void>;
  /** Kills it at once, without waiting. */
  kill(): void;
}

export interface ServiceOptions {
  name: string;
  /** Starts the process, tells of it at once, and resolves when it serves. Called again whenever it has died. */
  start: (onSpawn: (process: RunningProcess) => void) => Promise<unknown>;
  /** Says who runs, for the case that the launcher is killed. */
  pidFile: string;
  /** Named when the process dies, for the operator to look. */
  logFile: string;
  /** Prints a line for the operator. */
  log: (line: string) => void;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 10_000;
/** The backoff is reset after a process has run this long. */
const STABLE_MS = 30_000;

/**
 * Starts a process and, once it has started, keeps it running: after an end that nobody asked for it is started again,
 * at growing distances.
 */
export function keepRunning({ name, start, pidFile, logFile, log }: ServiceOptions): Service {
  const stopping = new AbortController();
  let current: RunningProcess | undefined;

  const startOnce = async (): Promise<void> => {
    await start((spawned) => {
      current = spawned;
      writePidFile(pidFile, spawned.pid);
      // Told to stop while it was being started, or between two attempts to start it.
      if (stopping.signal.aborted) {
        spawned.kill();
        throw new Error(`${name} was told to stop`);
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
      log(`${name} has ended (${how}); starting it again in ${backoff / 1000} s (its log: ${logFile})`);
      await delay(backoff, undefined, { signal: stopping.signal }).catch(() => {});
      if (stopping.signal.aborted) return;
      backoff = Math.min(backoff * 2, LONGEST_BACKOFF_MS);
      startedAt = performance.now();
      try {
        await startOnce();
        log(`${name} runs again`);
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
