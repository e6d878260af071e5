import { closeSync, existsSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { parseOwnJson } from '#domain/base/own-json.ts';

/** An append-only file of JSON lines. Entries are durable once `append` returns, even if the process is killed. */
export interface Journal<Entry> {
  /** Entries of earlier processes, oldest first. Can be called once, because they may be large. */
  takePast(): Entry[];
  append(entry: Entry): void;
  close(): void;
}

/** @param file null: entries are not stored. */
export function openJournal<Entry>(file: string | null): Journal<Entry> {
  if (file === null) return { takePast: () => [], append: () => {}, close: () => {} };
  mkdirSync(path.dirname(file), { recursive: true });
  const { entries, length } = existsSync(file) ? readEntries(file) : { entries: [], length: 0 };
  const descriptor = openSync(file, 'a');
  // A line truncated by a machine crash would corrupt the next one.
  ftruncateSync(descriptor, length);
  let past = entries as Entry[];
  let open = true;
  return {
    takePast() {
      const taken = past;
      past = [];
      return taken;
    },
    append(entry) {
      // Unbuffered and synchronous: the response must not be sent before the entry is written.
      if (open) writeSync(descriptor, `${JSON.stringify(entry)}\n`);
    },
    close() {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** The complete lines of a file, and their length in bytes. */
function readEntries(file: string): { entries: unknown[]; length: number } {
  const bytes = readFileSync(file);
  const length = bytes.lastIndexOf('\n') + 1;
  const lines = bytes.subarray(0, length).toString('utf8').split('\n').slice(0, -1);
  return { entries: lines.map((line) => parseOwnJson(line)), length };
}
