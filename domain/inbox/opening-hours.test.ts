import { describe, expect, it } from 'vitest';
import { isOpen, OpeningHours } from './opening-hours.ts';

const ZONE = 'America/New_York';
const open = (hours: object, at: string): boolean => isOpen(OpeningHours.parse(hours), ZONE, new Date(at));

describe('opening hours', () => {
  const office = { hours: [{ days: [1, 2, 3, 4, 5], start: '09:00', end: '17:00' }] };

  it.each([
    // Monday, 30 November 2026, five hours behind UTC.
    ['2026-11-30T13:59:59Z', false],
    ['2026-11-30T14:00:00Z', true],
    ['2026-11-30T21:59:59Z', true],
    ['2026-11-30T22:00:00Z', false],
    // Still Sunday there.
    ['2026-11-30T04:00:00Z', false],
  ])('are those of the workspace, at %s', (at, expected) => {
    expect(open(office, at)).toBe(expected);
  });

  it('may end on the following day', () => {
    const night = { hours: [{ days: [5], start: '22:00', end: '02:00' }] };
    expect(open(night, '2026-12-05T03:30:00Z')).toBe(true); // Friday, 22:30
    expect(open(night, '2026-12-05T06:30:00Z')).toBe(true); // Saturday, 01:30
    expect(open(night, '2026-12-05T07:00:00Z')).toBe(false);
    expect(open(night, '2026-12-04T06:30:00Z')).toBe(false); // Friday, 01:30
  });

  it('may be the whole day, and are none on a day that is closed', () => {
    const always = { hours: [{ days: [0, 1, 2, 3, 4, 5, 6], start: '00:00', end: '00:00' }] };
    expect(open(always, '2026-12-25T15:00:00Z')).toBe(true);
    expect(open({ ...always, closedOn: ['2026-12-25'] }, '2026-12-25T15:00:00Z')).toBe(false);
    expect(open({ closedOn: ['2026-12-25'] }, '2026-12-25T15:00:00Z')).toBe(false);
    expect(open({}, '2026-12-25T15:00:00Z')).toBe(true);
  });
});
