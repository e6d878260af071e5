import { join } from 'node:path';
import { stopByPidFile } from './pid-file.ts';

/** The parts that `npm start` runs, in start order. */
export const PARTS = {
  postgres: { title: 'PostgreSQL', signal: 'SIGINT', stopTimeoutMs: 8000 },
  temporal: { title: 'Temporal', signal: 'SIGTERM', stopTimeoutMs: 4000 },
  simulator: { title: 'Simulator', signal: 'SIGTERM', stopTimeoutMs: 3000 },
  // Slightly longer than their own shutdown timeout (see providers/lifecycle.ts).
  api: { title: 'API', signal: 'SIGTERM', stopTimeoutMs: 13_000 },
  worker: { title: 'Worker', signal: 'SIGTERM', stopTimeoutMs: 13_000 },
} as const satisfies Record<string, { title: string; signal: NodeJS.Signals; stopTimeoutMs: number }>;
export type Part = keyof typeof PARTS;

/** Parts in the same row stop together. Dependents stop before what they depend on. */
export const STOP_ORDER: readonly (readonly Part[])[] = [
  ['worker', 'api'],
  ['simulator'],
  ['temporal'],
  ['postgres'],
];

/** The upper limit for stopping all parts: half a minute. */
export const STOP_TIMEOUT_MS =
  2000 +
  STOP_ORDER.map((parts) => Math.max(...parts.map((part) => PARTS[part].stopTimeoutMs))).reduce(
    (sum, timeout) => sum + timeout,
  );

export const pidFile = (dataDir: string, name: Part | 'launcher' | 'guard' | 'stopping'): string =>
  join(dataDir, 'run', `${name}.pid`);

/**
 * Stops the parts that a killed launcher left running.
 * @param note called for each part that was stopped.
 */
export async function stopLeftovers(dataDir: string, note: (line: string) => void): Promise<void> {
  for (const parts of STOP_ORDER) {
    await Promise.all(
      parts.map(async (part) => {
        const { title, signal, stopTimeoutMs } = PARTS[part];
        const pid = await stopByPidFile(pidFile(dataDir, part), signal, stopTimeoutMs);
        if (pid !== null) note(`Stopped ${title} of an earlier start (process ${pid})`);
      }),
    );
  }
}
