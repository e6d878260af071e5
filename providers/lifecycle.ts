import { flushCompileCache } from 'node:module';

/**
 * The protocol between a process and the launcher that started it, over the IPC channel of `child_process`. A process
 * started by anything else has no such channel and reacts to signals only.
 */

/** Reports that this process is ready. The launcher waits for it before it starts dependent processes. */
export function announceReady(): void {
  // Otherwise Node writes it when the process ends, which a killed process never does.
  flushCompileCache();
  process.send?.({ type: 'ready' });
}

/**
 * Longer than the 10 s that a worker gives its activities. After it, the process exits as in a crash, which loses
 * nothing.
 */
const STOP_TIMEOUT_MS = 12_000;

/**
 * Calls `stop` and exits on SIGTERM, on SIGINT, and when the launcher dies, which closes the channel.
 * @param stop called once. If it rejects or times out, the exit code is 1.
 */
export function exitWithParent(stop: () => Promise<void>, timeoutMs = STOP_TIMEOUT_MS): void {
  let stopping = false;
  const exit = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => {
      console.error(`not stopped within ${timeoutMs / 1000} s: exiting`);
      process.exit(1);
    }, timeoutMs);
    try {
      await stop();
      process.exit(0);
    } catch (error) {
      console.error(error);
      process.exit(1);
    }
  };
  for (const event of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(event, () => void exit());
  // The launcher may have died before the listener was added.
  if (process.send && !process.connected) void exit();
}
