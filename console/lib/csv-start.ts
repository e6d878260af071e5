/** The first rows of a CSV file, as far as they are needed to choose what its columns are. */
export interface CsvStart {
  header: string[];
  /** The row after it. */
  example: string[];
  delimiter: string;
  /** Where the header ends in the file. */
  headerBytes: number;
}

/** Longer than any header. */
const READ_BYTES = 65_536;
const DELIMITERS = [',', ';', '\t', '|'];

/** @returns null if the first row is empty or does not end. */
export async function readCsvStart(file: Blob): Promise<CsvStart | null> {
  // Skips a byte order mark.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const text = decoder.decode(await file.slice(0, READ_BYTES).arrayBuffer());
  const start = text.startsWith('\uFEFF') ? 1 : 0;
  const delimiter = delimiterOf(text.slice(start));
  const header = readRow(text, start, delimiter);
  if (header.cells.every((cell) => cell === '') || (header.end >= text.length && file.size > READ_BYTES))
    return null;
  return {
    header: header.cells,
    example: readRow(text, header.end, delimiter).cells,
    delimiter,
    headerBytes: new TextEncoder().encode(text.slice(0, header.end)).length,
  };
}

/** The delimiter that occurs most often in the first line, outside of quotes. */
function delimiterOf(text: string): string {
  const [line = ''] = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1);
  const count = (delimiter: string): number => line.split(delimiter).length;
  return DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
}

/** Reads one row from a position. Quoted cells may contain delimiters, line breaks and doubled quotes. */
function readRow(text: string, start: number, delimiter: string): { cells: string[]; end: number } {
  const cells: string[] = [];
  let cell = '';
  let quoted = false;
  let at = start;
  for (; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' && quoted && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (character === '"' && (quoted || cell.trim() === '')) quoted = !quoted;
    else if (quoted) cell += character;
    else if (character === delimiter) {
      cells.push(cell.trim());
      cell = '';
    } else if (character === '\n' || character === '\r') break;
    else cell += character;
  }
  const lineEnd = text.startsWith('\r\n', at) ? 2 : 1;
  return { cells: [...cells, cell.trim()], end: Math.min(text.length, at + lineEnd) };
}

/** The file with renamed columns: the API identifies columns by their names. */
export function renameColumns(file: Blob, start: CsvStart, names: readonly string[]): Blob {
  const header = names.map((name) => `"${name.replaceAll('"', '""')}"`).join(start.delimiter);
  return new Blob([`${header}\n`, file.slice(start.headerBytes)], { type: 'text/csv' });
}
