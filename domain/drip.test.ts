import { describe, expect, it } from 'vitest';
import { draftDrip, type DripAcknowledgement, findDuplicates } from './drip.ts';
import type { IntakeContext } from './message-draft.ts';

const NOW = new Date('2026-03-02T16:00:00Z');
const context: IntakeContext = {
  timezone: 'UTC',
  country: 'US',
  leads: new Map(),
  pools: new Map(),
  lines: [{ id: 'line', channel: 'imessage', usable: true }],
  fallbackConfigured: false,
  ownAttachments: new Set(),
};
const drip = (message: string, { correlationId = 'c', random = 0 } = {}) =>
  draftDrip({ message, recipientPhone: '+14155550123' }, context, {
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
    expect(drip('Hello', { random }).acknowledgement).toMatchObject({ jitterMs, scheduledDate: at });
  });
});

describe('findDuplicates', () => {
  it('finds the second of two identical drips and keeps its correlation id', () => {
    const first = drip('Hello', { correlationId: 'first', random: 0.5 });
    const second = drip('Hello', { correlationId: 'second' });
    const other = drip('Bye');
    expect([...findDuplicates([first, second, other], new Map())]).toEqual([
      [second, { ...first.acknowledgement, correlationId: 'second' }],
    ]);
  });

  it('finds a drip whose fingerprint is already recorded', () => {
    const repeated = drip('Hello', { correlationId: 'mine' });
    const earlier: DripAcknowledgement = {
      ...repeated.acknowledgement,
      correlationId: 'theirs',
      jitterMs: 7,
    };
    expect(findDuplicates([repeated], new Map([[repeated.fingerprint, earlier]])).get(repeated)).toEqual({
      ...earlier,
      correlationId: 'mine',
    });
  });
});
