import { writeFileSync } from 'node:fs';
import { lookText, type NextLook } from '../../../domain/sending/pacing.ts';
import { capacityUse, lineHours, type Use } from './capacity.ts';
import { findViolations, type Violation } from './check-log.ts';
import { LineDriver, Workspace } from './line-driver.ts';
import { drawMonth } from './picture.ts';
import { runLines } from './run-lines.ts';
import { makeWorkload, ZONES } from './workload.ts';

/** Simulates a month of pacing: prints violations and the used capacity, and draws it. Fails if a rule was violated. */
const BEGIN = new Date('2026-03-07T00:00:00Z');
const DAYS = 30;
const LINES = 50;
const SEED = 1;
const LEAST_USE = 0.98;
const PICTURE = new URL('../../../docs/pacing-simulation.svg', import.meta.url);

const started = performance.now();
const until = new Date(BEGIN.getTime() + DAYS * 86_400_000);
const works = makeWorkload(LINES, BEGIN, DAYS, SEED);
const waits = new Map<NextLook['reason'], number>();
const workspaces = ZONES.map(() => new Workspace());
const drivers = works.map(
  ({ line, jobs, outages, workspace }) =>
    new LineDriver(line, jobs, workspaces[workspace]!, {
      outages,
      onRound: ({ next }) => next && waits.set(next.reason, (waits.get(next.reason) ?? 0) + 1),
    }),
);
const rounds = runLines(drivers, { until });

const log = workspaces.flatMap((workspace) => workspace.log);
const broken = findViolations(
  works.map(({ line }) => line),
  log,
);
const months = works.map((work, index) => {
  const { sent } = drivers[index]!;
  const hours = lineHours(work, sent, BEGIN, until);
  return { line: work.line, hours, use: capacityUse(work, sent, hours, until) };
});
// The checker knows only the range of the random hourly caps; here each hour is checked against its own cap.
const overdrawn = months.flatMap(({ line, hours }) =>
  hours
    .filter(({ made, cap }) => made > cap)
    .map(({ start }): Violation => ({ rule: 'hourly_new_cap', lineId: line.id, at: start })),
);
const violations = [...broken, ...overdrawn];
const use = months.reduce<Use>(
  (sum, { use }) => ({ made: sum.made + use.made, allowed: sum.allowed + use.allowed }),
  {
    made: 0,
    allowed: 0,
  },
);
const share = ({ made, allowed }: Use): number => made / allowed;
const percent = (value: number): string => `${(value * 100).toFixed(2)} %`;
const least = months
  .filter((month) => month.use.allowed > 0)
  .toSorted((a, b) => share(a.use) - share(b.use))[0]!;
const summary = `${LINES} lines, ${DAYS} days, ${log.length} messages: ${violations.length} violations, ${percent(share(use))} of the capacity used where work waited`;
writeFileSync(PICTURE, drawMonth(months, BEGIN, until, summary));

const jobs = works.reduce((sum, work) => sum + work.jobs.length, 0);
const changes = new Set(
  works.filter(({ line }) => line.timezone !== 'Asia/Kolkata').map(({ line }) => line.timezone),
).size;
console.log(
  `${LINES} lines, ${DAYS} days from ${BEGIN.toISOString()}, ${ZONES.length} zones (${changes} change their clocks)`,
);
console.log(`messages      ${jobs} queued, ${log.length} sent, ${jobs - log.length} still in their place`);
console.log(`rounds        ${rounds}`);
for (const [reason, count] of [...waits].toSorted((a, b) => b[1] - a[1])) {
  console.log(`waits         ${String(count).padStart(9)}  ${reason}: ${lookText(reason)}`);
}
console.log(`violations    ${violations.length}`);
for (const { rule, lineId, at } of violations.slice(0, 10))
  console.log(`  ${rule} by ${lineId} at ${at.toISOString()}`);
console.log(
  `capacity used ${percent(share(use))}: ${use.made} of ${use.allowed} sends that the caps allowed where work was waiting`,
);
console.log(
  `least used    ${percent(share(least.use))} by ${least.line.id} (${least.line.channel}, ${least.line.timezone})`,
);
console.log(`time          ${((performance.now() - started) / 1000).toFixed(1)} s`);
if (violations.length > 0 || share(use) < LEAST_USE) process.exitCode = 1;
