import { describe, expect, it, test } from 'vitest';
import { firstSendTime, NO_QUIET_HOURS, wakingHours } from '#domain/sending/quiet-hours.ts';
import { placeOf } from './phone-places.ts';

describe('the place of a number', () => {
  it.each([
    ['+12125550100', { zones: ['America/New_York'], region: 'US-NY' }],
    ['+13055550100', { zones: ['America/New_York'], region: 'US-FL' }],
    // An area of two zones.
    ['+12085550100', { zones: ['America/Boise', 'America/Los_Angeles'], region: 'US-ID' }],
    ['+12065550100', { zones: ['America/Los_Angeles'], region: 'US-WA' }],
    ['+12025550100', { zones: ['America/New_York'], region: 'US-DC' }],
    // Areas that the data names no place of, only the cities within them.
    ['+17135550100', { zones: ['America/Chicago'], region: 'US-TX' }],
    ['+13105550100', { zones: ['America/Los_Angeles'], region: 'US-CA' }],
    ['+12035550100', { zones: ['America/New_York'], region: 'US-CT' }],
    ['+17185550100', { zones: ['America/New_York'], region: 'US-NY' }],
    ['+14165550100', { zones: ['America/Toronto'], region: null }],
    ['+4930123456', { zones: ['Europe/Berlin'], region: null }],
    ['+61893201234', { zones: ['Australia/Adelaide', 'Australia/Perth'], region: null }],
    ['+556132123456', { zones: ['America/Sao_Paulo'], region: null }],
    // No area: toll-free.
    ['+18005550100', { zones: null, region: null }],
  ])('%s is known by its area', (phone, place) => {
    expect(placeOf(phone)).toEqual(place);
  });

  it.each([
    [
      'an Australian mobile number',
      '+61412345678',
      ['Australia/Perth', 'Australia/Sydney', 'Australia/Adelaide'],
    ],
    ['a Russian mobile number', '+79161234567', ['Europe/Moscow', 'Asia/Vladivostok', 'Asia/Kamchatka']],
    ['a Spanish mobile number', '+34612345678', ['Europe/Madrid', 'Atlantic/Canary']],
    ['a Portuguese mobile number', '+351912345678', ['Europe/Lisbon', 'Atlantic/Azores']],
    ['a toll-free number', '+611800123456', ['Australia/Perth', 'Australia/Sydney']],
    ['a number that is none', '+61999', ['Australia/Perth', 'Australia/Sydney']],
    ['a mobile number of a country with one zone', '+4915112345678', ['Europe/Berlin']],
  ])('%s may be in any zone of its country', (_kind, phone, zones) => {
    expect(placeOf(phone).zones).toEqual(expect.arrayContaining(zones));
  });
});

/** Ten messages that are due at the same time, with quiet hours and the law of the United States. */
test('ten messages to ten numbers at one moment leave when all zones of their numbers are awake', () => {
  const at = new Date('2026-11-25T02:17:00Z');
  const leaves = (phone: string): string => {
    const quiet = wakingHours(
      { workspace: { ...NO_QUIET_HOURS, enabled: true, law: 'us' }, campaigns: new Map() },
      { kind: 'campaign', campaignId: null, ...placeOf(phone) },
      'America/New_York',
    );
    return (quiet && firstSendTime({ quiet }, at))?.toISOString().slice(5, 16) ?? 'never';
  };
  const now = '11-25T02:17';
  expect(
    [
      '+12125550100', // New York: 21:17
      '+13125550100', // Chicago: 20:17
      '+13055550100', // Miami: 21:17
      '+12085550100', // Idaho: 19:17 and 18:17
      '+18085550100', // Honolulu: 16:17
      '+447700900100', // London: 02:17
      '+4915112345678', // Berlin: 03:17
      '+919876543210', // India: 07:47
      '+819012345678', // Tokyo: 11:17
      '+61412345678', // Sydney: 13:17
    ].map(leaves),
  ).toEqual([
    '11-25T13:00',
    now,
    '11-25T13:00',
    now,
    now,
    '11-25T08:00',
    '11-25T07:00',
    '11-25T02:30',
    now,
    now,
  ]);
});
