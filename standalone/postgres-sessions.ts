import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { commandLine, sendSignal } from './pid-file.ts';
import { becomesTrue } from './wait.ts';

/** A session exits when it notices that its server has exited. A long query or a suspended process delays that. */
const EXIT_MS = 3000;

/**
 * Waits for the sessions of a killed server to exit, then kills them. A new server must not start earlier, because both
 * would write to the same files.
 * @param cluster its folder. No server may be running on it.
 */
export async function endSessions(cluster: string, note: (line: string) => void): Promise<void> {
  const ended = (): boolean => sessions(cluster).length === 0;
  if (ended()) return;
  note('Waiting for sessions of the previous PostgreSQL server to exit …');
  if (await becomesTrue(ended, EXIT_MS)) return;
  killSessions(cluster);
  await becomesTrue(ended, EXIT_MS);
}

/** Kills the sessions of a server that was killed. */
export function killSessions(cluster: string): void {
  for (const pid of sessions(cluster)) sendSignal(pid, 'SIGKILL');
}

/**
 * The PostgreSQL processes whose working folder is the cluster. Nothing else identifies them after their server has exited.
 * @returns none on systems without /proc, where only PostgreSQL's own check of its shared memory applies.
 */
export function sessions(cluster: string): number[] {
  if (process.platform !== 'linux' || !existsSync(cluster)) return [];
  const folder = realpathSync(cluster);
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && workingFolder(pid) === folder && commandLine(pid).includes('postgres'));
}

/** @returns null if the process has exited or belongs to another user. */
function workingFolder(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
