import { readFileSync } from 'node:fs';
import type { Period } from './alerts.ts';
import type { Prometheus, Series } from './prometheus.ts';

interface Panel {
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  fieldConfig?: { defaults?: { unit?: string } };
  targets: { expr: string; legendFormat?: string }[];
}

/** Pixels of a column and of a row of Grafana's grid. */
const [COLUMN, ROW] = [46, 24];
const PAD = 12;
const LEFT = 46;
const TOP = 26;
const LEGEND_LINES = 3;
const LINE = 12;
const STEP_SECONDS = 5;
/** Four scrapes, as Grafana computes `$__rate_interval`. */
const RATE_INTERVAL = '20s';
/** The backgrounds of the faults, in turn. */
const SHADES = ['#f3f0e6', '#e9eef3'];
const COLORS = ['#14507f', '#d1495b', '#3a7d44', '#edae49', '#7a5195', '#5b9fcf', '#8d6a4f', '#444444'];

/** Draws the panels of `deploy/grafana/linepace.json` from what Prometheus recorded. */
export async function drawDashboard(
  prometheus: Prometheus,
  periods: readonly Period[],
  from: Date,
  to: Date,
): Promise<string> {
  const file = new URL('../../../deploy/grafana/linepace.json', import.meta.url);
  const { panels } = JSON.parse(readFileSync(file, 'utf8')) as { panels: Panel[] };
  const width = 24 * COLUMN;
  const height = Math.max(...panels.map(({ gridPos }) => gridPos.y + gridPos.h)) * ROW;
  const drawn: string[] = [];
  for (const panel of panels) {
    const series: { name: string; values: Series['values'] }[] = [];
    for (const { expr, legendFormat = '' } of panel.targets) {
      const query = expr.replaceAll('$__rate_interval', RATE_INTERVAL);
      for (const { labels, values } of await prometheus.query(query, from, to, STEP_SECONDS))
        series.push({
          name: legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? ''),
          values,
        });
    }
    drawn.push(drawPanel(panel, series, periods, from, to));
  }
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="9" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#f4f5f5"/>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

function drawPanel(
  { title, gridPos, fieldConfig }: Panel,
  series: readonly { name: string; values: Series['values'] }[],
  periods: readonly Period[],
  from: Date,
  to: Date,
): string {
  const [panelWidth, panelHeight] = [gridPos.w * COLUMN - 6, gridPos.h * ROW - 6];
  const plot = {
    width: panelWidth - LEFT - PAD,
    height: panelHeight - TOP - PAD - LEGEND_LINES * LINE,
  };
  const finite = series.map(({ name, values }) => ({
    name,
    values: values.filter(([, value]) => Number.isFinite(value)),
  }));
  const most = Math.max(...finite.flatMap(({ values }) => values.map(([, value]) => value)), 0) || 1;
  const [begin, end] = [from.getTime() / 1000, to.getTime() / 1000];
  const x = (at: number): number => LEFT + ((at - begin) / (end - begin)) * plot.width;
  const y = (value: number): number => TOP + plot.height * (1 - value / most);
  const lines = finite.map(({ values }, index) => {
    const points = values.map(([at, value], nth) => {
      const isGap = nth === 0 || at - (values[nth - 1]?.[0] ?? 0) > 2 * STEP_SECONDS;
      return `${isGap ? 'M' : 'L'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
    });
    return `<path d="${points.join('')}" fill="none" stroke="${COLORS[index % COLORS.length]}"/>`;
  });
  const faults = periods.map((period, index) => {
    const [left, right] = [x(period.from.getTime() / 1000), x(period.to.getTime() / 1000)];
    const fill = SHADES[index % SHADES.length];
    return `<rect x="${left.toFixed(1)}" y="${TOP}" width="${(right - left).toFixed(1)}" height="${plot.height}" fill="${fill}"/>`;
  });
  // Above the shades, in two rows: some faults are shorter than their names.
  const names = periods.map(({ name, from: at }, index) =>
    text(x(at.getTime() / 1000) + 2, TOP + 8 + (index % 2) * 9, name, 'fill="#999"'),
  );
  const unit = fieldConfig?.defaults?.unit ?? '';
  return [
    `<g transform="translate(${gridPos.x * COLUMN} ${gridPos.y * ROW})">`,
    `<rect width="${panelWidth}" height="${panelHeight}" fill="#fff" stroke="#ddd"/>`,
    text(PAD, 16, title, 'font-size="11" font-weight="600"'),
    ...faults,
    ...names,
    ...[0, 0.5, 1].map((share) => {
      const at = y(most * share);
      return `<path d="M${LEFT} ${at}h${plot.width}" stroke="#eee"/>${text(LEFT - 4, at + 3, shown(most * share, unit), 'text-anchor="end"')}`;
    }),
    ...lines,
    legend(finite, panelWidth, TOP + plot.height + LINE + 2),
    '</g>',
  ].join('\n');
}

function legend(series: readonly { name: string }[], width: number, top: number): string {
  let [left, y] = [PAD, top];
  const items: string[] = [];
  for (const [index, { name }] of series.entries()) {
    const length = 14 + name.length * 4.8;
    if (left + length > width && left > PAD) [left, y] = [PAD, y + LINE];
    if (y >= top + LEGEND_LINES * LINE) break;
    items.push(
      `<rect x="${left}" y="${y - 6}" width="8" height="3" fill="${COLORS[index % COLORS.length]}"/>${text(left + 11, y, name)}`,
    );
    left += length + 6;
  }
  return items.join('');
}

function shown(value: number, unit: string): string {
  if (unit === 'bytes') return `${(value / 1024 ** 2).toFixed(0)} MB`;
  if (unit === 'percentunit') return `${(value * 100).toFixed(0)} %`;
  return `${Number(value.toPrecision(2))}${unit === 's' ? ' s' : ''}`;
}

const text = (x: number, y: number, content: string, attributes = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${attributes}>${content.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</text>`;
