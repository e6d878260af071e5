import { setTimeout as pause } from 'node:timers/promises';

/** What one of several subjects did in the rounds of a benchmark. A round measures each subject once. */
export interface Row {
  /** What is measured. Rows with the same work and unit are compared, round by round. */
  work: string;
  /** `Linepace`, or what it is compared with. */
  subject: string;
  unit: string;
  /** Whether more is better. */
  more: boolean;
  /** One for each round; empty if it could not be measured. */
  values: number[];
  /** For the median of Linepace, or for its ratio to another subject. */
  goal?: number;
  /** Why there are no values. */
  note?: string;
}

export const LINEPACE = 'Linepace';

/** Prints what a benchmark measured, and passes it to `npm run bench` if that started it. */
export async function report(rows: readonly Row[]): Promise<void> {
  console.log(table(rows));
  process.send?.({ rows });
  // The message must leave before the process ends.
  await pause(10);
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low = NaN, high = NaN] = [Math.ceil, Math.floor].map(
    (round) => sorted[round((sorted.length - 1) / 2)],
  );
  return (low + high) / 2;
}

/** The median of the ratios within each round, since other load differs from round to round. */
function ratioTo(row: Row, rows: readonly Row[]): number | null {
  const own = rows.find(
    ({ work, unit, subject }) => work === row.work && unit === row.unit && subject === LINEPACE,
  );
  if (!own || own === row || own.values.length === 0 || row.values.length === 0) return null;
  return median(own.values.map((value, round) => value / (row.values[round] ?? median(row.values))));
}

const meetsGoal = ({ goal = NaN, more }: Row, value: number): boolean =>
  more ? value >= goal : value <= goal;

function shownGoal(row: Row, ratio: number | null): string {
  if (row.goal === undefined) return '';
  const value = row.subject.startsWith(LINEPACE) ? median(row.values) : ratio;
  const verdict = value === null || Number.isNaN(value) ? '' : meetsGoal(row, value) ? ': met' : ': missed';
  return `${row.more ? '≥' : '≤'} ${shown(row.goal)}${verdict}`;
}

const shown = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)));

/** Markdown. */
export function table(rows: readonly Row[]): string {
  return [
    '| work | | median (least to most) | Linepace ÷ this | goal |',
    '| - | - | - | - | - |',
    ...rows.map((row, index) => {
      const { work, subject, unit, values, note } = row;
      const spread = `${shown(Math.min(...values))} to ${shown(Math.max(...values))}`;
      const measured = values.length === 0 ? (note ?? '') : `${shown(median(values))} ${unit} (${spread})`;
      const ratio = ratioTo(row, rows);
      const name = rows[index - 1]?.work === work ? '' : work;
      return `| ${name} | ${subject} | ${measured} | ${ratio === null ? '' : Number(ratio.toPrecision(2))} | ${shownGoal(row, ratio)} |`;
    }),
  ].join('\n');
}
