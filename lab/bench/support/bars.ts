import { LINEPACE, median, type Row } from './rows.ts';
import { svg, text } from './svg.ts';

const WIDTH = 860;
const LEFT = 250;
const BAR = 18;
const LONGEST = WIDTH - LEFT - 130;

/** Draws an SVG of the medians, one group of bars for each work and unit. */
export function drawBars(rows: readonly Row[]): string {
  const measured = rows.filter(({ values }) => values.length > 0);
  const groups = Map.groupBy(
    measured,
    ({ work, unit, more }) => `${work}, ${unit} (${more ? 'more' : 'less'} is better)`,
  );
  const parts: string[] = [];
  let y = 24;
  for (const [title, group] of groups) {
    parts.push(text(12, y, title, 'font-weight="600"'));
    const most = Math.max(...group.map(({ values }) => median(values)));
    for (const { subject, values } of group) {
      y += BAR + 4;
      const length = Math.max(1, (median(values) / most) * LONGEST);
      const color = subject === LINEPACE ? '#14507f' : '#b9d7ea';
      parts.push(
        text(LEFT - 8, y, subject, 'text-anchor="end"'),
        `<rect x="${LEFT}" y="${y - 13}" width="${length.toFixed(1)}" height="${BAR}" fill="${color}"/>`,
        text(LEFT + length + 6, y, Number(median(values).toPrecision(3)).toLocaleString('en')),
      );
    }
    y += 40;
  }
  return svg(WIDTH, y, parts);
}
