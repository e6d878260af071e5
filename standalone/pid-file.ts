import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { becomesTrue } from './wait.ts';

/**
 * Distinguishes a process from a later one with the same pid: the boot id and the start time.
 * @returns null if no process has that pid, or only a zombie: a process that has exited but was not reaped. In a container
 *   without an init process, zombies stay forever.
 */
export function processIdentity(pid: number): string | null {
  if (isZombie(pid)) return null;
  return process.platform === 'linux' ? linuxIdentity(pid) : processStatus(pid, 'lstart', 'command') || null;
}

function linuxIdentity(pid: number): string | null {
  try {
    const startTime = procStat(pid)[19];
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${startTime}`;
  } catch {
    return null;
  }
}

/** Whether a process is a zombie. */
export function isZombie(pid: number): boolean {
  if (process.platform !== 'linux') return processStatus(pid, 'stat').startsWith('Z');
  try {
    // The first thread of a killed process may be gone while others still hold its files and ports.
    return ['Z', 'X'].includes(procStat(pid)[0] ?? '') && readdirSync(`/proc/${pid}/task`).length === 1;
  } catch {
    return false;
  }
}

/** The fields of /proc/PID/stat after the program's name, which is in parentheses and can contain any character. */
function procStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function processStatus(pid: number, ...columns: string[]): string {
  const format = columns.flatMap((column) => ['-o', `${column}=`]);
  return spawnSync('ps', [...format, '-p', String(pid)], { encoding: 'utf8' }).stdout.trim();
}

/** The command line of a process, arguments separated by spaces; empty if no process has that pid, or only a zombie. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') return processStatus(pid, 'command');
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

/** Records a process, so that a later start can stop exactly that process. */
export function writePidFile(file: string, pid: number): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ pid, identity: processIdentity(pid) }));
}

/** The pid in the file if that process is still running, else null. */
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
 * Stops the process of a pid file if it is still that process, and removes the file.
 * @param signal sent first; SIGKILL follows after `timeoutMs`.
 * @returns the pid that was stopped, or null.
 */
export async function stopByPidFile(
  file: string,
  signal: NodeJS.Signals,
  timeoutMs = 10_000,
): Promise<number | null> {
  const pid = livePid(file);
  if (pid !== null) await stopProcess(pid, signal, timeoutMs);
  rmSync(file, { force: true });
  return pid;
}

/** Signals a process, waits for it to exit, and kills it after `timeoutMs`. */
export async function stopProcess(pid: number, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  const identity = processIdentity(pid);
  const gone = (): boolean => processIdentity(pid) !== identity;
  if (identity === null) return;
  sendSignal(pid, signal);
  if (await becomesTrue(gone, timeoutMs)) return;
  sendSignal(pid, 'SIGKILL');
  await becomesTrue(gone, 5000);
}

/** Signals a process; does nothing if it has exited. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
