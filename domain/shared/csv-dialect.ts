const DELIMITERS = [',', ';', '\t', '|'];

const BLANK_LINES = /^\uFEFF?(?:[^\S\r\n]*[\r\n]+)*/;

/** The first line of files that tell Excel their delimiter: `sep=;`. */
const SEPARATOR_HINT = /^"?sep=([^"\r\n])"?(?:\r\n|[\r\n]|$)/i;

/** How a CSV file separates its cells, and where its header begins: after a byte order mark, blank lines and Excel's hint. */
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
  const [line = ''] = text.replaceAll(/"[^"]*"/g, '').split(/[\r\n]/, 1);
  const count = (delimiter: string): number => line.split(delimiter).length;
  const delimiter = DELIMITERS.reduce((best, next) => (count(next) > count(best) ? next : best));
  return { delimiter, headerStart: blank.length };
}

/** Whether the beginning of a file contains the first line of its header. */
export function hasHeaderLine(start: string): boolean {
  const { headerStart } = csvDialect(start);
  return /[\r\n]/.test(start.slice(headerStart));
}
