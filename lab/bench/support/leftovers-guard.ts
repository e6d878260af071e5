import { join } from 'node:path';
import { processIdentity, stopProcess } from '../../../standalone/pid-file.ts';
import { endSessions } from '../../../standalone/postgres-sessions.ts';
import { type LeftoverNote, removeTemporaryFolder } from './leftovers.ts';

/*
 * Runs beside a benchmark. When that has ended, even by SIGKILL, it stops the servers that still run and removes the folders.
 */
/** The product stops its own servers within half a minute. */
const STOP_MS = 40_000;
const processes = new Map<number, { signal: NodeJS.Signals; identity: string | null }>();
const folders = new Set<string>();

process.on('message', (note: LeftoverNote) => {
  if (note.kind === 'process')
    processes.set(note.pid, { signal: note.signal, identity: processIdentity(note.pid) });
  else if (note.kind === 'folder') folders.add(note.folder);
  else folders.delete(note.folder);
});
process.once('disconnect', () => void cleanUp());

async function cleanUp(): Promise<void> {
  await Promise.all(
    [...processes].map(async ([pid, { signal, identity }]) => {
      if (identity !== null && processIdentity(pid) === identity) await stopProcess(pid, signal, STOP_MS);
    }),
  );
  for (const folder of folders) {
    await endSessions(join(folder, 'postgres', 'cluster'), () => {});
    removeTemporaryFolder(folder);
  }
}
