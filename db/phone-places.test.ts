import { describe, expect, it } from 'vitest';
import { placeOf } from './phone-places.ts';

describe('the place of a number', () => {
  it.each([
    ['+12125550100', { zones: ['America/New_York'], region: 'US-NY' }],
    ['+13055550100', { zones: ['America/New_York'], region: 'US-FL' }],
    // An area of two zones.
    ['+12085550100', { zones: ['America/Boise', 'America/Los_Angeles'], region: 'US-ID' }],
    ['+12065550100', { zones: ['America/Los_Angeles'], region: 'US-WA' }],
    ['+12025550100', { zones: ['America/New_York'], region: 'US-DC' }],
    ['+14165550100', { zones: ['America/Toronto'], region: null }],
    ['+4915112345678', { zones: ['Europe/Berlin'], region: null }],
    // No area: toll-free.
    ['+18005550100', { zones: null, region: null }],
  ])('%s is known by its area', (phone, place) => {
    expect(placeOf(phone)).toEqual(place);
  });
});
