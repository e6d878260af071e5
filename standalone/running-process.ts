import type { ChildProcess } from 'node:child_process';

/** A process started by the launcher or the tests. */
export interface RunningProcess {
  pid: number;
  /** Resolves with how it ended, for example `exit code 1` or `signal SIGKILL`. Never rejects. */
  ended: Promise<string>;
  /**
   * Asks it to exit, and kills it after a timeout.
   * @param timeoutMs default: 10 s.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Sends SIGKILL without waiting. */
  kill(): void;
}

const STOP_TIMEOUT_MS = 10_000;

/**
 * Wraps a spawned child process.
 * @param signal sent by `stop`.
 * @throws if it could not be spawned.
 */
export async function runningProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<RunningProcess> {
  const ended = new Promise<string>((resolve) => {
    child.once('exit', (code, by) => resolve(by === null ? `exit code ${code}` : `signal ${by}`));
  });
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
  // Later errors are signals and messages that did not reach it; `ended` reports its exit.
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
