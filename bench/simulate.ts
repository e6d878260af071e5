import { parseArgs } from 'node:util';

/**
 * Simulates pacing in memory. `npm run simulate`: a month of 50 lines, of which it draws a picture. `npm run simulate --
 * --days 365 --lines 1000 [--seed 1]`: any number of days and lines in all time zones, with random limits and loads.
 */
const { values } = parseArgs({
  options: { days: { type: 'string' }, lines: { type: 'string' }, seed: { type: 'string', default: '1' } },
});
if (values.days === undefined && values.lines === undefined) await import('./simulate-month.ts');
else {
  const { simulateLong } = await import('./simulate-long.ts');
  simulateLong({
    days: Number(values.days ?? 365),
    lines: Number(values.lines ?? 1000),
    seed: Number(values.seed),
  });
}
