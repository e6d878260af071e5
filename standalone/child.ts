/**
 * What a process of ours says to, and hears from, the launcher that started it, over the IPC channel of
 * `child_process`. Without such a channel (a process manager or a container started it) only signals count.
 */

/** Tells the launcher that this process serves: it waits for this before it starts what depends on it. */
export function announceReady(): void {
  process.send?.({ type: 'ready' });
}

/**
 * Ends this process, by way of `stop`, on SIGTERM or SIGINT and when the launcher is gone: a launcher that was
 * killed outright cannot tell its children to stop, but its end of the channel closes.
 * @param stop called once, however many of these happen. Where it rejects, the exit code is 1.
 */
export function exitWithParent(stop: () => Promise<void>): void {
  let stopping = false;
  const exit = async (): Promise<void> => {
    if (stopping) return;
    stopping = true;
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
