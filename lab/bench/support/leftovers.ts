import { type ChildProcess, fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../../standalone/postgres-account.ts';

/** What a benchmark tells the process that cleans up after it (`leftovers-guard.ts`). */
export type LeftoverNote =
  | { kind: 'process'; pid: number; signal: NodeJS.Signals }
  | { kind: 'folder'; folder: string }
  | { kind: 'kept'; folder: string };

let guard: ChildProcess | undefined;

/** The guard has its own process group, so that Ctrl-C does not reach it, and outlives a benchmark that is killed. */
function note(message: LeftoverNote): void {
  if (!guard) {
    guard = fork(new URL('leftovers-guard.ts', import.meta.url), {
      detached: true,
      execArgv: [],
      stdio: 'ignore',
    });
    guard.on('error', () => {});
    guard.unref();
    guard.channel?.unref();
  }
  guard.send(message);
}

/** Has a process stopped when this one has ended, however it ends: servers do not end with it. */
export function stopAtEnd({ pid }: { pid: number }, signal: NodeJS.Signals): void {
  note({ kind: 'process', pid, signal });
}

/** Creates a folder that is removed when this process has ended, however it ends. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  note({ kind: 'folder', folder });
  return folder;
}

/** Removes a folder, and the data of PostgreSQL in its `postgres`, to which that may be a link. */
export function removeTemporaryFolder(folder: string): void {
  removeFolder(join(folder, 'postgres'));
  rmSync(folder, { recursive: true, force: true });
}

/** Keeps a temporary folder, for its logs. */
export const keepFolder = (folder: string): void => note({ kind: 'kept', folder });
