import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PacedLine } from '#domain/pacing.ts';
import { findViolations } from './check-log.ts';
import { type Job, LineDriver, Workspace } from './line-driver.ts';
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
/** Two days before a change of the clocks in one of these zones; Apia skipped the last of these days as a whole. */
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
    warmupStartedAt: fc.option(
      fc.integer({ min: -9, max: 1 }).map((days) => new Date(begin.getTime() + days * DAY)),
    ),
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
    },
    { requiredKeys: ['address', 'scheduledAt', 'wroteAt'] },
  );
};

/** Lines of a workspace with their work, and how far each round happens from its plan, in seconds. */
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
    look: fc.constantFrom(1, 3, 300),
    batch: fc.integer({ min: 1, max: 8 }),
    drift: fc.infiniteStream(
      fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: -5000, max: 9000 })),
    ),
  }),
);
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never;

/** Time for everything to leave even at one message a week. */
const FAR = new Date('2040-01-01');

function run({ begin, lines, look, batch, drift }: Scenario) {
  const workspace = new Workspace();
  const drivers = lines.map(({ line, jobs, outage }) => {
    const numbered = jobs.map((job, index) => ({ ...job, id: `${line.id} ${index}` }));
    return new LineDriver(line, numbered, workspace, {
      look,
      batch,
      outages: outage === null ? [] : [{ from: begin, to: new Date(begin.getTime() + outage * 1000) }],
    });
  });
  runLines(drivers, {
    until: FAR,
    maxRounds: 20_000,
    happensAt: (at) => new Date(at.getTime() + (drift.next().value ?? 0) * 1000),
  });
  return { drivers, log: workspace.log };
}

describe('any lines, any work, any clock, planned anew at any time', () => {
  test('no cap, gap or window is broken, and every move is into the future', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const { log } = run(given);
        expect(
          findViolations(
            given.lines.map(({ line }) => line),
            log,
          ),
        ).toEqual([]);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  test('everything is sent, and in a bounded number of rounds', () => {
    fc.assert(
      fc.property(scenario, (given) => {
        const { drivers, log } = run(given);
        expect(drivers.map(({ waitingCount }) => waitingCount)).toEqual(drivers.map(() => 0));
        expect(log.length).toBe(given.lines.reduce((sum, { jobs }) => sum + jobs.length, 0));
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  test('messages alike but for their arrival leave in the order of arrival, whatever else is queued', () => {
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
      { numRuns: 150 },
    );
  }, 60_000);

  test('a message is overtaken only by answers and by messages due before the time it was moved to', () => {
    const work = fc
      .constantFrom(...BEGINNINGS)
      .chain((begin) =>
        fc.tuple(line(begin), fc.array(job(begin), { minLength: 1, maxLength: 60, size: 'max' })),
      );
    fc.assert(
      fc.property(work, ([line, jobs]) => {
        const moved = new Map<string, Date>();
        const strangers = jobs.map((job, index) => ({
          ...job,
          wroteAt: null,
          address: `contact ${index}`,
          id: `${index}`,
        }));
        const driver = new LineDriver(line, strangers, new Workspace(), {
          onMove: ({ id, to }) => moved.set(id, to),
        });
        runLines([driver], { until: FAR, maxRounds: 20_000 });
        const turns = driver.sent.map(({ job }) => ({
          at: (moved.get(job.id) ?? job.scheduledAt).getTime(),
          arrival: Number(job.id),
        }));
        expect(turns).toEqual(turns.toSorted((a, b) => a.at - b.at || a.arrival - b.arrival));
        expect(turns.length).toBe(jobs.length);
      }),
      { numRuns: 200 },
    );
  }, 60_000);
});

const arrivalOf = (id: string): number => Number(id.split(' ').at(-1));

/** Takes from the two in turn; each keeps its own order. */
function interleave<T>(some: readonly T[], others: readonly T[]): T[] {
  const length = Math.max(some.length, others.length);
  return Array.from({ length }, (_, index) => [
    ...some.slice(index, index + 1),
    ...others.slice(index, index + 1),
  ]).flat();
}
