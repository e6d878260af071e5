import { existsSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { commandLine, sendSignal } from './pid-file.ts';
import { becomesTrue } from './wait.ts';

/** A session ends by itself when it notices that its server is gone, which a long query or a stopped process delays. */
const NOTICE_MS = 3000;

/**
 * Ends what is left of a server that was killed: waits for its sessions, then kills them. A new server does not start
 * before, because it would write the same files.
 * @param cluster its folder. No server may run on it.
 */
export async function endSessions(cluster: string, note: (line: string) => void): Promise<void> {
  const ended = (): boolean => sessions(cluster).length === 0;
  if (ended()) return;
  note('Waiting for the sessions of the PostgreSQL before to end …');
  if (await becomesTrue(ended, NOTICE_MS)) return;
  killSessions(cluster);
  await becomesTrue(ended, NOTICE_MS);
}

/** Kills what is left of a server that has been killed. */
export function killSessions(cluster: string): void {
  for (const pid of sessions(cluster)) sendSignal(pid, 'SIGKILL');
}

/**
 * The processes of PostgreSQL whose working folder is the cluster. Nothing else names them once their server has ended.
 * @returns none on systems without /proc, where PostgreSQL's own check of its shared memory has to do.
 */
export function sessions(cluster: string): number[] {
  if (process.platform !== 'linux' || !existsSync(cluster)) return [];
  const folder = realpathSync(cluster);
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && workingFolder(pid) === folder && commandLine(pid).includes('postgres'));
}

/** @returns null for a process that has ended, and for one of another user. */
function workingFolder(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}
