import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  dayBounds,
  daysBetween,
  fromWallClock,
  hourBounds,
  isTimeZone,
  offsetsOf,
  localDate,
  nextMorning,
  toDate,
  toZoned,
  wallClock,
} from './calendar.ts';

const at = (text: string): Date => new Date(text);
const bounds = (start: string, end: string) => ({ start: at(start), end: at(end) });

describe('dayBounds returns the local day', () => {
  it.each([
    ['on a plain day', 'America/New_York', '2026-06-10T15:00Z', '2026-06-10T04:00Z', '2026-06-11T04:00Z'],
    [
      'with 23 hours in spring',
      'America/New_York',
      '2026-03-08T15:00Z',
      '2026-03-08T05:00Z',
      '2026-03-09T04:00Z',
    ],
    [
      'with 25 hours in autumn',
      'America/New_York',
      '2026-11-01T15:00Z',
      '2026-11-01T04:00Z',
      '2026-11-02T05:00Z',
    ],
    [
      'with a half-hour offset',
      'Asia/Kolkata',
      '2026-06-10T18:29:59Z',
      '2026-06-09T18:30Z',
      '2026-06-10T18:30Z',
    ],
    [
      'with a half-hour change of the clocks',
      'Australia/Lord_Howe',
      '2026-04-04T20:00Z',
      '2026-04-04T13:00Z',
      '2026-04-05T13:30Z',
    ],
    [
      'without a midnight on that day',
      'America/Santiago',
      '2026-09-06T12:00Z',
      '2026-09-06T04:00Z',
      '2026-09-07T03:00Z',
    ],
    ['before a skipped day', 'Pacific/Apia', '2011-12-30T09:59Z', '2011-12-29T10:00Z', '2011-12-30T10:00Z'],
    ['after a skipped day', 'Pacific/Apia', '2011-12-30T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z'],
  ])('%s', (_, zone, now, start, end) => {
    expect(dayBounds(zone, at(now))).toEqual(bounds(start, end));
  });
});

describe('hourBounds returns the local hour', () => {
  it.each([
    [
      'with a half-hour offset',
      'Asia/Kolkata',
      '2026-01-01T00:10Z',
      '2025-12-31T23:30Z',
      '2026-01-01T00:30Z',
    ],
    [
      'in the first pass of a repeated hour',
      'America/New_York',
      '2026-11-01T05:30Z',
      '2026-11-01T05:00Z',
      '2026-11-01T06:00Z',
    ],
    ['in its second pass', 'America/New_York', '2026-11-01T06:30Z', '2026-11-01T06:00Z', '2026-11-01T07:00Z'],
    [
      'before the clocks go back by half an hour',
      'Australia/Lord_Howe',
      '2026-04-04T14:59Z',
      '2026-04-04T14:00Z',
      '2026-04-04T15:00Z',
    ],
    [
      'after they went back',
      'Australia/Lord_Howe',
      '2026-04-04T15:00Z',
      '2026-04-04T15:00Z',
      '2026-04-04T15:30Z',
    ],
    [
      'after the clocks went forward by half an hour',
      'Australia/Lord_Howe',
      '2026-10-03T15:40Z',
      '2026-10-03T15:30Z',
      '2026-10-03T16:00Z',
    ],
    [
      'before the clocks change within it',
      'America/Caracas',
      '2016-05-01T06:50Z',
      '2016-05-01T06:30Z',
      '2016-05-01T07:00Z',
    ],
  ])('%s', (_, zone, now, start, end) => {
    expect(hourBounds(zone, at(now))).toEqual(bounds(start, end));
  });
});

test('days and hours contain their instant and follow each other without gaps, in any zone', () => {
  const zones = [
    'UTC',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'America/New_York',
    'Africa/Casablanca',
    'America/Santiago',
    'Asia/Kathmandu',
  ];
  fc.assert(
    fc.property(
      fc.constantFrom(...zones),
      fc.date({ min: at('2024-01-01'), max: at('2031-01-01'), noInvalidDate: true }),
      (zone, now) => {
        for (const boundsOf of [dayBounds, hourBounds]) {
          const { start, end } = boundsOf(zone, now);
          expect(start <= now && now < end).toBe(true);
          expect(boundsOf(zone, start)).toEqual({ start, end });
          expect(boundsOf(zone, new Date(end.getTime() - 1))).toEqual({ start, end });
          expect(boundsOf(zone, end).start).toEqual(end);
        }
      },
    ),
    { numRuns: 500 },
  );
});

describe('nextMorning', () => {
  it.each([
    ['is 09:00 on the next day', 'America/New_York', '2026-06-10T03:59Z', undefined, '2026-06-10T13:00Z'],
    [
      'is 09:00 on the next day even before 09:00',
      'America/New_York',
      '2026-06-10T05:00Z',
      undefined,
      '2026-06-11T13:00Z',
    ],
    ['accepts another time', 'Asia/Kolkata', '2026-06-10T10:00Z', '08:30', '2026-06-11T03:00Z'],
    [
      'is later if the clocks skip that time',
      'America/New_York',
      '2026-03-07T15:00Z',
      '02:30',
      '2026-03-08T07:30Z',
    ],
    [
      'is the first pass of a repeated time',
      'America/New_York',
      '2026-10-31T15:00Z',
      '01:30',
      '2026-11-01T05:30Z',
    ],
    ['passes over a skipped day', 'Pacific/Apia', '2011-12-30T09:00Z', undefined, '2011-12-30T19:00Z'],
  ])('%s', (_, zone, now, time, expected) => {
    expect(nextMorning(zone, at(now), time)).toEqual(at(expected));
  });
});

test('localDate and daysBetween use the local calendar', () => {
  expect(localDate('Pacific/Auckland', at('2026-06-10T12:00Z'))).toBe('2026-06-11');
  expect(daysBetween('America/New_York', at('2026-06-10T03:00Z'), at('2026-06-10T05:00Z'))).toBe(1);
  expect(daysBetween('America/New_York', at('2026-06-10T05:00Z'), at('2026-06-11T03:00Z'))).toBe(0);
  expect(daysBetween('UTC', at('2026-06-10T00:00Z'), at('2026-05-01T00:00Z'))).toBe(-40);
});

test('offsetsOf lists every change of the clocks', () => {
  const { since, seconds } = offsetsOf('CET');
  const offsetAt = (text: string) => seconds[since.findLastIndex((date) => date <= at(text))];
  expect([offsetAt('2026-01-15T00:00Z'), offsetAt('2026-07-15T00:00Z')]).toEqual([3600, 7200]);
  expect([offsetAt('2026-03-29T00:59Z'), offsetAt('2026-03-29T01:00Z')]).toEqual([3600, 7200]);
  expect(offsetsOf('UTC')).toEqual({ since: [at('2000-01-01T00:00Z')], seconds: [0] });
});

test('isTimeZone accepts IANA names only', () => {
  expect(['UTC', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires'].every(isTimeZone)).toBe(true);
  expect(['', 'Mars/Olympus', '+02:00', 'GMT+25', 'PST', 'IST'].filter(isTimeZone)).toEqual([]);
  expect(
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00[Europe/Berlin]', '2026-01-01'].filter(isTimeZone),
  ).toEqual([]);
  expect(Intl.supportedValuesOf('timeZone').filter((name) => !isTimeZone(name))).toEqual([]);
  expect(['CET', 'EST', 'US/Eastern', 'NZ', 'GMT'].every(isTimeZone)).toBe(true);
});

test('wallClock and its inverse agree with Temporal, however close the clocks change', () => {
  const zones = [
    'UTC',
    'Asia/Kolkata',
    'Australia/Lord_Howe',
    'America/New_York',
    'Pacific/Apia',
    'Africa/Casablanca',
  ];
  const changes = ['2011-12-30', '2026-03-08', '2026-04-04', '2026-11-01', '2027-02-07'].map((date) =>
    Date.parse(date),
  );
  const instant = fc.oneof(
    fc.integer({ min: Date.parse('1990-01-01'), max: Date.parse('2060-01-01') }),
    fc
      .tuple(fc.constantFrom(...changes), fc.integer({ min: -3 * 86_400_000, max: 3 * 86_400_000 }))
      .map(([a, b]) => a + b),
  );
  fc.assert(
    fc.property(fc.constantFrom(...zones), instant, (zone, milliseconds) => {
      const now = new Date(milliseconds);
      const local = toZoned(zone, now).toPlainDateTime();
      const wall = wallClock(zone, now);
      expect(wall.toISOString()).toBe(`${local.toString({ smallestUnit: 'millisecond' })}Z`);
      const inverse = fromWallClock(zone, wall);
      if (inverse) expect(inverse).toEqual(toDate(local.toZonedDateTime(zone)));
    }),
    { numRuns: 500 },
  );
});
