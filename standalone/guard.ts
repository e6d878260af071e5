import { join } from 'node:path';
import { livePid } from './pid-file.ts';
import { pidFile, stopLeftovers } from './parts.ts';
import { endSessions } from './postgres-sessions.ts';
import { becomesTrue } from './wait.ts';

/*
 * Waits beside the launcher, and stops what it leaves running if it is killed: PostgreSQL and Temporal do not notice by
 * themselves. A launcher that ends in order ends this process, too. Usage: node standalone/guard.ts DATA_DIR, with an IPC
 * channel.
 */
const [dataDir] = process.argv.slice(2);
if (dataDir === undefined) throw new Error('usage: node standalone/guard.ts DATA_DIR');
/** A killed launcher closes the channel a little before it is gone; longer before on a busy machine. */
const LAUNCHER_END_MS = 30_000;
const launcher = livePid(pidFile(dataDir, 'launcher'));
// Kept alive by the channel.
process.on('message', () => {});
process.once('disconnect', () => void cleanUp(dataDir));
if (!process.connected) void cleanUp(dataDir);

async function cleanUp(folder: string): Promise<void> {
  const running = (): number | null => livePid(pidFile(folder, 'launcher'));
  await becomesTrue(() => running() !== launcher, LAUNCHER_END_MS);
  // A later launcher stops the leftovers itself.
  if (running() !== null) return;
  await stopLeftovers(folder, () => {});
  await endSessions(join(folder, 'postgres', 'cluster'), () => {});
}
