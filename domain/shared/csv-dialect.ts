import { columnField } from './lead-columns.ts';

const DELIMITERS = [',', ';', '\t', '|'];

const BLANK_LINES = /^\uFEFF?(?:[^\S\r\n]*[\r\n]+)*/;

/** The first line of files that tell Excel their delimiter: `sep=;`. */
const SEPARATOR_HINT = /^"?sep=([^"\r\n])"?(?:\r\n|[\r\n]|$)/i;

/** More than a table of leads has columns. */
const MAX_CELLS = 1000;

/** Exports write a title, notes and the date above the header. */
const MAX_PREAMBLE_LINES = 10;

/** How a CSV file separates its cells, and where its header begins: after a byte order mark, a title, blank lines and Excel's hint. */
export interface CsvDialect {
  delimiter: string;
  headerStart: number;
}

/**
 * Detects the dialect of a file: the delimiter that the file names, or the candidate that occurs most often in the first line
 * of the header, outside of quotes.
 * @param start the beginning of the file, at least to the end of that line.
 */
export function csvDialect(start: string): CsvDialect {
  const [blank = ''] = BLANK_LINES.exec(start) ?? [];
  const text = start.slice(blank.length);
  const hint = SEPARATOR_HINT.exec(text);
  if (hint?.[1]) return { delimiter: hint[1], headerStart: blank.length + hint[0].length };
  const below = headerBelow(text);
  const [line = ''] = linesOf(text.slice(below ?? 0));
  return { delimiter: delimiterOf(line), headerStart: blank.length + (below ?? 0) };
}

const linesOf = (text: string): string[] => text.split(/\r\n|[\r\n]/, MAX_PREAMBLE_LINES + 1);

function delimiterOf(line: string): string {
  const unquoted = line.replaceAll(/"[^"]*"/g, '');
  const count = (delimiter: string): number => unquoted.split(delimiter).length;
  return DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
}

/** Whether a line names a column with addresses, and is no row with addresses itself. */
function namesAddresses(line: string): boolean {
  const cells = cellsOf(line);
  const isHeader = !cells.some((cell) => cell.includes('@') || /(?:\p{Nd}[^\p{L}\p{Nd}]*){7}/u.test(cell));
  return isHeader && cells.map(columnField).some((field) => field === 'email' || field === 'phone');
}

function cellsOf(line: string): string[] {
  const delimiter = delimiterOf(line);
  return line
    .replaceAll(/"[^"]*"/g, (quoted) => quoted.replaceAll(delimiter, ' '))
    .split(delimiter, MAX_CELLS)
    .map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'))
    .filter((cell) => cell !== '');
}

/** Where the header begins, if not at the start: below lines with fewer cells. Undefined: nowhere else. */
function headerBelow(text: string): number | undefined {
  const lines = linesOf(text).slice(0, MAX_PREAMBLE_LINES);
  const at = lines.findIndex(namesAddresses);
  const header = lines[at];
  if (at < 1 || header === undefined) return undefined;
  const above = lines.slice(0, at);
  // A quote that is open continues the first row.
  if (above.join('').split('"').length % 2 === 0) return undefined;
  if (above.some((line) => cellsOf(line).length >= cellsOf(header).length)) return undefined;
  let start = 0;
  for (const line of above) {
    start += line.length;
    start += text.startsWith('\r\n', start) ? 2 : 1;
  }
  return start;
}

/** Whether the beginning of a file contains the first line of its header, as far as anybody can tell. */
export function hasHeaderLine(start: string): boolean {
  const text = start.slice((BLANK_LINES.exec(start) ?? [''])[0].length);
  const hint = SEPARATOR_HINT.exec(text);
  const lines = linesOf(text.slice(hint?.[0].length ?? 0));
  const isKnown = hint !== null || lines.slice(0, -1).some(namesAddresses);
  return lines.length > (isKnown ? 1 : MAX_PREAMBLE_LINES);
}
