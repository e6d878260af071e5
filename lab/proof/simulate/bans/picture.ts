import type { SeedOutcome } from './compare.ts';

const [LEFT, TOP, HEIGHT, WIDTH] = [48, 64, 180, 34];
const COLORS = { off: '#d7263d', protect: '#14507f' };

/** Draws an SVG of the bans of each seed with fixed caps and with `protect`, and how many of the replies remained. */
export function drawBans(
  pairs: readonly { off: SeedOutcome; protect: SeedOutcome }[],
  tunedUpTo: number,
  summary: string,
): string {
  const most = Math.max(...pairs.map(({ off, protect }) => Math.max(off.bans, protect.bans)), 1);
  const y = (bans: number): number => TOP + HEIGHT - (bans / most) * HEIGHT;
  const width = LEFT + pairs.length * WIDTH + 24;
  const bar = (x: number, bans: number, color: string): string =>
    `<rect x="${x}" y="${y(bans).toFixed(1)}" width="12" height="${((bans / most) * HEIGHT).toFixed(1)}" fill="${color}"/>`;
  const label = (x: number, at: number, content: string, more = ''): string =>
    `<text x="${x}" y="${at}" ${more}>${content}</text>`;
  const bottom = TOP + HEIGHT;
  const held = LEFT + pairs.filter(({ off }) => off.seed <= tunedUpTo).length * WIDTH;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${bottom + 64}" font-family="system-ui, sans-serif" font-size="10" fill="#333">`,
    `<rect width="${width}" height="${bottom + 64}" fill="#fff"/>`,
    label(LEFT, 22, 'Banned lines of each carrier', 'font-size="15" font-weight="600"'),
    label(LEFT, 38, summary, 'font-size="11"'),
    `<rect x="${LEFT}" y="46" width="9" height="9" fill="${COLORS.off}"/>${label(LEFT + 13, 54, 'fixed caps')}`,
    `<rect x="${LEFT + 80}" y="46" width="9" height="9" fill="${COLORS.protect}"/>${label(LEFT + 93, 54, 'protect')}`,
    ...Array.from({ length: 3 }, (_, step) => {
      const bans = Math.round((most * (step + 1)) / 3);
      return `<line x1="${LEFT - 4}" x2="${width - 20}" y1="${y(bans)}" y2="${y(bans)}" stroke="#ddd"/>${label(LEFT - 8, y(bans) + 3, String(bans), 'text-anchor="end"')}`;
    }),
    ...pairs.flatMap(({ off, protect }, index) => {
      const x = LEFT + index * WIDTH;
      const kept = Math.round((protect.replies / Math.max(1, off.replies)) * 100);
      return [
        bar(x, off.bans, COLORS.off),
        bar(x + 13, protect.bans, COLORS.protect),
        label(x + 12, bottom + 14, String(off.seed), 'text-anchor="middle"'),
        label(x + 12, bottom + 28, `${kept}%`, 'text-anchor="middle" fill="#777"'),
      ];
    }),
    `<line x1="${held - 5}" x2="${held - 5}" y1="${TOP - 4}" y2="${bottom + 32}" stroke="#999" stroke-dasharray="3 3"/>`,
    label(
      LEFT,
      bottom + 46,
      'seed, and below it the replies with protect against those with fixed caps',
      'fill="#777"',
    ),
    label(held, bottom + 58, 'right of the line: seeds that were not used for tuning', 'fill="#777"'),
    '</svg>',
  ].join('\n');
}
