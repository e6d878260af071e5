import { findViolations, type Violation, wallClock } from './check-log.ts';
import type { PacedLine } from '../../../domain/sending/holds.ts';
import { type Job, LineDriver, Workspace } from './line-driver.ts';
import { LongWorkspace } from './long-workload.ts';
import { PLANTS, type Plant } from './plants.ts';
import { runLines } from './run-lines.ts';
import { seeded } from './workload.ts';

const DAY = 86_400_000;
const WEEK = 7 * DAY;
/** A prime, so that every zone has its turn, and the first ones are from all over the list. */
const ZONE_STEP = 163;
const PROGRESS_MS = 30_000;

export interface LongSimulation {
  begin: Date;
  days: number;
  lines: number;
  seed: number;
  /** A mistake that the rules make. */
  plant?: Plant;
  onWorkspace?: (result: LongResult) => void;
}

export interface LongResult {
  lines: number;
  queued: number;
  sent: number;
  waiting: number;
  rounds: number;
  zones: Set<string>;
  violations: Violation[];
}

/** Simulates workspaces one after the other. @returns what `findViolations` finds in their logs. */
function simulateLong(simulation: LongSimulation): LongResult {
  const { begin, lines, seed, onWorkspace } = simulation;
  const random = seeded(seed);
  const zones = Intl.supportedValuesOf('timeZone');
  const result: LongResult = {
    lines: 0,
    queued: 0,
    sent: 0,
    waiting: 0,
    rounds: 0,
    zones: new Set(),
    violations: [],
  };
  for (let number = 0; result.lines < lines; number += 1) {
    const zone = zones[((number + seed) * ZONE_STEP) % zones.length] ?? 'UTC';
    const count = Math.min(1 + Math.floor(random() * 3), lines - result.lines);
    const workspace = new LongWorkspace(`workspace ${number}`, zone, count, begin, random);
    const { drivers, rounds, log } = run(workspace, simulation, random);
    result.zones.add(zone);
    result.lines += count;
    result.rounds += rounds;
    result.queued += workspace.queued;
    result.sent += log.length;
    const unsent = drivers.flatMap(({ line, unsent: jobs }) => jobs.map((job) => ({ lineId: line.id, job })));
    result.waiting += unsent.length;
    result.violations.push(...findViolations(workspace.lines, log, unsent));
    onWorkspace?.(result);
  }
  return result;
}

function run(work: LongWorkspace, { begin, days, plant }: LongSimulation, random: () => number) {
  const shared = new Workspace();
  const change = plant?.line ?? ((line: PacedLine) => line);
  const changeJob = plant?.job ?? ((job: Job) => job);
  const drivers = work.lines.map(
    (line) => new LineDriver(change(line), [], shared, { outages: work.outagesOf(line, days) }),
  );
  const jobs = new Map<string, Job>();
  let rounds = 0;
  for (let from = begin.getTime(); from < begin.getTime() + days * DAY; from += WEEK) {
    // Week by week, because a plan looks through all that waits.
    for (const [index, line] of work.lines.entries()) {
      const added = work.jobsOf(line, new Date(from));
      if (plant) for (const job of added) jobs.set(job.id, job);
      drivers[index]?.add(added.map(changeJob));
    }
    const until = new Date(Math.min(from + WEEK, begin.getTime() + days * DAY));
    // The last round of a week may have happened in this one: time does not go back.
    const lastSentAt = shared.log.at(-1)?.at.getTime() ?? 0;
    rounds += runLines(drivers, {
      from: new Date(Math.max(from, lastSentAt)),
      until,
      happensAt: (at) => new Date(at.getTime() + drift(random)),
    });
  }
  const log = shared.log.map((sent) => ({ ...sent, job: jobs.get(sent.job.id) ?? sent.job }));
  return { drivers, rounds, log };
}

/** The difference between the actual and the planned time of a round, as after crashes and restarts. */
function drift(random: () => number): number {
  const kind = random();
  if (kind < 0.9) return random() * 500;
  return kind < 0.95 ? -random() * 60_000 : random() * 3_600_000;
}

/**
 * Plants each mistake into a short simulation around changes of the clocks. Fails if the checker misses one, or finds any
 * without a mistake.
 */
export function reportPlants(options: { days?: number; lines?: number; seed: number }): void {
  const { days = 14, lines = 20, seed } = options;
  const begin = new Date('2026-03-25T00:00:00Z');
  const found = (plant?: Plant): Violation[] =>
    simulateLong({ begin, days, lines, seed, ...(plant && { plant }) }).violations;
  const without = found();
  console.log(`without a mistake: ${without.length} violations`);
  if (without.length > 0) process.exitCode = 1;
  for (const [name, plant] of Object.entries(PLANTS)) {
    const count = found(plant).filter(({ rule }) => rule === plant.shows).length;
    console.log(`${name}: ${count} × ${plant.shows}${count === 0 ? ', NOT NOTICED' : ''}`);
    if (count === 0) process.exitCode = 1;
  }
}

/** Simulates and prints. Fails if a rule was violated, or if a message is neither sent nor waiting. */
export function reportLong(options: { days: number; lines: number; seed: number; plant?: string }): void {
  const { days, lines, seed, plant } = options;
  const started = performance.now();
  const seconds = (): string => ((performance.now() - started) / 1000).toFixed(0);
  const begin = new Date('2026-01-01T00:00:00Z');
  const planted = plant === undefined ? undefined : PLANTS[plant];
  if (plant !== undefined && !planted) throw new Error(`--plant is one of ${Object.keys(PLANTS).join(', ')}`);
  let shown = started;
  const result = simulateLong({
    begin,
    days,
    lines,
    seed,
    ...(planted && { plant: planted }),
    onWorkspace(soFar) {
      if (performance.now() - shown < PROGRESS_MS) return;
      shown = performance.now();
      console.log(`… ${soFar.lines} lines, ${soFar.sent} messages, ${seconds()} s`);
    },
  });
  const { queued, sent, waiting, rounds, violations } = result;
  const changing = [...result.zones].filter((zone) => changesClocks(zone, begin, days));
  const all = Intl.supportedValuesOf('timeZone').length;
  console.log(`${lines} lines, ${days} days from ${begin.toISOString()}, seed ${seed}`);
  console.log(
    `zones         ${result.zones.size} of ${all}, ${changing.length} of which change their clocks`,
  );
  console.log(`messages      ${queued} queued, ${sent} sent, ${waiting} still in their place`);
  console.log(`rounds        ${rounds}`);
  const lost = queued - sent - waiting;
  console.log(`lost          ${lost}`);
  console.log(`violations    ${violations.length}`);
  for (const [rule, those] of Map.groupBy(violations, ({ rule }) => rule)) {
    console.log(`  ${rule}: ${those.length}`);
    for (const { lineId, at } of those.slice(0, 3)) console.log(`    ${lineId} at ${at.toISOString()}`);
  }
  console.log(`time          ${seconds()} s`);
  if (violations.length > 0 || lost !== 0) process.exitCode = 1;
}

function changesClocks(zone: string, begin: Date, days: number): boolean {
  const offsetOn = (day: number): string =>
    wallClock(zone, new Date(begin.getTime() + day * DAY))
      .hour.split(' ')
      .at(-1) ?? '';
  return Array.from({ length: days }, (_, day) => offsetOn(day)).some((offset) => offset !== offsetOn(0));
}
