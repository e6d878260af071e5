import { findViolations, type Violation, wallClock } from './check-log.ts';
import { LineDriver, Workspace } from './line-driver.ts';
import { runLines } from './run-lines.ts';
import { seeded } from './workload.ts';
import { LongWorkspace } from './long-workload.ts';

const BEGIN = new Date('2026-01-01T00:00:00Z');
const DAY = 86_400_000;
const WEEK = 7 * DAY;
/** A prime, so that every zone has its turn, and the first ones are from all over the list. */
const ZONE_STEP = 163;
const PROGRESS_MS = 30_000;

/**
 * Simulates workspaces one after the other, and prints what `findViolations` finds in their logs. Fails if a rule was
 * violated, or if a message is neither sent nor waiting.
 */
export function simulateLong({ days, lines, seed }: { days: number; lines: number; seed: number }): void {
  const started = performance.now();
  const random = seeded(seed);
  const zones = Intl.supportedValuesOf('timeZone');
  const total = { lines: 0, queued: 0, sent: 0, waiting: 0, rounds: 0 };
  const found = new Map<Violation['rule'], Violation[]>();
  const used = new Set<string>();
  let shown = started;
  for (let number = 0; total.lines < lines; number += 1) {
    const zone = zones[((number + seed) * ZONE_STEP) % zones.length] ?? 'UTC';
    used.add(zone);
    const count = Math.min(1 + Math.floor(random() * 3), lines - total.lines);
    const workspace = new LongWorkspace(`workspace ${number}`, zone, count, BEGIN, random);
    const { drivers, rounds } = run(workspace, days, random);
    const { log } = drivers[0]!.workspace;
    total.lines += count;
    total.rounds += rounds;
    total.queued += workspace.queued;
    total.sent += log.length;
    total.waiting += drivers.reduce((sum, { waitingCount }) => sum + waitingCount, 0);
    for (const violation of findViolations(workspace.lines, log))
      found.set(violation.rule, [...(found.get(violation.rule) ?? []), violation]);
    if (performance.now() - shown < PROGRESS_MS) continue;
    shown = performance.now();
    console.log(`… ${total.lines} lines, ${total.sent} messages, ${seconds(started)} s`);
  }

  const changing = [...used].filter((zone) => changesClocks(zone, days));
  console.log(`${lines} lines, ${days} days from ${BEGIN.toISOString()}, seed ${seed}`);
  console.log(
    `zones         ${used.size} of ${zones.length}, ${changing.length} of which change their clocks`,
  );
  console.log(
    `messages      ${total.queued} queued, ${total.sent} sent, ${total.waiting} still in their place`,
  );
  console.log(`rounds        ${total.rounds}`);
  const lost = total.queued - total.sent - total.waiting;
  console.log(`lost          ${lost}`);
  console.log(`violations    ${[...found.values()].flat().length}`);
  for (const [rule, violations] of found) {
    console.log(`  ${rule}: ${violations.length}`);
    for (const { lineId, at } of violations.slice(0, 3)) console.log(`    ${lineId} at ${at.toISOString()}`);
  }
  console.log(`time          ${seconds(started)} s`);
  if (found.size > 0 || lost !== 0) process.exitCode = 1;
}

function run(work: LongWorkspace, days: number, random: () => number) {
  const shared = new Workspace();
  const drivers = work.lines.map(
    (line) => new LineDriver(line, [], shared, { outages: work.outagesOf(line, days) }),
  );
  let rounds = 0;
  for (let from = BEGIN.getTime(); from < BEGIN.getTime() + days * DAY; from += WEEK) {
    // Week by week, because a plan looks through all that waits.
    for (const driver of drivers) driver.add(work.jobsOf(driver.line, new Date(from)));
    const until = new Date(Math.min(from + WEEK, BEGIN.getTime() + days * DAY));
    rounds += runLines(drivers, {
      from: new Date(from),
      until,
      happensAt: (at) => new Date(at.getTime() + drift(random)),
    });
  }
  return { drivers, rounds };
}

/** By how much a round misses its time, as after crashes and restarts. */
function drift(random: () => number): number {
  const kind = random();
  if (kind < 0.9) return random() * 500;
  return kind < 0.95 ? -random() * 60_000 : random() * 3_600_000;
}

function changesClocks(zone: string, days: number): boolean {
  const offsetOn = (day: number): string =>
    wallClock(zone, new Date(BEGIN.getTime() + day * DAY))
      .hour.split(' ')
      .at(-1) ?? '';
  return Array.from({ length: days }, (_, day) => offsetOn(day)).some((offset) => offset !== offsetOn(0));
}

const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(0);
