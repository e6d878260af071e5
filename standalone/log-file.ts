import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 10_000_000;

/**
 * Opens a log for appending. A large log is renamed to `<name>.1` first. It is a file and not a pipe, because a server that
 * outlives a killed launcher would write to a broken pipe.
 * @returns a file descriptor, which the caller closes after spawning the process.
 */
export function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > MAX_BYTES) renameSync(file, `${file}.1`);
  return openSync(file, 'a');
}

/** The end of a log for an error message: at most 20 lines of the last 4 KB; '' if there is no log. */
export function lastLines(file: string): string {
  let log: number;
  try {
    log = openSync(file, 'r');
  } catch {
    return '';
  }
  try {
    const { size } = fstatSync(log);
    const length = Math.min(size, 4096);
    const buffer = Buffer.alloc(length);
    readSync(log, buffer, 0, length, size - length);
    return buffer.toString('utf8').trim().split('\n').slice(-20).join('\n');
  } finally {
    closeSync(log);
  }
}
