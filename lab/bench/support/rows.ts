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

function measured({ values, unit, note = '' }: Row): string {
  if (values.length === 0) return note;
  return `${shown(median(values))} ${unit} (${shown(Math.min(...values))} to ${shown(Math.max(...values))})`;
}

/** Markdown, with one row for each subject. */
function table(rows: readonly Row[]): string {
  return [
    '| work | | median (least to most) | Linepace ÷ this | goal |',
    '| - | - | - | - | - |',
    ...rows.map((row, index) => {
      const { work, subject } = row;
      const ratio = ratioTo(row, rows);
      const name = rows[index - 1]?.work === work ? '' : work;
      return `| ${name} | ${subject} | ${measured(row)} | ${ratio === null ? '' : Number(ratio.toPrecision(2))} | ${shownGoal(row, ratio)} |`;
    }),
  ].join('\n');
}

/** So many works that differ only in their name are one row of a summary. */
const ALIKE = 5;

/**
 * Markdown, with one row for each work: the neighbours beside Linepace, each with Linepace's ratio to it. Works of one kind
 * (`reads: leads`, `reads: lists`, …) with the same goal are one row, with the worst of them.
 */
export function summary(results: readonly { rows: readonly Row[]; conditions: string }[]): string {
  return [
    '| work | Linepace: median (least to most) | Linepace ÷ others | measured |',
    '| - | - | - | - |',
    ...results.flatMap(({ rows, conditions }) =>
      kindsOf(rows).map((works) => `| ${summaryOf(works, rows).join(' | ')} | ${conditions} |`),
    ),
  ].join('\n');
}

/** The rows of each work and unit, together with those that are alike. */
function kindsOf(rows: readonly Row[]): Row[][][] {
  const works = [...Map.groupBy(rows, ({ work, unit }) => `${work}\n${unit}`).values()];
  const kinds = Map.groupBy(works, (own) =>
    [kindOf(own), ...own.flatMap(({ unit, subject, goal }) => [unit, subject, goal])].join('\n'),
  );
  return [...kinds.values()].flatMap((alike) =>
    alike.length >= ALIKE ? [alike] : alike.map((own) => [own]),
  );
}

/** `reads` of `reads: leads`. */
const kindOf = ([row]: readonly Row[]): string => row?.work.split(': ')[0] ?? '';

/** @param works one of them, or some that are alike */
function summaryOf(works: readonly Row[][], rows: readonly Row[]): string[] {
  const worst = works.toSorted((one, other) => distance(other, rows) - distance(one, rows))[0] ?? [];
  const met = works.filter((own) =>
    own.every((row) => !shownGoal(row, ratioTo(row, rows)).endsWith('missed')),
  );
  const [{ work } = { work: '' }] = worst;
  const name =
    works.length === 1
      ? work
      : `${kindOf(worst)}: ${works.length}, ${met.length} meet their goal. The worst: ${work.split(': ').slice(1).join(': ')}`;
  const own = worst.filter(({ subject }) => subject.startsWith(LINEPACE));
  const others = worst.filter(({ subject }) => !subject.startsWith(LINEPACE));
  return [
    name,
    own.map((row) => subjectName(row) + measured(row) + goalOf(row, null)).join('<br>'),
    others.map((row) => `${row.subject} ${measured(row)}${goalOf(row, ratioTo(row, rows))}`).join('<br>'),
  ];
}

/** How far a work is from its goal: above 1 it misses it. */
function distance(own: readonly Row[], rows: readonly Row[]): number {
  const [row] = own.filter(({ goal }) => goal !== undefined);
  if (!row?.goal) return 0;
  const value = row.subject.startsWith(LINEPACE) ? median(row.values) : (ratioTo(row, rows) ?? NaN);
  return row.more ? row.goal / value : value / row.goal;
}

/** `worker ` of `Linepace: worker`. */
const subjectName = ({ subject }: Row): string =>
  subject === LINEPACE ? '' : `${subject.replace(`${LINEPACE}: `, '')} `;

function goalOf(row: Row, ratio: number | null): string {
  const goal = shownGoal(row, ratio);
  return `${ratio === null ? '' : `: ${Number(ratio.toPrecision(2))}`}${goal === '' ? '' : `, goal ${goal}`}`;
}
