/** Headings that mail clients write above a quoted message. */
const HEADINGS = [
  /^-{2,} ?(Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{2,}[ \t]*$/im,
  /^_{10,}[ \t]*\n(From|Von|De): /m,
  /^From: .+\n(Sent|Date): .+\n/m,
];

/**
 * "On Mon, 3 Mar 2025 at 10:00, Dana <dana@example.com> wrote:", on one line or two; also in German, French and Spanish.
 */
const ATTRIBUTION = {
  begins: /^(On|Am|Le|El) /,
  ends: /(wrote|schrieb.{0,100}|a écrit|escribió) ?:$/,
  length: 400,
};

const isAttribution = (text: string): boolean =>
  text.length <= ATTRIBUTION.length && ATTRIBUTION.begins.test(text) && ATTRIBUTION.ends.test(text.trimEnd());

/** The index of the attribution line; null if there is none. */
function attributionLine(lines: readonly string[]): number | null {
  const found = lines.findIndex(
    (line, index) => isAttribution(line) || isAttribution(`${line} ${lines[index + 1] ?? ''}`),
  );
  return found < 0 ? null : found;
}

/** Removes the quoted message from a reply; returns the whole text if nothing else remains. */
export function unquoted(text: string): string {
  const plain = text.replaceAll('\r\n', '\n');
  const starts = HEADINGS.map((heading) => plain.search(heading)).filter((at) => at >= 0);
  const beginning = plain.slice(0, Math.min(plain.length, ...starts)).split('\n');
  const lines = beginning.slice(0, attributionLine(beginning) ?? beginning.length);
  // Trailing lines quoted without a heading.
  const own = lines
    .slice(0, lines.findLastIndex((line) => !/^(>|\s*$)/.test(line)) + 1)
    .join('\n')
    .trim();
  return own === '' ? plain.trim() : own;
}
