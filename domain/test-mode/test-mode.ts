import { z } from 'zod';
import type { Channel } from '../base/channel.ts';
import type { SendOutcome } from '../messages/send-outcome.ts';

/** The workspace in which a credential acts: the live one, or its twin for tests. */
export const Mode = z.enum(['live', 'test']);
export type Mode = z.infer<typeof Mode>;

export const modeOf = ({ liveWorkspaceId }: { liveWorkspaceId: string | null }): Mode =>
  liveWorkspaceId === null ? 'live' : 'test';

/** The carrier of all lines in test mode (`providers/carriers/test.ts`). */
export const TEST_CARRIER = 'test';

/** The maximum number of messages in a workspace in test mode, and for how many days they are kept. */
export const MAX_TEST_MESSAGES = 10_000;
export const MAX_TEST_LINES = 50;
export const TEST_DAYS = 30;

/** What the twin of a workspace without a subscription may store, import and keep. */
export const UNPAID_TEST_BYTES = 50 * 1024 ** 2;
export const UNPAID_TEST_IMPORT_ROWS = 1000;
export const UNPAID_TEST_FILE_DAYS = 7;

/** The maximum that one call moves the clock, and how long it waits before it responds `202`. */
export const MAX_ADVANCE_SECONDS = 90 * 86_400;

/**
 * The outcome of a message to an address that simulates a failure: by the last four digits of a phone number, or the part of
 * an email address before `@`. The same as those of the simulated carrier of `npm start`.
 * @returns null: it is sent.
 */
export function testOutcome(address: string, channel: Channel): SendOutcome | null {
  const [local = ''] = address.split(/[@+](?=.*@)|@/, 1);
  const isEmail = address.includes('@');
  const isUnavailable = isEmail ? local === 'unavailable' : address.endsWith('0001');
  if (isUnavailable && channel !== 'sms')
    return { kind: 'unavailable', reason: 'not reachable in test mode' };
  const isRefused = isEmail ? local === 'fail' : address.endsWith('0002');
  return isRefused ? { kind: 'refused', reason: 'refused in test mode' } : null;
}

/** The address of a new line: a number or domain that belongs to nobody. */
export function testLineAddress(channel: Channel, serial: number): string {
  return channel === 'email'
    ? `line-${serial}@test.invalid`
    : `+1500555${String(serial % 10_000).padStart(4, '0')}`;
}
