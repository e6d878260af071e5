import { closeSync, fstatSync, mkdirSync, openSync, readSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 10_000_000;

/**
 * Opens a log for a process to append to; one that has grown large becomes `<name>.1` first. A file, not a pipe: a
 * server may outlive a launcher that is killed, and would then write into nothing.
 * @returns a file descriptor, for the caller to close once the process has it.
 */
export function openLog(file: string): number {
  mkdirSync(dirname(file), { recursive: true });
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > MAX_BYTES) renameSync(file, `${file}.1`);
  return openSync(file, 'a');
}

/** The end of a log, for the message of an error: at most 20 lines of the last 4 KB; empty where there is no log. */
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
