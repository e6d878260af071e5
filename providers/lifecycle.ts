/**
 * What a process says to, and hears from, the launcher that started it, over the IPC channel of `child_process`. Without
 * such a channel (a process manager or a container started it) only signals count.
 */

/** Tells the launcher that this process serves: it waits for this before it starts what depends on it. */
export function announceReady(): void {
  process.send?.({ type: 'ready' });
}

/**
 * Longer than the 10 s that a worker gives its activities. What then still waits, for instance for a database that does
 * not answer, is cut off as by a crash, which loses nothing.
 */
const STOP_TIMEOUT_MS = 12_000;

/**
 * Ends this process, by way of `stop`, on SIGTERM or SIGINT and when the launcher is gone: a launcher that was
 * killed outright cannot tell its children to stop, but its end of the channel closes.
 * @param stop called once, however many of these happen. If it rejects or takes too long, the exit code is 1.
 * @param timeoutMs milliseconds that `stop` may take.
 */
export function exitWithParent(stop: () => Promise<void>, timeoutMs = STOP_TIMEOUT_MS): void {
  let stopping = false;
  const exit = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
    setTimeout(() => {
      console.error(`not stopped within ${timeoutMs / 1000} s: ending at once`);
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
  // The launcher may have died before this listener was there.
  if (process.send && !process.connected) void exit();
}
