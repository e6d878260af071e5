import type { ChildProcess } from 'node:child_process';

/** A process that the launcher or the test bed started. */
export interface RunningProcess {
  pid: number;
  /** Resolves with how it ended, for example `exit code 1` or `signal SIGKILL`. Never rejects. */
  ended: Promise<string>;
  /**
   * Asks it to exit, and kills it after a timeout.
   * @param timeoutMs milliseconds until SIGKILL, 10 s if not given.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Kills it at once, without waiting. */
  kill(): void;
}

const STOP_TIMEOUT_MS = 10_000;

/**
 * Wraps a child that has been spawned.
 * @param signal what asks it to end.
 * @throws when it could not be spawned at all.
 */
export async function runningProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<RunningProcess> {
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, by) => resolve(by === null ? `exit code ${code}` : `signal ${by}`));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // An error after that is a signal or a message that no longer reaches it; its end is told by `ended`.
  child.on('error', () => {});
  return {
    pid: child.pid as number,
    ended,
    async stop(timeoutMs = STOP_TIMEOUT_MS) {
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
      await ended;
      clearTimeout(timer);
    },
    kill() {
      child.kill('SIGKILL');
    },
  };
}
