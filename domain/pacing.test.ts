import { describe, expect, test } from 'vitest';
import {
  dailyNewCap,
  DEFAULT_LIMITS,
  hourlyNewCap,
  lineGapMs,
  type LineHistory,
  type PacedLine,
  planLine,
  type QueuedMessage,
} from './pacing.ts';

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
};
const EAGER: PacedLine = { ...LINE, minGapSeconds: 0 };
const FRESH: LineHistory = { sentToday: 0, newToday: 0, newThisHour: 0, lastSentAt: null };
const ago = (seconds: number): Date => new Date(NOW.getTime() - seconds * 1000);

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

describe('whose turn it is', () => {
  test('answers go first, then the earlier scheduled, then the earlier arrived', () => {
    const queue = [
      message('late', { scheduledAt: ago(10) }),
      message('second', { arrival: 900 }),
      message('first', { arrival: 800 }),
      message('answer', { scheduledAt: ago(5), isAnswer: true }),
    ];
    expect(planLine(EAGER, FRESH, NOW, queue).send).toEqual(['answer', 'first', 'second', 'late']);
  });

  test('a line with a gap sends one message, then pauses for the gap', () => {
    const plan = planLine(LINE, FRESH, NOW, [message('a'), message('b')]);
    const pauseEnd = new Date(NOW.getTime() + lineGapMs(LINE, NOW));
    expect(plan).toEqual({ send: ['a'], moves: [], next: { at: pauseEnd, reason: 'line_gap' } });
  });

  test('a line without a gap sends no more than a batch', () => {
    const plan = planLine(EAGER, FRESH, NOW, [message('a'), message('b'), message('c')], { batch: 2 });
    expect(plan).toEqual({ send: ['a', 'b'], moves: [], next: { at: NOW, reason: 'scheduled' } });
  });

  test('what is not due yet says when to come back', () => {
    const due = at('2026-06-10T14:20:01Z');
    const plan = planLine(EAGER, FRESH, NOW, [message('a', { scheduledAt: due })]);
    expect(plan).toEqual({ send: [], moves: [], next: { at: due, reason: 'scheduled' } });
  });

  test('an opted-out contact is passed over', () => {
    const plan = planLine(EAGER, FRESH, NOW, [message('a', { optedOut: true })]);
    expect(plan).toEqual({ send: [], moves: [], next: { at: null, reason: 'idle' } });
  });
});

describe('while the line waits nothing moves', () => {
  const full = { sentToday: 999, newToday: 999, newThisHour: 999 };

  test('in its gap, until the gap is over', () => {
    const lastSentAt = ago(9);
    const gapEnd = new Date(lastSentAt.getTime() + lineGapMs(LINE, lastSentAt));
    const history = { ...full, lastSentAt };
    const queue = [message('a')];
    expect(planLine(LINE, history, NOW, queue)).toEqual({
      send: [],
      moves: [],
      next: { at: gapEnd, reason: 'line_gap' },
    });
    expect(planLine(LINE, { ...FRESH, lastSentAt }, gapEnd, queue).send).toEqual(['a']);
  });

  test.each([
    ['line_down', { down: true }],
    ['line_inactive', { active: false }],
    ['line_inactive', { active: false, down: true }],
    ['subscription_past_due', { pastDue: true }],
    ['subscription_past_due', { pastDue: true, active: false, down: true }],
  ])('%s, until something changes', (reason, state) => {
    const plan = planLine({ ...EAGER, ...state }, { ...FRESH, ...full }, NOW, [message('a')]);
    expect(plan).toEqual({ send: [], moves: [], next: { at: null, reason } });
  });
});

describe('what holds a message, and where it moves', () => {
  const office = { timezone: 'America/New_York', start: '08:00', end: '10:30' };
  const move = (history: Partial<LineHistory>, fields: Partial<QueuedMessage> = {}, line = EAGER) => {
    const { send, moves, next } = planLine(line, { ...FRESH, ...history }, NOW, [message('a', fields)]);
    expect(send).toEqual([]);
    expect(next).toEqual({ at: moves[0]?.to, reason: moves[0]?.reason });
    return [moves[0]?.reason, moves[0]?.to];
  };

  test('a full hour moves a new conversation to the next, into its window', () => {
    expect(move({ newThisHour: 5 })).toEqual(['hourly_new_cap', NEXT_HOUR]);
    expect(move({ newThisHour: 5 }, { window: office })).toEqual(['hourly_new_cap', at('2026-06-11T12:00Z')]);
  });

  test('a full day moves it to the next morning: 09:00, or its window', () => {
    expect(move({ newToday: 50 })).toEqual(['daily_new_cap', NEXT_MORNING]);
    expect(move({ newToday: 50 }, { window: office })).toEqual(['daily_new_cap', at('2026-06-11T12:00Z')]);
    expect(move({ sentToday: 150 }, { isNew: false })).toEqual(['daily_total_cap', NEXT_MORNING]);
    expect(move({ sentToday: 150 }, { isAnswer: true })).toEqual(['daily_total_cap', NEXT_MORNING]);
  });

  test('a morning counts from the end of the workspace day, whatever the zone of the window', () => {
    const kolkata = { timezone: 'Asia/Kolkata', start: '09:00', end: '23:00' };
    expect(move({ newToday: 50 }, { window: kolkata })).toEqual(['daily_new_cap', at('2026-06-12T03:30Z')]);
  });

  test('a morning waits for an allowed day', () => {
    const mondays = { timezone: 'America/New_York', days: [1, 3] };
    expect(move({ newToday: 50 }, { window: mondays })).toEqual(['daily_new_cap', at('2026-06-15T13:00Z')]);
  });

  test('a contact that was just written to is left alone for the gap', () => {
    expect(move({}, { contactLastSentAt: ago(59) })).toEqual(['contact_gap', at('2026-06-10T14:20:01Z')]);
    expect(planLine(EAGER, FRESH, NOW, [message('a', { contactLastSentAt: ago(60) })]).send).toEqual(['a']);
  });

  test('outside its window it moves to the opening', () => {
    const window = { ...office, start: '11:00', end: '12:00' };
    expect(move({}, { window })).toEqual(['send_window', NEXT_HOUR]);
  });

  test('a cap of 0 asks again each morning', () => {
    expect(move({}, {}, { ...EAGER, hourlyNew: 0 })).toEqual(['hourly_new_cap', NEXT_MORNING]);
    expect(move({}, {}, { ...EAGER, dailyNew: 0 })).toEqual(['daily_new_cap', NEXT_MORNING]);
    expect(move({}, {}, { ...EAGER, dailyTotal: 0 })).toEqual(['daily_total_cap', NEXT_MORNING]);
  });

  test('new-conversation caps hold back neither answers nor known contacts', () => {
    const history = { ...FRESH, newThisHour: 5, newToday: 50 };
    const queue = [
      message('cold'),
      message('known', { isNew: false }),
      message('answer', { isAnswer: true }),
    ];
    const plan = planLine(EAGER, history, NOW, queue);
    expect(plan.send).toEqual(['answer', 'known']);
    expect(plan.moves).toEqual([{ id: 'cold', to: NEXT_MORNING, reason: 'daily_new_cap' }]);
  });

  test('what one send fills up moves all that comes after it', () => {
    const queue = [message('a'), message('b'), message('known', { isNew: false }), message('c')];
    const plan = planLine(LINE, { ...FRESH, newThisHour: 4 }, NOW, queue);
    expect(plan.send).toEqual(['a']);
    expect(plan.moves.map(({ id }) => id)).toEqual(['b', 'c']);
  });
});

describe('within a batch', () => {
  test('each send counts for the next', () => {
    const queue = ['a', 'b', 'c', 'd'].map((id) => message(id));
    expect(planLine(EAGER, { ...FRESH, newThisHour: 3 }, NOW, queue).send).toEqual(['a', 'b']);
    expect(planLine(EAGER, { ...FRESH, newToday: 47 }, NOW, queue).send).toEqual(['a', 'b', 'c']);
    expect(planLine(EAGER, { ...FRESH, sentToday: 149 }, NOW, queue).send).toEqual(['a']);
  });

  test('a second message to a new contact opens nothing and keeps the contact gap', () => {
    const queue = [message('a', { address: 'x' }), message('b', { address: 'x' })];
    const plan = planLine(EAGER, { ...FRESH, newThisHour: 4 }, NOW, queue);
    expect(plan.send).toEqual(['a']);
    expect(plan.moves).toEqual([{ id: 'b', to: at('2026-06-10T14:21:00Z'), reason: 'contact_gap' }]);
    expect(
      planLine({ ...EAGER, contactGapSeconds: 0 }, { ...FRESH, newThisHour: 4 }, NOW, queue).send,
    ).toEqual(['a', 'b']);
  });
});

describe('the numbers', () => {
  const hours = Array.from({ length: 5000 }, (_, index) => new Date(index * 3_600_000));

  test('a phone line draws 3 to 7 an hour, each as often, and keeps its draw', () => {
    const drawn = hours.map((hour) => hourlyNewCap({ ...LINE, hourlyNew: null }, hour));
    expect(new Set(drawn)).toEqual(new Set([3, 4, 5, 6, 7]));
    for (const cap of [3, 4, 5, 6, 7]) {
      const often = drawn.filter((value) => value === cap).length;
      expect(Math.abs(often - 1000)).toBeLessThan(120);
    }
    expect(hours.map((hour) => hourlyNewCap({ ...LINE, hourlyNew: null }, hour))).toEqual(drawn);
    expect(hours.map((hour) => hourlyNewCap({ ...LINE, id: 'line-2', hourlyNew: null }, hour))).not.toEqual(
      drawn,
    );
  });

  test('an email line opens 20 an hour, and any line what was set by hand', () => {
    expect(hourlyNewCap({ ...LINE, channel: 'email', hourlyNew: null }, NOW)).toBe(20);
    expect(hourlyNewCap({ ...LINE, hourlyNew: 11 }, NOW)).toBe(11);
  });

  test('a gap is the set one ± 50 %', () => {
    const gaps = hours.map((hour) => lineGapMs(LINE, hour));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10_000);
    expect(Math.min(...gaps)).toBeLessThan(10_100);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(30_000);
    expect(Math.max(...gaps)).toBeGreaterThan(29_900);
    expect(lineGapMs({ ...LINE, minGapSeconds: 0 }, NOW)).toBe(0);
  });

  test('a warm-up starts at 20 and grows by 2 each local midnight up to the limit', () => {
    const warming = { ...LINE, warmupStartedAt: at('2026-06-10T03:30Z') }; // 9 June, 23:30 in New York
    expect(dailyNewCap(warming, at('2026-06-10T03:59Z'))).toBe(20);
    expect(dailyNewCap(warming, at('2026-06-10T04:00Z'))).toBe(22);
    expect(dailyNewCap(warming, at('2026-06-24T03:59Z'))).toBe(48);
    expect(dailyNewCap(warming, at('2026-07-24T04:00Z'))).toBe(50);
    expect(dailyNewCap({ ...warming, dailyNew: 10 }, NOW)).toBe(10);
    expect(dailyNewCap(LINE, NOW)).toBe(50);
  });
});
