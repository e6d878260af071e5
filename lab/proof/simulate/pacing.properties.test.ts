import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PacedLine } from '../../../domain/sending/holds.ts';
import type { NextLook } from '../../../domain/sending/pacing.ts';
import { firstSendTime, wakingHours } from '../../../domain/sending/quiet-hours.ts';
import { findViolations } from './check-log.ts';
import { type DriverOptions, type Job, LineDriver, type Round, Workspace } from './line-driver.ts';
import { runLines } from './run-lines.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

const ZONES = [
  'UTC',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'America/New_York',
  'Pacific/Apia',
  'Africa/Casablanca',
  'America/Santiago',
];
/** Two days before the clocks change in one of these zones, or before the day that Apia skipped. */
const BEGINNINGS = [
  '2026-02-13',
  '2026-03-06',
  '2026-03-20',
  '2026-04-02',
  '2026-09-04',
  '2026-10-01',
  '2026-10-30',
  '2026-06-10',
  '2011-12-28',
].map((date) => new Date(`${date}T00:00:00Z`));

const timeOfDay = fc
  .integer({ min: 0, max: 95 })
  .map(
    (quarter) =>
      `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`,
  );
const window = fc.record(
  {
    timezone: fc.constantFrom(...ZONES),
    start: timeOfDay,
    end: timeOfDay,
    days: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 7 }),
  },
  { requiredKeys: ['timezone'] },
);

const quietHours = fc.record({
  enabled: fc.boolean(),
  start: timeOfDay,
  end: timeOfDay,
  law: fc.constant('none' as const),
  appliesTo: fc.constant(['campaign', 'drip'] as const).map((kinds) => [...kinds]),
});

const seconds = (max: number): fc.Arbitrary<number> => fc.oneof(fc.constant(0), fc.integer({ min: 1, max }));
const line = (begin: Date): fc.Arbitrary<PacedLine> =>
  fc.record({
    id: fc.string({ minLength: 1, maxLength: 4 }),
    channel: fc.constantFrom('imessage', 'sms', 'email'),
    active: fc.constant(true),
    down: fc.constant(false),
    timezone: fc.constantFrom(...ZONES),
    dailyTotal: fc.integer({ min: 1, max: 25 }),
    dailyNew: fc.integer({ min: 1, max: 25 }),
    hourlyNew: fc.option(fc.integer({ min: 1, max: 5 })),
    minGapSeconds: seconds(4000),
    contactGapSeconds: seconds(9000),
    quiet: quietHours.map((workspace) => ({ workspace, campaigns: new Map() })),
    warmupStartedAt: fc.option(
      fc.integer({ min: -9, max: 1 }).map((days) => new Date(begin.getTime() + days * DAY)),
    ),
    usedUp: fc.constant({ hourlyNew: null, dailyNew: null, dailyTotal: null }),
  });

/** Several zones in one area, as some area codes have; two of them on either side of the date line. */
const recipient = fc.record({
  kind: fc.constantFrom('campaign', 'drip', 'message'),
  campaignId: fc.constant(null),
  zones: fc.oneof(
    fc.constant(null),
    fc.uniqueArray(fc.constantFrom(...ZONES, 'America/Chicago', 'America/Denver'), {
      minLength: 1,
      maxLength: 2,
    }),
  ),
  region: fc.constant(null),
});

const job = (begin: Date): fc.Arbitrary<Omit<Job, 'id'>> => {
  const minute = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 4 * 1440 }));
  return fc.record(
    {
      address: fc.integer({ min: 0, max: 25 }).map((index) => `contact ${index}`),
      scheduledAt: minute.map((at) => new Date(begin.getTime() + at * MINUTE)),
      wroteAt: fc.option(
        minute.map((at) => new Date(begin.getTime() + at * MINUTE)),
        { freq: 4 },
      ),
      window,
      recipient,
    },
    { requiredKeys: ['address', 'scheduledAt', 'wroteAt'] },
  );
};

/** Lines of a workspace with their messages, and by how many seconds each round differs from its planned time. */
const scenario = fc.constantFrom(...BEGINNINGS).chain((begin) =>
  fc.record({
    begin: fc.constant(begin),
    lines: fc.uniqueArray(
      fc.record({
        line: line(begin),
        jobs: fc.array(job(begin), { maxLength: 60, size: 'max' }),
        outage: fc.option(seconds(3 * 86_400)),
      }),
      { minLength: 1, maxLength: 2, selector: ({ line: { id } }) => id },
    ),
    look: fc.constantFrom(1, 3, 16),
    batch: fc.integer({ min: 1, max: 8 }),
    drift: fc.infiniteStream(
      fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: -5000, max: 9000 })),
    ),
  }),
);
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

const MONTHS = Array.from({ length: 12 }, (_, index) => index);

/** Whether the window of a message and the quiet hours of its recipient have a time in common, all year round. */
function couldLeave(
  { quiet, timezone }: PacedLine,
  { window, recipient }: Omit<Job, 'id'>,
  begin: Date,
): boolean {
  const times = { window, quiet: quiet && recipient && wakingHours(quiet, recipient, timezone) };
  if (!times.quiet) return true;
  return MONTHS.every((month) => firstSendTime(times, new Date(begin.getTime() + month * 30 * DAY)) !== null);
}

/** Enough time to send everything even at one message a week. */
const FAR = new Date('2040-01-01');

function run(
  { begin, lines, look, batch, drift }: Scenario,
  options: (line: PacedLine) => Partial<DriverOptions> = () => ({}),
) {
  const workspace = new Workspace();
  const drivers = lines.map(({ line, jobs, outage }) => {
    // What could never be sent is refused when it is accepted.
    const accepted = jobs.filter((job) => couldLeave(line, job, begin));
    const numbered = accepted.map((job, index) => ({ ...job, id: `${line.id} ${index}` }));
    return new LineDriver(line, numbered, workspace, {
      look,
      batch,
      outages: outage === null ? [] : [{ from: begin, to: new Date(begin.getTime() + outage * 1000) }],
      ...options(line),
    });
  });
  runLines(drivers, {
    until: FAR,
    maxRounds: 20_000,
    happensAt: (at) => new Date(at.getTime() + (drift.next().value ?? 0) * 1000),
  });
  return { drivers, log: workspace.log };
}

describe('arbitrary lines and messages, with rounds at arbitrary times', () => {
  it('violate no cap, gap or window, plan each round in the future, and send everything in a bounded number of them', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const { drivers, log } = run(given);
        const lines = given.lines.map(({ line }) => line);
        expect(findViolations(lines, log)).toEqual([]);
        expect(drivers.flatMap(({ unsent }) => unsent)).toEqual([]);
        const accepted = given.lines.flatMap(({ line, jobs }) =>
          jobs.filter((job) => couldLeave(line, job, given.begin)),
        );
        expect(log.length).toBe(accepted.length);
      }),
      { numRuns: 100 },
    );
  });

  it('send messages that differ only in their arrival in the order of arrival', () => {
    fc.assert(
      fc.property(scenario, fc.option(window), fc.integer({ min: 0, max: 1440 }), (given, window, minute) => {
        const scheduledAt = new Date(given.begin.getTime() + minute * MINUTE);
        const alike = Array.from({ length: 20 }, (_, index) => ({
          address: `equal ${index}`,
          scheduledAt,
          wroteAt: null,
          ...(window && { window }),
        }));
        const [first, ...others] = given.lines;
        const lines = [{ ...first!, jobs: interleave(first!.jobs, alike) }, ...others];
        const { log } = run({ ...given, lines });
        const order = log
          .filter(({ job }) => job.address.startsWith('equal'))
          .map(({ job }) => arrivalOf(job.id));
        expect(order).toEqual(order.toSorted((a, b) => a - b));
        expect(order.length).toBe(20);
      }),
      { numRuns: 75 },
    );
  });

  it('show for every waiting message a reason and an earliest time that hold', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        run(given, () => {
          const shown = new Map<string, Shown>();
          return {
            onRound: (round) => {
              expectPromisesKept(round, shown);
              if (round.next) expectNextPlanInTime(round, round.next);
              else expectOvertakenAreHeld(round);
            },
          };
        });
      }),
      { numRuns: 50 },
    );
  });
});

/** Like `expect`, but cheap enough for millions of calls. */
function must(holds: boolean, message: { id: string }, now: Date): void {
  if (!holds) throw new Error(`message ${message.id} at ${now.toISOString()}`);
}

interface Shown {
  at: Date;
  isNew: boolean;
  isAnswer: boolean;
}

/** Nothing is sent before a time that was shown, and the shown time never becomes earlier. */
function expectPromisesKept({ now, sent, waiting }: Round, shown: Map<string, Shown>): void {
  for (const { job, isNew } of sent) {
    const before = shown.get(job.id);
    // A contact that has become known no longer starts a conversation, and one that has just written is awake.
    if (before?.isNew === isNew && before.isAnswer === isAnswer(job, now)) must(before.at <= now, job, now);
  }
  for (const { message, shownAt } of waiting()) {
    const { id, isNew, isAnswer } = message;
    const { scheduledAt: at, reason } = shownAt(now);
    // Messages due on a line that is down keep their place.
    if (reason === 'line_down') continue;
    const before = shown.get(id);
    if (before?.isNew === isNew && before.isAnswer === isAnswer && before.at > now)
      must(at >= before.at, message, now);
    shown.set(id, { at, isNew, isAnswer });
  }
}

/** A message is overtaken by a later one only while a rule holds it. */
function expectOvertakenAreHeld({ now, sent, waiting }: Round): void {
  const last = sent.at(-1)?.job;
  if (!last || isAnswer(last, now)) return;
  for (const { message, shownAt } of waiting()) {
    if (message.scheduledAt >= last.scheduledAt) continue;
    const { moved } = shownAt(now);
    must(moved !== null && moved.to > now, message, now);
  }
}

/** If nothing was sent, each message shows a reason and a time, and the line plans again by that time. */
function expectNextPlanInTime({ now, waiting }: Round, next: NextLook): void {
  for (const { message, shownAt } of waiting()) {
    const { reason, scheduledAt } = shownAt(now);
    if (message.scheduledAt > now) {
      // If the line plans after the message is due, a rule holds the message at that time.
      if (!next.at || next.reason === 'line_gap' || next.at <= message.scheduledAt) continue;
      const then = shownAt(message.scheduledAt);
      must(then.moved !== null && then.scheduledAt >= next.at, message, now);
      continue;
    }
    must(reason !== 'scheduled', message, now);
    if (next.reason === 'line_down') must(reason === 'line_down', message, now);
    else if (next.reason === 'line_gap') must(scheduledAt > now || reason === 'line_gap', message, now);
    else must(next.at !== null && scheduledAt >= next.at && scheduledAt > now, message, now);
  }
}

const isAnswer = ({ wroteAt }: Job, now: Date): boolean =>
  wroteAt !== null && wroteAt <= now && now.getTime() - wroteAt.getTime() < DAY;

const arrivalOf = (id: string): number => Number(id.split(' ').at(-1));

/** Alternates the items of two lists, each in its own order. */
function interleave<T>(some: readonly T[], others: readonly T[]): T[] {
  const length = Math.max(some.length, others.length);
  return Array.from({ length }, (_, index) => [
    ...some.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}
