/**
 * One line of a CSV file (RFC 4180). A cell that a spreadsheet would run as a formula gets an apostrophe in front:
 * what strangers typed into a form must not become code on the desk of whoever opens the file.
 */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * What spreadsheets take for the beginning of a formula, in either width, after characters that they skip. A phone
 * number begins with + and is none.
 */
const FORMULA = /^(?!\+\d+$)[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠\u2212]|^[\t\r\n]/u;

function csvCell(text: string): string {
  const guarded = FORMULA.test(text) ? `'${text}` : text;
  return /["\r\n,;\t]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}

const DELIMITERS = [',', ';', '\t', '|'];

/** What divides the cells of a file, told by its header: the candidate that occurs most often outside of quotes. */
export function delimiterOf(header: string): string {
  const bare = header.replaceAll(/"[^"]*"/g, '');
  const counts = DELIMITERS.map((delimiter) => ({ delimiter, count: bare.split(delimiter).length }));
  return counts.reduce((best, next) => (next.count > best.count ? next : best)).delimiter;
}
