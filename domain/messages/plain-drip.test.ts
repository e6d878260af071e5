import { describe, expect, it } from 'vitest';
import { dripOf } from './drip.ts';
import type { IntakeContext } from './accepted-message.ts';
import { DripInput } from './message.ts';
import { isPlainDrip } from './plain-drip.ts';
import { NO_QUIET_POLICY } from '../sending/quiet-hours.ts';

/** Whoever uses it fails. */
const unusable = (name: string): never =>
  new Proxy(() => {}, {
    get: () => {
      throw new Error(`the drip needs ${name}`);
    },
    apply: () => {
      throw new Error(`the drip needs ${name}`);
    },
  }) as never;
const context: IntakeContext = {
  timezone: 'UTC',
  country: 'US',
  lines: [{ id: 'line', channel: 'imessage', usable: true }],
  quiet: NO_QUIET_POLICY,
  placeOf: unusable('placeOf'),
  leads: unusable('leads'),
  zones: unusable('zones'),
  answersUntil: unusable('answersUntil'),
  pools: unusable('pools'),
  fallbackConfigured: false,
  ownAttachments: unusable('ownAttachments'),
};

const EXAMPLES: Partial<Record<keyof DripInput, unknown>> = {
  message: 'Hello',
  messageType: 'sms',
  recipientPhone: '+14155550123',
  recipientEmail: 'sam@example.com',
  voiceNote: true,
  smsFallbackEnabled: true,
  timezone: 'America/New_York',
};

describe('a plain drip', () => {
  it('is drafted without anything but lines, whatever its fields', () => {
    const plain = Object.keys(DripInput.shape).filter((field) => isPlainDrip({ [field]: 'x' }));
    expect(plain.length).toBeGreaterThan(10);
    const input = DripInput.parse(
      Object.fromEntries(plain.map((field) => [field, EXAMPLES[field as keyof DripInput] ?? 'x'])),
    );
    expect(isPlainDrip(input)).toBe(true);
    const drip = dripOf(input, context, { correlationId: 'c', userId: null, now: new Date(), random: 0 });
    expect(drip.message).toMatchObject({ address: '+14155550123', body: 'Hello' });
  });

  it.each([
    { leadId: 'a' },
    { fromLineId: 'a' },
    { poolId: 'a' },
    { attachmentUrls: [] },
    { sendFallbackSmsOnFailed: true },
    { forceFallback: true },
    { sendWindowStart: '09:00' },
    { allowedDaysOfWeek: [1] },
  ])('has no %o', (fields) => {
    expect(isPlainDrip({ message: 'Hello', ...fields })).toBe(false);
  });
});
