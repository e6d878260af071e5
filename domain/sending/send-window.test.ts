import { describe, expect, it, test } from 'vitest';
import { clampToWindow, nextOpening, SendWindow } from './send-window.ts';

const at = (text: string): Date => new Date(text);
const NEW_YORK = { timezone: 'America/New_York' };
const OFFICE = { ...NEW_YORK, start: '09:00', end: '17:00' };
const NIGHT = { ...NEW_YORK, start: '22:00', end: '02:00' };

describe('clampToWindow keeps a time', () => {
  it.each<[string, SendWindow | undefined, string]>([
    ['if there is no window', undefined, '2026-06-10T03:00Z'],
    ['at the start of the window', OFFICE, '2026-06-10T13:00Z'],
    ['in the last second of the window', OFFICE, '2026-06-10T20:59:59Z'],
    ['before midnight in a window of a night', NIGHT, '2026-06-10T02:30Z'],
    ['after midnight in a window of a night', NIGHT, '2026-06-10T05:30Z'],
    [
      'after midnight in a window of a night that began on an allowed day',
      { ...NIGHT, days: [5] },
      '2026-06-13T05:30Z',
    ],
    ['if the window has only a zone', NEW_YORK, '2026-06-10T05:30Z'],
    ['if the window starts and ends at the same time', { ...OFFICE, end: '09:00' }, '2026-06-10T12:59Z'],
    ['in both passes of a repeated hour', { ...NEW_YORK, start: '01:00', end: '01:30' }, '2026-11-01T06:10Z'],
  ])('%s', (_, window, time) => {
    expect(clampToWindow(window, at(time))).toEqual(at(time));
  });
});

describe('clampToWindow returns the next opening', () => {
  it.each<[string, SendWindow, string, string]>([
    ['later today', OFFICE, '2026-06-10T12:59:59Z', '2026-06-10T13:00Z'],
    ['tomorrow, once the window has ended', OFFICE, '2026-06-10T21:00Z', '2026-06-11T13:00Z'],
    ['after a weekend', { ...OFFICE, days: [1, 2, 3, 4, 5] }, '2026-06-12T22:00Z', '2026-06-15T13:00Z'],
    ['in a week', { ...OFFICE, days: [3] }, '2026-06-10T21:00Z', '2026-06-17T13:00Z'],
    ['in the evening for a window of a night', NIGHT, '2026-06-10T06:00Z', '2026-06-11T02:00Z'],
    [
      'in the evening of an allowed day for a window of a night',
      { ...NIGHT, days: [5] },
      '2026-06-12T05:30Z',
      '2026-06-13T02:00Z',
    ],
    [
      'at midnight if only days are given',
      { ...NEW_YORK, days: [1] },
      '2026-06-13T12:00Z',
      '2026-06-15T04:00Z',
    ],
    [
      'at midnight if only the end is given',
      { ...NEW_YORK, end: '08:00' },
      '2026-06-10T13:00Z',
      '2026-06-11T04:00Z',
    ],
    [
      'later if the clocks skip the start',
      { ...OFFICE, start: '02:30' },
      '2026-03-08T06:00Z',
      '2026-03-08T07:00Z',
    ],
    [
      'a week later if the clocks skip the whole window',
      { ...NEW_YORK, start: '02:15', end: '02:45', days: [0] },
      '2026-03-07T15:00Z',
      '2026-03-15T06:15Z',
    ],
    [
      'after a skipped day',
      { ...OFFICE, timezone: 'Pacific/Apia' },
      '2011-12-30T04:00Z',
      '2011-12-30T19:00Z',
    ],
  ])('%s', (_, window, time, expected) => {
    expect(clampToWindow(window, at(time))).toEqual(at(expected));
  });
});

test('nextOpening is in the future even if the window is open', () => {
  expect(nextOpening(OFFICE, at('2026-06-10T13:00Z'))).toEqual(at('2026-06-11T13:00Z'));
});

test('a window that never opens throws instead of searching forever', () => {
  expect(() => clampToWindow({ ...OFFICE, days: [9] }, at('2026-06-10T13:00Z'))).toThrow('never opens');
});

test('SendWindow accepts times as HH:mm, days 0 to 6 and known zones', () => {
  expect(SendWindow.parse({ ...OFFICE, days: [0, 6] })).toEqual({ ...OFFICE, days: [0, 6] });
  const wrong = [
    { start: '9:00' },
    { end: '24:00' },
    { days: [] },
    { days: [7] },
    { timezone: 'Mars/Olympus' },
  ];
  expect(wrong.filter((field) => SendWindow.safeParse({ ...OFFICE, ...field }).success)).toEqual([]);
});
