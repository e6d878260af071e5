import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { becomesTrue } from './wait.ts';

/**
 * What tells a process from a later one that was given the same pid: the boot and the moment it began.
 * @returns null where no process has that pid.
 */
export function processIdentity(pid: number): string | null {
  return process.platform === 'linux' ? linuxIdentity(pid) : portableIdentity(pid);
}

function linuxIdentity(pid: number): string | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return null;
  }
  // Counted from behind the name, which stands in parentheses and may hold anything: state first, start time 20th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const ended = fields[0] === 'Z' || fields[0] === 'X';
  return ended ? null : `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${fields[19]}`;
}

function portableIdentity(pid: number): string | null {
  const { stdout } = spawnSync('ps', ['-o', 'lstart=', '-o', 'command=', '-p', String(pid)], {
    encoding: 'utf8',
  });
  return stdout.trim() || null;
}

/** The command line of a process, arguments separated by spaces; empty where no process has that pid. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') {
    return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** Writes down who runs, so that a later start can stop exactly this process and no other. */
export function writePidFile(file: string, pid: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ pid, identity: processIdentity(pid) }));
}

/** The pid in the file while that very process is alive, else null. */
export function livePid(file: string): number | null {
  try {
    const { pid, identity } = JSON.parse(readFileSync(file, 'utf8')) as {
      pid: number;
      identity: string | null;
    };
    return identity !== null && processIdentity(pid) === identity ? pid : null;
  } catch {
    return null;
  }
}

/**
 * Stops the process of a pid file where it is still that process, and removes the file.
 * @param signal the polite one; after 15 s SIGKILL follows.
 * @returns the pid that was stopped, or null.
 */
export async function stopByPidFile(file: string, signal: NodeJS.Signals): Promise<number | null> {
  const pid = livePid(file);
  if (pid !== null) await stopProcess(pid, signal);
  rmSync(file, { force: true });
  return pid;
}

/** Signals a process and waits for its end; what has not ended 15 s later is killed. */
export async function stopProcess(pid: number, signal: NodeJS.Signals): Promise<void> {
  const identity = processIdentity(pid);
  const gone = (): boolean => processIdentity(pid) !== identity;
  if (identity === null) return;
  send(pid, signal);
  if (await becomesTrue(gone, 15_000)) return;
  send(pid, 'SIGKILL');
  await becomesTrue(gone, 5000);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It ended in between.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
