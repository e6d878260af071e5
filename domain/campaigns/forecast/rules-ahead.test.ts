import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS } from '#domain/sending/line-limits.ts';
import { type DaySignals, NO_SIGNALS, signalDay } from '#domain/lines/line-signals.ts';
import type { PacedLine } from '#domain/sending/holds.ts';
import { firstSendTime, NO_QUIET_HOURS } from '#domain/sending/quiet-hours.ts';
import { effectsOf, judge, restsUntil } from '#domain/lines/reputation.ts';
import { type ForecastResult, runForecast } from './forecast.ts';
import type { ForecastPlan, WaitingMessages } from './plan.ts';
import { leadPlacesOf, MAX_PLACES } from './lead-places.ts';
import { changesOfLine } from './line-changes.ts';
import { sendTimes } from './send-times.ts';

const NOW = new Date('2026-06-10T15:00:00Z');
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

const paced = (fields: Partial<PacedLine> = {}): PacedLine => ({
  id: 'line',
  channel: 'imessage',
  active: true,
  down: false,
  timezone: 'UTC',
  ...DEFAULT_LIMITS.imessage,
  dailyNew: 10,
  hourlyNew: 10,
  minGapSeconds: 60,
  warmupStartedAt: null,
  usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
  ...fields,
});

function forecast(
  line: PacedLine,
  fields: Partial<ForecastPlan> & {
    changes?: ReturnType<typeof changesOfLine>;
    waiting?: WaitingMessages[];
  } = {},
) {
  const { changes = [], waiting = [], ...plan } = fields;
  const run = runForecast({
    now: NOW,
    timezone: 'UTC',
    leads: 40,
    steps: [{ channel: 'imessage', carriers: ['imessage'], delayMs: 0 }],
    places: [{ share: 1, times: sendTimes({}, 'UTC') }],
    sticky: true,
    lines: [
      {
        line,
        changes,
        weight: 1,
        history: { sentToday: 0, newToday: 0, newThisHour: 0, lastSentAt: null },
        waiting,
      },
    ],
    ...plan,
  });
  for (;;) {
    const step = run.next();
    if (step.done) return step.value;
  }
}
const opened = ({ byDay }: ForecastResult): number[] => byDay.map(({ newConversations }) => newConversations);

describe('a forecast for a line with a reputation', () => {
  it('has its caps of new conversations, counted once, and its gaps', () => {
    expect(opened(forecast(paced()))).toEqual([10, 10, 10, 10]);
    expect(opened(forecast(paced({ newFactor: 0.4 })))).toEqual(Array.from({ length: 10 }, () => 4));
    const at = (line: PacedLine): number => Number(forecast(line, { leads: 10 }).completesAt) - NOW.getTime();
    expect(at(paced({ gapFactor: 1.5 }))).toBe(1.5 * at(paced()));
  });

  it('opens no conversation while the line rests, and names that', () => {
    const until = new Date('2026-06-15T00:00:00Z');
    const { byDay, limitedBy } = forecast(paced({ restsUntil: until }), { leads: 20 });
    expect(byDay.map(({ date }) => date)).toEqual(['2026-06-15', '2026-06-16']);
    expect(limitedBy[0]?.reason).toBe('line_resting');
  });

  it.each([
    ['line_paused', { paused: true }],
    ['line_down', { down: true }],
    ['line_inactive', { active: false }],
    ['line_not_connected', { unconnected: true }],
    ['subscription_past_due', { pastDue: true }],
  ])('does not end while the line is stopped: %s', (reason, state) => {
    expect(forecast(paced(state))).toMatchObject({
      completesAt: null,
      firstStepDoneAt: null,
      byDay: [],
      limitedBy: [{ reason, share: 1 }],
    });
  });

  it('follows it as its signals leave the window and its override ends', () => {
    const days: DaySignals[] = [
      {
        ...NO_SIGNALS,
        day: '2026-06-09',
        sent: 40,
        opened: 40,
        approached: 40,
        answered: 6,
        optouts: 12,
        complained: 6,
      },
    ];
    const until = restsUntil('imessage', days, NOW);
    if (!until) throw new Error('it does not rest');
    const line = {
      channel: 'imessage',
      state: judge('imessage', days, NOW).state,
      policy: 'protect',
    } as const;
    const changes = changesOfLine({ ...line, overriddenUntil: null }, days, NOW);
    for (const { from, ...change } of changes) {
      const effects = effectsOf(
        { ...line, state: judge('imessage', days, from).state, overriddenUntil: null },
        from,
      );
      expect(change).toEqual(
        effects.newConversationsStopped
          ? { newFactor: 1, gapFactor: effects.gapFactor, restsUntil: until }
          : { newFactor: effects.newConversationsFactor, gapFactor: effects.gapFactor, restsUntil: null },
      );
    }
    const [first] = forecast(paced({ restsUntil: until }), { changes }).byDay;
    expect(first?.date).toBe(signalDay(until));

    const overriddenUntil = new Date(NOW.getTime() + DAY_MS);
    const overridden = forecast(paced(), {
      changes: changesOfLine({ ...line, overriddenUntil }, days, NOW),
    });
    expect(opened(overridden).slice(0, 2)).toEqual([10, 10]);
    expect(overridden.byDay[2]?.date).toBe(signalDay(until));
  });

  it('has none with observe or off, and for new and healthy lines', () => {
    for (const [state, policy] of [
      ['critical', 'observe'],
      ['critical', 'off'],
      ['healthy', 'protect'],
      ['new', 'protect'],
    ] as const)
      expect(changesOfLine({ channel: 'sms', state, policy, overriddenUntil: null }, [], NOW)).toEqual([]);
  });
});

describe('a forecast with messages that wait', () => {
  const times = sendTimes(
    { window: { timezone: 'UTC', start: '08:00', end: '17:50', days: [0, 1, 2, 3, 4, 5, 6] } },
    'UTC',
  );
  const completion = (due: WaitingMessages['due']) =>
    forecast(paced(), {
      leads: 0,
      waiting: [{ isNew: true, isCounted: true, times, due }],
    }).completesAt?.toISOString();
  const from = (first: string, last: string, count: number) => ({
    first: new Date(`2026-06-10T${first}Z`),
    last: new Date(`2026-06-10T${last}Z`),
    count,
  });

  it('does not complete before the last of them is due', () => {
    expect(completion([from('16:10:00', '16:53:08', 3)])).toBe('2026-06-10T16:53:08.000Z');
    expect(completion([from('15:34:29', '15:34:29', 1)])).toBe('2026-06-10T15:34:29.000Z');
    expect(completion([from('16:00:00', '16:53:08', 2), from('17:05:00', '17:40:00', 2)])).toBe(
      '2026-06-10T17:40:00.000Z',
    );
  });

  it('sends the last in its window, and after the others', () => {
    expect(completion([from('17:40:00', '17:55:00', 2)])).toBe('2026-06-11T08:00:00.000Z');
    expect(completion([from('16:50:00', '16:51:00', 5)])).toBe('2026-06-10T16:54:00.000Z');
  });
});

describe('a forecast with quiet hours', () => {
  const policy = {
    workspace: { ...NO_QUIET_HOURS, enabled: true, start: '09:00', end: '11:00' },
    campaigns: new Map(),
  };
  const placesOf = (places: { zone: string; count: number }[]) =>
    leadPlacesOf(
      {
        quiet: policy,
        campaignId: null,
        window: undefined,
        places: places.map(({ zone, count }) => ({ zones: [zone], region: null, count })),
      },
      'UTC',
    );

  it('sends when the leads are awake, by their share, and names the quiet hours', () => {
    const line = paced({ dailyNew: 1000, hourlyNew: 1000, minGapSeconds: 60, dailyTotal: 1000 });
    const places = placesOf([
      { zone: 'America/Los_Angeles', count: 30 },
      { zone: 'Asia/Tokyo', count: 10 },
    ]);
    // 09:00 in Los Angeles is 16:00 UTC; 09:00 in Tokyo is midnight.
    const { completesAt, byDay, limitedBy } = forecast(line, { leads: 80, places });
    expect(byDay).toEqual([
      { date: '2026-06-10', messages: 60, newConversations: 60 },
      { date: '2026-06-11', messages: 20, newConversations: 20 },
    ]);
    expect(completesAt?.toISOString()).toBe('2026-06-11T00:19:00.000Z');
    expect(limitedBy.map(({ reason }) => reason)).toContain('recipient_quiet_hours');
  });

  it('keeps the most frequent places', () => {
    const zones = Intl.supportedValuesOf('timeZone').slice(0, MAX_PLACES + 5);
    const places = placesOf(zones.map((zone, count) => ({ zone, count: count + 1 })));
    expect(places.map(({ share }) => share)).toEqual(
      zones
        .map((_, count) => count + 1)
        .toReversed()
        .slice(0, MAX_PLACES),
    );
  });

  const zone = fc.constantFrom('America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe');
  const time = fc.constantFrom('00:00', '08:00', '09:30', '17:15', '21:00');

  it('has the times of the pacing rules', () => {
    fc.assert(
      fc.property(
        fc.option(fc.record({ timezone: zone, start: time, end: time }), { nil: undefined }),
        fc.record({
          zones: fc.tuple(zone),
          start: time,
          end: time,
          law: fc.constantFrom(null, 'US-FL', 'US-AL'),
        }),
        fc.integer({ min: 0, max: 60 * 24 * 400 }),
        (window, quiet, minutes) => {
          const at = NOW.getTime() + minutes * 60_000;
          const times = sendTimes({ window, quiet }, 'UTC');
          const first = firstSendTime({ window, quiet }, new Date(at));
          fc.pre(first !== null);
          expect(times.opening(at)).toBe(first?.getTime());
          if (times.opening(at) > at) {
            const isOpen = firstSendTime({ window }, new Date(at))?.getTime() === at;
            expect(times.closedBy(at)).toBe(isOpen ? 'recipient_quiet_hours' : 'send_window');
            return;
          }
          const end = times.closing(at, at + HOUR_MS);
          expect(end).toBeGreaterThan(at);
          expect(times.opening(end - 60_000)).toBeLessThan(end);
        },
      ),
    );
  });
});
