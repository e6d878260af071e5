import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  firstSendTime,
  lawWithoutTime,
  NO_QUIET_HOURS,
  QuietHours,
  type Recipient,
  wakingHours,
  type WakingHours,
} from './quiet-hours.ts';
import { FEDERAL, lawfulHours, STATE_RULES } from './us-quiet-hours.ts';

const at = (text: string): Date => new Date(text);
const awake = (fields: Partial<WakingHours>): WakingHours => ({
  zones: ['America/New_York'],
  start: '08:00',
  end: '21:00',
  law: null,
  ...fields,
});
const opening = (fields: Partial<WakingHours>, time: string): string | undefined =>
  firstSendTime({ quiet: awake(fields) }, at(time))?.toISOString();

describe('a message may be sent', () => {
  it.each<[string, Partial<WakingHours>, string, string]>([
    ['at once while the recipient is awake', {}, '2026-06-10T12:00:00.000Z', '2026-06-10T12:00:00.000Z'],
    ['at the start of the same day before it', {}, '2026-06-10T11:59:59.000Z', '2026-06-10T12:00:00.000Z'],
    ['on the next day from the end on', {}, '2026-06-11T01:00:00.000Z', '2026-06-11T12:00:00.000Z'],
    [
      'only while all zones of an area are awake',
      { zones: ['America/New_York', 'America/Los_Angeles'] },
      '2026-06-10T12:00:00.000Z',
      '2026-06-10T15:00:00.000Z',
    ],
    [
      'no more once one of the zones is asleep',
      { zones: ['America/New_York', 'America/Los_Angeles'] },
      '2026-06-11T01:30:00.000Z',
      '2026-06-11T15:00:00.000Z',
    ],
    [
      'an hour earlier by UTC after the clocks went forward',
      {},
      '2026-03-08T11:00:00.000Z',
      '2026-03-08T12:00:00.000Z',
    ],
    [
      'at night, if the hours cross midnight',
      { start: '22:00', end: '06:00' },
      '2026-06-10T12:00:00.000Z',
      '2026-06-11T02:00:00.000Z',
    ],
    ['until 8 p.m. in Florida', { law: 'US-FL' }, '2026-06-11T00:30:00.000Z', '2026-06-11T12:00:00.000Z'],
    [
      'from noon on Sundays in Texas',
      { zones: ['America/Chicago'], law: 'US-TX' },
      '2026-06-14T14:00:00.000Z',
      '2026-06-14T17:00:00.000Z',
    ],
    [
      'not on Sundays in Alabama',
      { zones: ['America/Chicago'], law: 'US-AL' },
      '2026-06-14T14:00:00.000Z',
      '2026-06-15T13:00:00.000Z',
    ],
    [
      'not on a legal holiday in Utah, nor on the day on which it is observed',
      { zones: ['America/Denver'], law: 'US-UT' },
      '2026-07-03T15:00:00.000Z',
      // 4 July 2026 is a Saturday, observed on the Friday before; the 5th is a Sunday.
      '2026-07-06T14:00:00.000Z',
    ],
    [
      'not on Mardi Gras in Louisiana',
      { zones: ['America/Chicago'], law: 'US-LA' },
      '2026-02-17T15:00:00.000Z',
      '2026-02-18T14:00:00.000Z',
    ],
    [
      'between 8 and 21 in all other states',
      { start: '00:00', end: '00:00', law: 'US' },
      '2026-06-11T02:00:00.000Z',
      '2026-06-11T12:00:00.000Z',
    ],
  ])('%s', (_, fields, time, expected) => {
    expect(opening(fields, time)).toBe(expected);
  });

  it('never, if a window and the quiet hours exclude each other', () => {
    const window = { timezone: 'America/New_York', start: '22:00', end: '23:00' };
    expect(firstSendTime({ window, quiet: awake({}) }, at('2026-06-10T12:00:00Z'))).toBeNull();
    const sundays = { timezone: 'America/Chicago', days: [0] };
    const alabama = awake({ zones: ['America/Chicago'], law: 'US-AL' });
    expect(firstSendTime({ window: sundays, quiet: alabama }, at('2026-06-10T12:00:00Z'))).toBeNull();
  });
});

const ZONES = [
  'UTC',
  'America/New_York',
  'America/Los_Angeles',
  'Asia/Kolkata',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Pacific/Apia',
  'America/St_Johns',
];
const time = fc
  .integer({ min: 0, max: 95 })
  .map(
    (quarter) =>
      `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`,
  );
const hours = fc.record({
  zones: fc.uniqueArray(fc.constantFrom(...ZONES), { minLength: 1, maxLength: 3 }),
  start: time,
  end: time,
  law: fc.constantFrom(null, 'US', ...Object.keys(STATE_RULES)),
});
/** Around changes of the clocks, in either half of the year. */
const moment = fc
  .tuple(
    fc.constantFrom(
      '2026-03-07',
      '2026-03-28',
      '2026-04-04',
      '2026-10-03',
      '2026-10-24',
      '2026-10-31',
      '2027-07-01',
    ),
    fc.integer({ min: 0, max: 4 * 1440 }),
  )
  .map(([day, minutes]) => new Date(Date.parse(day) + minutes * 60_000));

const clockIn = (zone: string, time: Date): string =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(time);
const isWithin = ({ start, end }: { start: string; end: string }, clock: string): boolean =>
  start < end ? clock >= start && clock < end : clock >= start || clock < end;

function isLawful(law: string | null, zone: string, time: Date): boolean {
  if (law === null) return true;
  const date = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(time);
  const lawful = lawfulHours(STATE_RULES[law] ?? FEDERAL, law, new Date(date));
  return lawful !== null && isWithin({ start: lawful[0], end: lawful[1] }, clockIn(zone, time));
}

describe('arbitrary hours, zones and laws', () => {
  it('allow a message only while the clocks of all zones show a time within the hours', () => {
    fc.assert(
      fc.property(hours, moment, (quiet, now) => {
        const first = firstSendTime({ quiet }, now);
        if (first === null) return;
        expect(first.getTime()).toBeGreaterThanOrEqual(now.getTime());
        for (const zone of quiet.zones) {
          expect(isWithin(quiet, clockIn(zone, first))).toBe(true);
          if (quiet.law !== null)
            expect(isWithin({ start: '08:00', end: '21:00' }, clockIn(zone, first))).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('allow it at the first such minute, which is no Sunday or holiday of the law', () => {
    fc.assert(
      fc.property(hours, moment, (quiet, now) => {
        const first = firstSendTime({ quiet }, now);
        const end = first ?? new Date(now.getTime() + 3 * 86_400_000);
        const isOpen = (time: Date) =>
          quiet.zones.every(
            (zone) => isWithin(quiet, clockIn(zone, time)) && isLawful(quiet.law, zone, time),
          );
        if (first) expect(isOpen(first)).toBe(true);
        for (let time = now.getTime(); time < end.getTime(); time += 15 * 60_000)
          expect(isOpen(new Date(time))).toBe(false);
      }),
      { numRuns: 60 },
    );
  }, 30_000);

  it('are stricter with a law than without', () => {
    fc.assert(
      fc.property(hours, moment, (quiet, now) => {
        const lawful = firstSendTime({ quiet }, now);
        const without = firstSendTime({ quiet: { ...quiet, law: null } }, now);
        if (lawful !== null) expect(without!.getTime()).toBeLessThanOrEqual(lawful.getTime());
      }),
      { numRuns: 300 },
    );
  });
});

describe('the quiet hours of a message', () => {
  const policy = { workspace: QuietHours.parse({ enabled: true, law: 'us' }), campaigns: new Map() };
  const recipient: Recipient = {
    kind: 'campaign',
    campaignId: 'c',
    zones: ['America/New_York'],
    region: 'US-FL',
  };

  it("are the workspace's for the kinds that they apply to, with the law of the number's state", () => {
    expect(wakingHours(policy, recipient, 'UTC')).toEqual(awake({ law: 'US-FL' }));
    expect(wakingHours(policy, { ...recipient, kind: 'message' }, 'UTC')).toBeUndefined();
    expect(wakingHours(policy, { ...recipient, region: 'US-OH' }, 'UTC')?.law).toBe('US');
    expect(wakingHours(policy, { ...recipient, region: null }, 'UTC')?.law).toBeNull();
  });

  it("are in the workspace's zone if nothing says where the recipient is", () => {
    expect(wakingHours(policy, { ...recipient, zones: null }, 'Europe/Berlin')?.zones).toEqual([
      'Europe/Berlin',
    ]);
  });

  it('are those of the campaign, if it has its own', () => {
    const own = { enabled: true, start: '10:00', end: '12:00', law: 'none' as const };
    const campaigns = new Map([['c', own]]);
    expect(wakingHours({ workspace: NO_QUIET_HOURS, campaigns }, recipient, 'UTC')).toMatchObject({
      start: '10:00',
      law: null,
    });
    const off = new Map([['c', { ...own, enabled: false }]]);
    expect(wakingHours({ ...policy, campaigns: off }, recipient, 'UTC')).toBeUndefined();
  });

  it('cannot be hours that leave a state no time', () => {
    const from = (start: string, end: string, law: 'none' | 'us' = 'us') =>
      lawWithoutTime({ enabled: true, start, end, law }, at('2026-06-10T12:00:00Z'));
    expect(from('08:00', '21:00')).toBeNull();
    expect(from('22:00', '06:00')).toBe('US');
    expect(from('20:00', '21:00')).toBe('US-AL');
    expect(from('22:00', '06:00', 'none')).toBeNull();
  });
});

test('every row of the laws has a source, and when it was looked up', () => {
  for (const [region, { source, url, checked }] of Object.entries(STATE_RULES)) {
    expect(region).toMatch(/^US-[A-Z]{2}$/);
    expect(source.length).toBeGreaterThan(5);
    expect(url).toMatch(/^https:/);
    expect(checked).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  }
});
