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
