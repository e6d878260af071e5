/** Where the message begins that is answered, as mail programs write it above what they quote. */
const HEADINGS = [
  // "On Mon, 3 Mar 2025 at 10:00, Dana <dana@example.com> wrote:", broken over lines at most once; also in German, French, Spanish.
  /^(On|Am|Le|El) .{4,200}\n?.{0,200}(wrote|schrieb.{0,100}|a écrit|escribió) ?:[ \t]*$/m,
  /^-{2,} ?(Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{2,}[ \t]*$/im,
  /^_{10,}[ \t]*\n(From|Von|De): /m,
  /^From: .+\n(Sent|Date): .+\n/m,
];

/** The text that somebody wrote in answer, without the message it quotes; all of it when nothing else is there. */
export function unquoted(text: string): string {
  const plain = text.replaceAll('\r\n', '\n');
  const starts = HEADINGS.map((heading) => plain.search(heading)).filter((at) => at >= 0);
  const lines = plain.slice(0, Math.min(plain.length, ...starts)).split('\n');
  // What is quoted without a heading, to the end.
  const own = lines
    .slice(0, lines.findLastIndex((line) => !/^(>|\s*$)/.test(line)) + 1)
    .join('\n')
    .trim();
  return own === '' ? plain.trim() : own;
}
