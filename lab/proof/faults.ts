import { setTimeout as pause } from 'node:timers/promises';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { until } from '../bench/support/waiting.ts';
import { type Fault, FAULTS } from './faults/faults.ts';
import { startScene } from './faults/scene.ts';

/**
 * How soon an operator knows: `npm run prove -- faults [--only credentials,mailbox] [--within 180]`. Lets each fault of docs/operators.md
 * happen to a running copy, and prints after how many seconds each place tells of it. With Prometheus on the PATH (Debian: `apt-get
 * install prometheus`), the alerts of `deploy/` are among the places, scraped and evaluated as there. Fails if a place is silent.
 */
const { values } = parseArgs({
  options: { only: { type: 'string' }, within: { type: 'string', default: '180' } },
});
const only = values.only?.split(',');
const WITHIN_MS = Number(values.within) * 1000;
/** Alerts of news compare with what Prometheus has seen. */
const BASELINE_MS = 45_000;
const LOOK_MS = 250;

const scene = await startScene();
const rows: Record<string, Record<string, string>> = {};
try {
  await pause(scene.hasAlerts ? BASELINE_MS : 0);
  for (const fault of FAULTS.filter(({ name }) => only?.includes(name) ?? true)) {
    console.log(`${fault.name}: ${fault.text}`);
    rows[fault.name] = await walk(fault).catch((error: unknown) => ({ error: String(error) }));
    console.log(rows[fault.name]);
  }
} finally {
  await scene.stop();
}
console.log(`load average ${(loadavg()[1] ?? 0).toFixed(0)}`);
const silent = Object.entries(rows).filter(([, told]) =>
  Object.values(told).some((text) => !text.endsWith(' s')),
);
for (const [name, told] of silent) console.log(`${name}: ${JSON.stringify(told)}`);
// Servers of the faults still listen.
process.exit(silent.length > 0 ? 1 : 0);

/** @returns after how long each place told of the fault, and what happened meanwhile. */
async function walk(fault: Fault): Promise<Record<string, string>> {
  const { places, begin, end } = await fault.prepare(scene);
  const alerts = scene.hasAlerts ? fault.alerts : [];
  const all = {
    ...places,
    ...Object.fromEntries(alerts.map((name) => [name, () => scene.fires(name)])),
  };
  await until(
    async () => (await Promise.all(alerts.map((name) => scene.fires(name)))).every((fires) => !fires),
    1_200_000,
  );
  let from = performance.now();
  const seconds = (): string => `${((performance.now() - from) / 1000).toFixed(1)} s`;
  from = (await begin())?.from ?? from;
  const told: Record<string, string> = {};
  await Promise.all(
    Object.entries(all).map(async ([name, tells]) => {
      for (;;) {
        if (await tells().catch(() => false)) return void (told[name] = seconds());
        if (performance.now() - from > WITHIN_MS) return void (told[name] = 'silent');
        await pause(LOOK_MS);
      }
    }),
  );
  const over = performance.now();
  const isOver = await end();
  if (isOver) {
    await until(isOver, 300_000);
    told['works again after'] = `${((performance.now() - over) / 1000).toFixed(1)} s`;
  }
  return told;
}
