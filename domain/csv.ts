/**
 * One line of a CSV file (RFC 4180). A cell that a spreadsheet would run as a formula is prefixed with an apostrophe,
 * to prevent formula injection.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * The start of a formula: the operator, half-width or full-width, after characters that spreadsheets skip. A phone
 * number starts with + but is not a formula.
 */
const FORMULA = /^(?!\+\d+$)[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠\u2212]|^[\t\r\n]/u;

function csvCell(text: string): string {
  const guarded = FORMULA.test(text) ? `'${text}` : text;
  return /["\r\n,;\t]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** Detects the delimiter of a file: the candidate that occurs most often in the header, outside of quotes. */
export function detectDelimiter(header: string): string {
  const bare = header.replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: bare.split(delimiter).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).delimiter;
}
