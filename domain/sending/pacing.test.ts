import { describe, expect, it } from 'vitest';
import { dailyNewCap, DEFAULT_LIMITS, hourlyNewCap, lineGapMs } from './line-limits.ts';
import { type LineHistory, type PacedLine, usedUpAt } from './holds.ts';
import { chooseSends, type Lane, planQueue, type QueuedMessage } from './pacing.ts';
import { whyItWaits } from './why-it-waits.ts';

const at = (text: string): Date => new Date(text);
const NOW = at('2026-06-10T14:20:00Z'); // Wednesday, 10:20 in New York
const NEXT_HOUR = at('2026-06-10T15:00:00Z');
const NEXT_MORNING = at('2026-06-11T13:00:00Z');
const LINE: PacedLine = {
  id: 'line-1',
  channel: 'imessage',
  active: true,
  down: false,
  timezone: 'America/New_York',
  ...DEFAULT_LIMITS.imessage,
  hourlyNew: 5,
  warmupStartedAt: null,
  usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: null },
};
const EAGER: PacedLine = { ...LINE, minGapSeconds: 0 };
const FRESH: LineHistory = { sentToday: 0, newToday: 0, newThisHour: 0, lastSentAt: null };
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);

/** What callers see of a waiting message. */
function shownWait(line: PacedLine, { lastSentAt }: LineHistory, given: QueuedMessage, now: Date) {
  const wait = whyItWaits({ ...line, lastSentAt }, given, now);
  if (!wait) throw new Error('it does not wait');
  const { reason, scheduledAt, moved } = wait;
  return { scheduledAt, holdReason: reason === 'scheduled' ? null : reason, moved };
}

let arrivals = 0;
function message(id: string, fields: Partial<QueuedMessage> = {}): QueuedMessage {
  arrivals += 1;
  return {
    id,
    address: `to ${id}`,
    scheduledAt: ago(60),
    arrival: arrivals,
    isNew: true,
    isAnswer: false,
    contactLastSentAt: null,
    ...fields,
  };
}

/** Every message gets its own lane. */
const laneOf = ({ id, isNew, isAnswer, scheduledAt, window }: QueuedMessage): Lane => ({
  key: id,
  isNew: isNew && !isAnswer,
  ...(window && { window }),
  firstAt: scheduledAt,
  laterAt: scheduledAt > NOW ? scheduledAt : null,
});

/** The plan of a line at `NOW`, assembled as the send plan assembles it. */
function plan(
  given: PacedLine,
  history: LineHistory,
  queue: readonly QueuedMessage[],
  options: { batch: number } = { batch: 16 },
) {
  const line = { ...given, usedUp: usedUpAt(given, history, NOW) };
  const { open, next } = planQueue(line, history, queue.map(laneOf), NOW);
  const found = queue.filter(({ id, scheduledAt }) =>
    open.some(({ key, since }) => key === id && scheduledAt >= since && scheduledAt <= NOW),
  );
  const { send, contactGaps } = chooseSends(line, history, found, NOW, options);
  const shown = queue.map((message) => shownWait(line, history, message, NOW));
  return { send, contactGaps: [...contactGaps], next, shown };
}

describe('the order of sends', () => {
  it('puts replies first, then the earlier scheduled, then the earlier arrived', () => {
    const queue = [
      message('late', { scheduledAt: ago(10) }),
      message('second', { arrival: 900 }),
      message('first', { arrival: 800 }),
      message('answer', { scheduledAt: ago(5), isAnswer: true }),
    ];
    expect(plan(EAGER, FRESH, queue).send).toEqual(['answer', 'first', 'second', 'late']);
    const urgent = message('urgent', { scheduledAt: ago(1), isUrgent: true });
    expect(plan(EAGER, FRESH, [...queue, urgent]).send[0]).toBe('urgent');
  });

  it('allows one message per round on a line with a gap', () => {
    expect(plan(LINE, FRESH, [message('a'), message('b')]).send).toEqual(['a']);
  });

  it('allows one batch per round on a line without a gap', () => {
    const queue = [message('a'), message('b'), message('c')];
    expect(plan(EAGER, FRESH, queue, { batch: 2 }).send).toEqual(['a', 'b']);
  });

  it('allows one trial message after the circuit of a line was open', () => {
    const line: PacedLine = { ...EAGER, circuit: { state: 'trial', trials: 0 } };
    expect(plan(line, FRESH, [message('a'), message('b')]).send).toEqual(['a']);
  });

  it('makes a trial with what was tried least, and changes no order of what one contact gets', () => {
    const line: PacedLine = { ...EAGER, circuit: { state: 'trial', trials: 2 } };
    const first = message('first', { tries: 2, arrival: 1, address: '+14155550100' });
    const second = message('second', { tries: 0, arrival: 2, address: '+14155550100' });
    const other = message('other', { tries: 1, arrival: 3 });
    expect(plan(line, FRESH, [second, first]).send).toEqual(['first']);
    expect(plan(line, FRESH, [second, first, other]).send).toEqual(['other']);
    expect(plan(line, FRESH, [{ ...second, isUrgent: true }, first, other]).send).toEqual(['second']);
  });

  it('waits until the next message is due', () => {
    const due = at('2026-06-10T14:20:01Z');
    const { send, next, shown } = plan(EAGER, FRESH, [message('a', { scheduledAt: due })]);
    expect([send, next]).toEqual([[], { at: due, reason: 'scheduled' }]);
    expect(shown).toEqual([{ scheduledAt: due, holdReason: null, moved: null }]);
  });

  it('sets no time for the next round without messages', () => {
    expect(plan(EAGER, FRESH, [])).toMatchObject({ send: [], next: { at: null, reason: 'idle' } });
  });

  it('skips a contact who opted out', () => {
    expect(plan(EAGER, FRESH, [message('a', { optedOut: true })])).toMatchObject({
      send: [],
      contactGaps: [],
    });
  });
});

describe('a line that may not send holds all its messages', () => {
  const full = { sentToday: 999, newToday: 999, newThisHour: 999 };

  it('during its gap, until the gap ends', () => {
    const lastSentAt = ago(9);
    const gapEnd = new Date(lastSentAt.getTime() + lineGapMs(LINE, lastSentAt));
    const scheduledAt = ago(60);
    const queue = [message('a', { scheduledAt })];
    expect(plan(LINE, { ...FRESH, lastSentAt }, queue)).toEqual({
      send: [],
      contactGaps: [],
      next: { at: gapEnd, reason: 'line_gap' },
      shown: [{ scheduledAt, holdReason: 'line_gap', moved: null }],
    });
    expect(planQueue(LINE, { lastSentAt }, queue.map(laneOf), gapEnd).open).toHaveLength(1);
  });

  it.each([
    ['line_down', { down: true }],
    ['line_inactive', { active: false }],
    ['line_inactive', { active: false, down: true }],
    ['line_paused', { paused: true, active: false }],
    ['workspace_suspended', { suspended: true, pastDue: true, paused: true }],
    ['subscription_past_due', { pastDue: true }],
    ['subscription_past_due', { pastDue: true, paused: true, active: false, down: true }],
  ])('with %s, until its state changes', (reason, state) => {
    const queue = [message('a')];
    const { send, next, shown } = plan({ ...EAGER, ...state }, { ...FRESH, ...full }, queue);
    expect([send, next]).toEqual([[], { at: null, reason }]);
    expect(shown).toEqual([{ scheduledAt: queue[0]?.scheduledAt, holdReason: reason, moved: null }]);
  });

  it('with carrier_pause, until the pause ends', () => {
    const line: PacedLine = { ...EAGER, circuit: { state: 'open', until: NEXT_HOUR, trials: 0 } };
    const { send, next } = plan(line, FRESH, [message('a')]);
    expect([send, next]).toEqual([[], { at: NEXT_HOUR, reason: 'carrier_pause' }]);
  });
});

describe('a message is held', () => {
  const office = { timezone: 'America/New_York', start: '08:00', end: '10:30' };
  /** The hold reason and the time that a message shows; its line plans again at that time. */
  const held = (history: Partial<LineHistory>, fields: Partial<QueuedMessage> = {}, line = EAGER) => {
    const { send, next, shown } = plan(line, { ...FRESH, ...history }, [message('a', fields)]);
    expect(send).toEqual([]);
    const moved = { to: next.at, reason: next.reason };
    expect(shown).toEqual([{ scheduledAt: next.at, holdReason: next.reason, moved }]);
    return [next.reason, next.at];
  };

  it('until the next hour, within its window, by a used-up hourly cap', () => {
    expect(held({ newThisHour: 5 })).toEqual(['hourly_new_cap', NEXT_HOUR]);
    expect(held({ newThisHour: 5 }, { window: office })).toEqual(['hourly_new_cap', at('2026-06-11T12:00Z')]);
  });

  it('until 09:00 the next day, or the opening of its window, by a used-up daily cap', () => {
    expect(held({ newToday: 50 })).toEqual(['daily_new_cap', NEXT_MORNING]);
    expect(held({ newToday: 50 }, { window: office })).toEqual(['daily_new_cap', at('2026-06-11T12:00Z')]);
    expect(held({ sentToday: 150 }, { isNew: false })).toEqual(['daily_total_cap', NEXT_MORNING]);
    expect(held({ sentToday: 150 }, { isAnswer: true })).toEqual(['daily_total_cap', NEXT_MORNING]);
  });

  it("until the morning after the workspace's day, whatever the zone of its window", () => {
    const kolkata = { timezone: 'Asia/Kolkata', start: '09:00', end: '23:00' };
    expect(held({ newToday: 50 }, { window: kolkata })).toEqual(['daily_new_cap', at('2026-06-12T03:30Z')]);
  });

  it('until 09:00 in a window without a start, if that is open then', () => {
    const timezone = 'America/New_York';
    const until = (end: string) => held({ newToday: 50 }, { window: { timezone, end } });
    expect(until('18:00')).toEqual(['daily_new_cap', NEXT_MORNING]);
    expect(until('10:30')).toEqual(['daily_new_cap', NEXT_MORNING]);
  });

  it('until the morning of an allowed day', () => {
    const mondays = { timezone: 'America/New_York', days: [1, 3] };
    expect(held({ newToday: 50 }, { window: mondays })).toEqual(['daily_new_cap', at('2026-06-15T13:00Z')]);
  });

  it('until its window opens', () => {
    const window = { ...office, start: '11:00', end: '12:00' };
    expect(held({}, { window })).toEqual(['send_window', NEXT_HOUR]);
    expect(held({ newThisHour: 5 }, { window })).toEqual(['send_window', NEXT_HOUR]);
  });

  it('until the next morning, every day, by a cap of 0', () => {
    expect(held({}, {}, { ...EAGER, hourlyNew: 0 })).toEqual(['hourly_new_cap', NEXT_MORNING]);
    expect(held({}, {}, { ...EAGER, dailyNew: 0 })).toEqual(['daily_new_cap', NEXT_MORNING]);
    expect(held({}, {}, { ...EAGER, dailyTotal: 0 })).toEqual(['daily_total_cap', NEXT_MORNING]);
  });

  it('for the contact gap, unless an operator sends it now', () => {
    const lately = { address: 'x', contactLastSentAt: ago(59) };
    const { send, contactGaps } = plan(EAGER, FRESH, [message('a', lately)]);
    expect([send, contactGaps]).toEqual([[], [['x', at('2026-06-10T14:20:01Z')]]]);
    expect(plan(EAGER, FRESH, [message('a', { contactLastSentAt: ago(60) })]).send).toEqual(['a']);
    expect(plan(EAGER, FRESH, [message('a', { ...lately, isUrgent: true })]).send).toEqual(['a']);
  });

  it('by no cap of new conversations if it is a reply or goes to a known contact', () => {
    const history = { ...FRESH, newThisHour: 5, newToday: 50 };
    const queue = [
      message('cold'),
      message('known', { isNew: false }),
      message('answer', { isAnswer: true }),
    ];
    const { send, shown } = plan(EAGER, history, queue);
    expect(send).toEqual(['answer', 'known']);
    expect(shown.map(({ holdReason }) => holdReason)).toEqual(['daily_new_cap', null, null]);
  });
});

describe('a used-up cap', () => {
  const MIDNIGHT = at('2026-06-10T04:00:00Z'); // in New York
  const MORNING = at('2026-06-10T13:00:00Z');
  const NIGHT = at('2026-06-10T06:00:00Z');
  const night: PacedLine = { ...EAGER, usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: MIDNIGHT } };
  const yesterday = message('yesterday', { scheduledAt: at('2026-06-10T03:00:00Z') });
  const fresh = message('fresh', { scheduledAt: at('2026-06-10T05:00:00Z') });
  const lane: Lane = {
    key: 'lane',
    isNew: true,
    firstAt: yesterday.scheduledAt,
    laterAt: at('2026-06-10T07:00:00Z'),
  };

  it('of yesterday holds what was due then until the morning, but not what falls due at night', () => {
    const { open, next } = planQueue(night, FRESH, [lane], NIGHT);
    expect(open).toEqual([{ key: 'lane', isNew: true, since: MIDNIGHT }]);
    expect(next.at).toEqual(lane.laterAt);
    expect(shownWait(night, FRESH, yesterday, NIGHT)).toEqual({
      scheduledAt: MORNING,
      holdReason: 'daily_total_cap',
      moved: { to: MORNING, reason: 'daily_total_cap' },
    });
    expect(shownWait(night, FRESH, fresh, NIGHT).holdReason).toBeNull();
    expect(planQueue(night, FRESH, [lane], MORNING).open[0]?.since).toEqual(new Date(0));
  });

  it('still shows the time a waiting message was moved to', () => {
    const shown = shownWait(night, FRESH, yesterday, NOW);
    const moved = { to: MORNING, reason: 'daily_total_cap' };
    expect(shown).toEqual({ scheduledAt: MORNING, holdReason: null, moved });
  });

  it('makes the line plan again at midnight if more falls due before', () => {
    const full = { ...FRESH, sentToday: 150 };
    const evening = at('2026-06-11T01:00:00Z');
    const line = { ...EAGER, usedUp: usedUpAt(EAGER, full, evening) };
    const later = { ...lane, firstAt: ago(60), laterAt: at('2026-06-11T02:00:00Z') };
    expect(planQueue(line, full, [later], evening)).toEqual({
      open: [],
      next: { at: at('2026-06-11T04:00:00Z'), reason: 'scheduled' },
    });
  });

  it('is free again when a send did not happen', () => {
    const usedUp = usedUpAt(EAGER, { ...FRESH, newThisHour: 5 }, NOW);
    expect(usedUp.hourlyNew).toEqual(NEXT_HOUR);
    expect(usedUpAt({ ...EAGER, usedUp }, { ...FRESH, newThisHour: 4 }, NOW).hourlyNew).toBeNull();
    expect(usedUpAt({ ...EAGER, usedUp }, FRESH, NEXT_HOUR).hourlyNew).toEqual(NEXT_HOUR);
  });
});

describe('the next look at messages under quiet hours', () => {
  const MIDNIGHT = at('2026-06-10T04:00:00Z'); // in New York
  const recipient = { kind: 'campaign', campaignId: null, zones: null, region: null } as const;
  const awake = (start: string, end: string): PacedLine => ({
    ...EAGER,
    usedUp: { hourlyNew: null, dailyNew: null, dailyTotal: MIDNIGHT },
    quiet: {
      workspace: { enabled: true, start, end, law: 'none', appliesTo: ['campaign'] },
      campaigns: new Map(),
    },
  });
  const known = message('yesterday', {
    isNew: false,
    recipient,
    scheduledAt: at('2026-06-10T03:00:00Z'),
  });
  const lane: Lane = { key: 'lane', isNew: false, recipient, firstAt: known.scheduledAt, laterAt: null };

  it('is as early as that of any of them, if yesterday used up a cap for the first alone', () => {
    const line = awake('06:00', '21:00');
    const fresh = { ...known, scheduledAt: at('2026-06-10T05:00:00Z') };
    const night = at('2026-06-10T06:00:00Z');
    const { open, next } = planQueue(line, FRESH, [lane], night);
    expect([next.at, next.reason]).toEqual([at('2026-06-10T10:00:00Z'), 'recipient_quiet_hours']);
    expect(open.map(({ answersOnly }) => answersOnly)).toEqual([true]);
    expect(shownWait(line, FRESH, fresh, night).scheduledAt).toEqual(next.at);
    expect(shownWait(line, FRESH, known, night).scheduledAt).toEqual(at('2026-06-10T13:00:00Z'));
  });

  it('is that of an answer, which waits for no waking hours, while all are open', () => {
    const line = awake('00:00', '00:15');
    const window = { timezone: 'America/New_York', start: '00:20', end: '00:05' };
    const answer = { ...known, isAnswer: true, window };
    const { next } = planQueue(line, FRESH, [{ ...lane, window }], MIDNIGHT);
    expect(next.at).toEqual(at('2026-06-10T04:20:00Z'));
    expect(shownWait(line, FRESH, answer, MIDNIGHT).scheduledAt).toEqual(next.at);
  });
});

describe('a message scheduled for later', () => {
  const recipient = { kind: 'message', campaignId: null, zones: null, region: null } as const;
  const line: PacedLine = {
    ...EAGER,
    quiet: {
      workspace: { enabled: true, start: '08:00', end: '21:00', law: 'none', appliesTo: ['message'] },
      campaigns: new Map(),
    },
  };
  const shown = (scheduledAt: Date, fields: Partial<QueuedMessage> = {}, of: PacedLine = line) =>
    shownWait(of, FRESH, message('later', { scheduledAt, recipient, ...fields }), NOW);
  const OPENING = at('2026-06-11T12:00:00Z');

  it('waits for the recipient to wake up if its time is in the quiet hours', () => {
    const evening = at('2026-06-11T02:00:00Z');
    expect(shown(evening)).toEqual({
      scheduledAt: OPENING,
      holdReason: 'recipient_quiet_hours',
      moved: null,
    });
    expect(shown(evening, { isAnswer: true })).toMatchObject({ scheduledAt: evening, holdReason: null });
    expect(shown(OPENING)).toMatchObject({ scheduledAt: OPENING, holdReason: null });
  });

  it('waits for its line first, if that sends nothing until somebody changes it', () => {
    const evening = at('2026-06-11T02:00:00Z');
    expect(shown(evening, {}, { ...line, paused: true }).holdReason).toBe('line_paused');
    expect(shown(OPENING, {}, { ...line, active: false }).holdReason).toBe('line_inactive');
    expect(shown(evening, {}, { ...line, down: true }).holdReason).toBe('recipient_quiet_hours');
  });

  it('waits for its send window if that is closed at its time', () => {
    const window = { timezone: 'America/New_York', start: '10:00', end: '12:00' };
    const { scheduledAt, holdReason } = shown(OPENING, { window });
    expect([scheduledAt, holdReason]).toEqual([at('2026-06-11T14:00:00Z'), null]);
  });
});

describe('within a batch', () => {
  it('each send counts against the caps of the next', () => {
    const queue = ['a', 'b', 'c', 'd'].map((id) => message(id));
    expect(plan(EAGER, { ...FRESH, newThisHour: 3 }, queue).send).toEqual(['a', 'b']);
    expect(plan(EAGER, { ...FRESH, newToday: 47 }, queue).send).toEqual(['a', 'b', 'c']);
    expect(plan(EAGER, { ...FRESH, sentToday: 149 }, queue).send).toEqual(['a']);
  });

  it('a second message to a new contact starts no conversation and keeps the contact gap', () => {
    const queue = [message('a', { address: 'x' }), message('b', { address: 'x' })];
    const history = { ...FRESH, newThisHour: 4 };
    const { send, contactGaps } = plan(EAGER, history, queue);
    expect([send, contactGaps]).toEqual([['a'], [['x', at('2026-06-10T14:21:00Z')]]]);
  });

  it('a contact gets one message, because the carrier could take two in any order', () => {
    const queue = [message('a', { address: 'x' }), message('b', { address: 'x' }), message('c')];
    const { send, contactGaps } = plan({ ...EAGER, contactGapSeconds: 0 }, FRESH, queue);
    expect([send, contactGaps]).toEqual([['a', 'c'], []]);
  });
});

describe('the limits of a line', () => {
  const hours = Array.from({ length: 5000 }, (_, index) => new Date(index * 3_600_000));

  it('include a random hourly cap of 3 to 7 for phone lines, uniform and stable for the hour', () => {
    const drawn = hours.map((hour) => hourlyNewCap({ ...LINE, hourlyNew: null }, hour));
    expect(new Set(drawn)).toEqual(new Set([3, 4, 5, 6, 7]));
    for (const cap of [3, 4, 5, 6, 7]) {
      const frequency = drawn.filter((value) => value === cap).length;
      expect(Math.abs(frequency - 1000)).toBeLessThan(120);
    }
    expect(hours.map((hour) => hourlyNewCap({ ...LINE, hourlyNew: null }, hour))).toEqual(drawn);
    expect(hours.map((hour) => hourlyNewCap({ ...LINE, id: 'line-2', hourlyNew: null }, hour))).not.toEqual(
      drawn,
    );
  });

  it('include an hourly cap of 20 for email lines, unless another is set', () => {
    expect(hourlyNewCap({ ...LINE, channel: 'email', hourlyNew: null }, NOW)).toBe(20);
    expect(hourlyNewCap({ ...LINE, hourlyNew: 11 }, NOW)).toBe(11);
  });

  it('include a gap within ± 50 % of its setting', () => {
    const gaps = hours.map((hour) => lineGapMs(LINE, hour));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
    expect(Math.min(...gaps)).toBeLessThan(10_100);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30_000);
    expect(Math.max(...gaps)).toBeGreaterThan(29_900);
    expect(lineGapMs({ ...LINE, minGapSeconds: 0 }, NOW)).toBe(0);
  });

  it('include a warm-up that starts at 20 and grows by 2 each local midnight up to the limit', () => {
    const warming = { ...LINE, warmupStartedAt: at('2026-06-10T03:30Z') }; // 9 June, 23:30 in New York
    expect(dailyNewCap(warming, at('2026-06-10T03:59Z'))).toBe(20);
    expect(dailyNewCap(warming, at('2026-06-10T04:00Z'))).toBe(22);
    expect(dailyNewCap(warming, at('2026-06-24T03:59Z'))).toBe(48);
    expect(dailyNewCap(warming, at('2026-07-24T04:00Z'))).toBe(50);
    expect(dailyNewCap({ ...warming, dailyNew: 10 }, NOW)).toBe(10);
    expect(dailyNewCap(LINE, NOW)).toBe(50);
  });
});
