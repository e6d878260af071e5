import { join } from 'node:path';
import { livePid } from './pid-file.ts';
import { pidFile, stopLeftovers } from './parts.ts';
import { endSessions } from './postgres-sessions.ts';
import { becomesTrue } from './wait.ts';

/*
 * Runs beside the launcher. If the launcher is killed, stops the processes that it leaves running, because PostgreSQL and
 * Temporal do not exit with their parent. A launcher that shuts down regularly also stops this process.
 *
 * Usage: node standalone/guard.ts DATA_DIR, with an IPC channel.
 */
const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: node standalone/guard.ts DATA_DIR');
/** The channel of a killed launcher closes before its process has ended, much earlier on a busy machine. */
const LAUNCHER_EXIT_MS = 30_000;
const launcher = livePid(pidFile(dataDir, 'launcher'));
// A listener keeps the channel, and so this process, alive.
process.on('message', () => {});
process.once('disconnect', () => void cleanUp(dataDir));
if (!process.connected) void cleanUp(dataDir);

async function cleanUp(folder: string): Promise<void> {
  const running = (): number | null => livePid(pidFile(folder, 'launcher'));
  await becomesTrue(() => running() !== launcher, LAUNCHER_EXIT_MS);
  // A later launcher stops the leftovers itself.
  if (running() !== null) return;
  await stopLeftovers(folder, () => {});
  await endSessions(join(folder, 'postgres', 'cluster'), () => {});
}
