import { csvLine } from '#domain/base/csv.ts';
import { yielding } from '#domain/base/turns.ts';

/** One line per row, created in turns of the event loop. */
export async function* csvLines<Row>(
  rows: readonly Row[],
  cellsOf: (row: Row) => string[],
): AsyncGenerator<string> {
  for await (const row of yielding(rows)) yield csvLine(cellsOf(row));
}

/** The header of a response that is saved as a file. */
export const attachment = (name: string) => ({ 'Content-Disposition': `attachment; filename="${name}"` });
