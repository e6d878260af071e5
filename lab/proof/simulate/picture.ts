import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { LineHour } from './capacity.ts';

export interface LineMonth {
  line: PacedLine;
  hours: readonly LineHour[];
}

const HOUR = 3_600_000;
const LEFT = 132;
const TOP = 96;
const PX_PER_HOUR = 1.25;
const ROW = 10;
const DETAIL_HEIGHT = 150;
const DETAIL_DAYS = 5;

/** Shades by the used share of the hour's cap. */
const SHADES = [
  { upTo: 0.5, color: '#b9d7ea', text: 'up to half of the hour’s cap' },
  { upTo: 0.999, color: '#5b9fcf', text: 'more than half' },
  { upTo: 1, color: '#14507f', text: 'all of it' },
  { upTo: Infinity, color: '#d7263d', text: 'above it (a violation)' },
];

/** Draws an SVG of the new conversations per line and hour against the caps, and one line's first days in detail. */
export function drawMonth(months: readonly LineMonth[], begin: Date, until: Date, summary: string): string {
  const hours = (until.getTime() - begin.getTime()) / HOUR;
  const width = LEFT + hours * PX_PER_HOUR + 24;
  const mapBottom = TOP + months.length * ROW;
  const height = mapBottom + DETAIL_HEIGHT + 130;
  const detail =
    months.find(({ line }) => line.channel === 'imessage' && line.hourlyNew === null) ?? months[0]!;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="10" fill="#333">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    text(LEFT, 26, 'New conversations per line and hour', 'font-size="16" font-weight="600"'),
    text(LEFT, 44, summary, 'font-size="11"'),
    legend(),
    days(begin, hours, mapBottom),
    ...months.map((month, index) => row(month, TOP + index * ROW, begin)),
    drawDetail(detail, begin, mapBottom + 70),
    '</svg>',
  ].join('\n');
}

function legend(): string {
  let x = LEFT;
  return SHADES.map(({ color, text: label }) => {
    const item = `<rect x="${x}" y="56" width="10" height="10" fill="${color}"/>${text(x + 15, 65, label)}`;
    x += 40 + label.length * 5.2;
    return item;
  }).join('');
}

function days(begin: Date, hours: number, bottom: number): string {
  const marks = Array.from({ length: Math.floor(hours / 24) }, (_, day) => {
    const x = LEFT + day * 24 * PX_PER_HOUR;
    const date = new Date(begin.getTime() + day * 24 * HOUR);
    const label = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
    return (
      (day % 5 === 0 ? text(x, TOP - 8, label) : '') + `<path d="M${x} ${TOP - 4}V${bottom}" stroke="#eee"/>`
    );
  });
  return marks.join('');
}

/** One path per shade keeps a month at a few kilobytes per line. */
function row({ line, hours }: LineMonth, y: number, begin: Date): string {
  const cells = SHADES.map(() => '');
  for (const { start, cap, made } of hours) {
    const shade = SHADES.findIndex(({ upTo }) => made <= cap * upTo);
    const x = Math.round((start.getTime() - begin.getTime()) / HOUR);
    if (made > 0) cells[shade] += `M${x} 0h1`;
  }
  const paths = cells
    .map((d, shade) => (d === '' ? '' : `<path d="${d}" stroke="${SHADES[shade]?.color}"/>`))
    .join('');
  const place = `translate(${LEFT} ${y + ROW / 2}) scale(${PX_PER_HOUR} 1)`;
  const name = `${line.id} ${line.channel}`;
  return `${text(8, y + 8, name, 'font-size="8.5"')}<g transform="${place}" stroke-width="${ROW - 2}">${paths}</g>`;
}

/** Draws the new conversations per hour as bars under the hour's cap. */
function drawDetail({ line, hours }: LineMonth, begin: Date, top: number): string {
  const shown = hours.slice(0, DETAIL_DAYS * 24);
  const most = Math.max(...shown.map(({ cap }) => cap));
  const wide = 7.2;
  const bottom = top + DETAIL_HEIGHT;
  const y = (count: number): number => bottom - (count / most) * (DETAIL_HEIGHT - 20);
  const bars = shown.map(({ made }, index) =>
    made > 0 ? `M${px(LEFT + (index + 0.5) * wide)} ${bottom}V${px(y(made))}` : '',
  );
  const caps = shown.map(
    ({ cap }, index) => `${index === 0 ? 'M' : 'L'}${px(LEFT + index * wide)} ${px(y(cap))}h${wide}`,
  );
  const first = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: line.timezone }).format(
    begin,
  );
  return [
    text(
      LEFT,
      top - 14,
      `${line.id}, its first ${DETAIL_DAYS} days hour by hour, from ${first} in ${line.timezone}`,
      'font-size="12" font-weight="600"',
    ),
    `<path d="${bars.join('')}" stroke="#14507f" stroke-width="${wide - 2}"/>`,
    `<path d="${caps.join('')}" stroke="#d7263d" stroke-width="1" fill="none"/>`,
    `<path d="M${LEFT} ${bottom}h${shown.length * wide}" stroke="#999"/>`,
    text(
      LEFT,
      bottom + 18,
      'bars: new conversations opened; line: the cap drawn for the hour; gaps: the day’s cap is used up until the next morning',
    ),
    ...Array.from({ length: most + 1 }, (_, count) => text(LEFT - 14, px(y(count)) + 3, String(count))),
  ].join('');
}

const px = (value: number): number => Math.round(value * 10) / 10;

function text(x: number, y: number, content: string, attributes = ''): string {
  return `<text x="${px(x)}" y="${px(y)}" ${attributes}>${content}</text>`;
}
