import { svg, text } from './svg.ts';

/** A span of time, in milliseconds. */
export interface Bar {
  name: string;
  /** What its color stands for. */
  group: string;
  from: number;
  to: number;
}

const WIDTH = 860;
const LEFT = 210;
const ROW = 24;
const HEAD = 52;
const COLORS = ['#14507f', '#b9d7ea', '#e0a458', '#8a8a8a'];

/** Draws an SVG of when each of them was, one below the other, with a legend of the groups. */
export function drawTimes(bars: readonly Bar[]): string {
  const end = Math.max(...bars.map(({ to }) => to));
  const x = (at: number): number => LEFT + (at / end) * (WIDTH - LEFT - 70);
  const groups = [...new Set(bars.map(({ group }) => group))];
  const color = (group: string): string => COLORS[groups.indexOf(group)] ?? '#333';
  const height = HEAD + bars.length * ROW + 10;
  const parts = groups.flatMap((group, index) => [
    `<rect x="${LEFT + index * 150}" y="10" width="12" height="12" fill="${color(group)}"/>`,
    text(LEFT + index * 150 + 18, 20, group),
  ]);
  const step = [1, 2, 5, 10, 20, 50, 100].find((ms) => end / ms <= 12) ?? end;
  for (let at = 0; at <= end; at += step)
    parts.push(
      `<path d="M${x(at).toFixed(1)} ${HEAD - 8}V${height - 6}" stroke="#e4e4e4"/>`,
      text(x(at), HEAD - 12, `${at} ms`, 'text-anchor="middle" fill="#777"'),
    );
  for (const [index, { name, group, from, to }] of bars.entries()) {
    const y = HEAD + index * ROW;
    const width = Math.max(1.5, x(to) - x(from));
    parts.push(
      text(LEFT - 8, y + 13, name, 'text-anchor="end"'),
      `<rect x="${x(from).toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 6}" fill="${color(group)}"/>`,
      text(x(from) + width + 5, y + 13, `${(to - from).toFixed(1)} ms`),
    );
  }
  return svg(WIDTH, height, parts);
}
