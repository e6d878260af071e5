import { NO_QUIET_HOURS } from '../sending/quiet-hours.ts';
import { describe, expect, it } from 'vitest';
import { acknowledge, type EarlierAnswer, dripOf, findDuplicates } from './drip.ts';
import type { IntakeContext } from './accepted-message.ts';

const NOW = new Date('2026-03-02T16:00:00Z');
const context: IntakeContext = {
  timezone: 'UTC',
  quiet: { workspace: NO_QUIET_HOURS, campaigns: new Map() },
  placeOf: () => ({ zones: null, region: null }),
  country: 'US',
  leads: new Map(),
  zones: new Map(),
  answersUntil: new Map(),
  pools: new Map(),
  lines: [{ id: 'line', channel: 'imessage', usable: true }],
  fallbackConfigured: false,
  ownAttachments: new Set(),
};
const drip = (message: string, { correlationId = 'c', random = 0 } = {}) =>
  dripOf({ message, recipientPhone: '+14155550123' }, context, {
    correlationId,
    userId: null,
    now: NOW,
    random,
  });

describe('the jitter of a drip', () => {
  it.each([
    { random: 0, jitterMs: 0, at: '2026-03-02T16:00:30.000Z' },
    { random: 0.5, jitterMs: 150_000, at: '2026-03-02T16:03:00.000Z' },
    { random: 1 - Number.EPSILON, jitterMs: 299_999, at: '2026-03-02T16:05:29.999Z' },
  ])('adds $jitterMs ms to the delay of 30 seconds', ({ random, jitterMs, at }) => {
    expect(drip('Hello', { random }).answer).toEqual({ jitterMs, scheduledDate: at });
  });
});

describe('findDuplicates', () => {
  it('finds the second of two identical drips, which gets the claim of the first', () => {
    const first = drip('Hello', { random: 0.5 });
    const second = drip('Hello', { correlationId: 'second' });
    const other = drip('Bye');
    expect([...findDuplicates([first, second, other], new Map())]).toEqual([[second, first.answer]]);
  });

  it('finds a duplicate of an earlier drip', () => {
    const repeated = drip('Hello', { correlationId: 'again' });
    const earlier: EarlierAnswer = { scheduledDate: '2026-03-02T15:00:00.000Z', jitterMs: 5 };
    const duplicates = findDuplicates([repeated], new Map([[repeated.fingerprint, earlier]]));
    expect(duplicates.get(repeated)).toBe(earlier);
    expect(acknowledge(repeated, earlier)).toEqual({ status: 'queued', correlationId: 'again', ...earlier });
  });
});
