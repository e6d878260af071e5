import { parseArgs } from 'node:util';

/**
 * Simulates pacing in memory. `npm run simulate`: a month of 50 lines, of which it draws a picture. `npm run simulate --
 * --days 365 --lines 1000 [--seed 1]`: any number of days and lines in all time zones, with random limits and loads. `--plant
 * window` makes the rules keep a window open for a minute longer, which the checker has to notice; `--plant all` makes each
 * of the mistakes in `plants.ts`. `--bans` compares reputation policies against carriers that ban by hidden rules.
 */
const { values } = parseArgs({
  options: {
    days: { type: 'string' },
    lines: { type: 'string' },
    seed: { type: 'string', default: '1' },
    plant: { type: 'string' },
    bans: { type: 'boolean', default: false },
  },
});
const { days, lines, plant } = values;
const seed = Number(values.seed);
if (values.bans) await import('./simulate/bans.ts');
else if (plant === 'all') {
  const { reportPlants } = await import('./simulate/long.ts');
  reportPlants({ ...(days && { days: Number(days) }), ...(lines && { lines: Number(lines) }), seed });
} else if (days === undefined && lines === undefined && plant === undefined)
  await import('./simulate/month.ts');
else {
  const { reportLong } = await import('./simulate/long.ts');
  reportLong({ days: Number(days ?? 365), lines: Number(lines ?? 1000), seed, ...(plant && { plant }) });
}
