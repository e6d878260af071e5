import type { Command } from 'commander';

/** What all commands accept. */
export interface GlobalOptions {
  json?: boolean;
  profile?: string;
}

export const globalOptions = (command: Command): GlobalOptions => command.optsWithGlobals<GlobalOptions>();

/**
 * Control characters and those that change the direction of text, but not line breaks and tabs: contacts' texts must neither drive the
 * terminal nor hide what a person approves.
 */
const DRIVING = /[^\P{Cc}\n\t]|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu;

/** A text of others, as it may be shown on a terminal: what would drive it is written as an escape. */
export const printable = (text: string): string =>
  text.replaceAll(DRIVING, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A text of others as a quotation, whose lines cannot be mistaken for the program's own. */
export const quotation = (text: string): string =>
  printable(text)
    .split(/\n/)
    .map((line) => `  > ${line}`)
    .join('\n');

/** Prints a result for programs with `--json`, else for people. */
export function print<T>(command: Command, result: T, text: (result: T) => string): void {
  console.log(
    globalOptions(command).json ? printable(JSON.stringify(result, null, 2)) : printable(text(result)),
  );
}

/** Columns of records, aligned. */
export function table(records: readonly Record<string, unknown>[], columns: readonly string[]): string {
  if (records.length === 0) return 'none';
  const cell = (value: unknown): string => {
    if (value === null || value === undefined) return '-';
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return printable(text.replaceAll(/\s+/g, ' ')).slice(0, 60);
  };
  const rows = [
    columns.map((name) => name.toUpperCase()),
    ...records.map((record) => columns.map((name) => cell(record[name]))),
  ];
  const widths = columns.map((_, index) => Math.max(...rows.map((row) => row[index]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((value, index) => value.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Shows the progress of long work on a terminal, and nothing elsewhere. */
export function progressBar(total: number): (done: number) => void {
  if (!process.stderr.isTTY) return () => {};
  return (done) => {
    const filled = Math.round((done / Math.max(1, total)) * 30);
    process.stderr.write(
      `\r[${'█'.repeat(filled).padEnd(30)}] ${done}/${total}${done === total ? '\n' : ''}`,
    );
  };
}
