import { z } from 'zod';
import { IMESSAGE_CAPABILITIES } from '#domain/lines/capability.ts';
import type { Channel } from '#domain/base/channel.ts';
import { TEST_CARRIER, testOutcome } from '#domain/test-mode/test-mode.ts';
import { BadSignature, type Carrier, type OutboundMessage } from './carrier.ts';

/** Where the carrier stores what it has sent (`db/queries/test-mode/test-sends.ts`). */
export interface TestSends {
  /** Stores a message once per attempt. @returns false if its line belongs to no workspace in test mode. */
  keep(message: OutboundMessage): Promise<boolean>;
  has(attemptId: string): Promise<boolean>;
}

const TestConfig = z.object({});

/**
 * The carrier of all lines in test mode, in production too. It stores messages and reaches nobody: receipts and replies are
 * created with `POST /api/test/receipts` and `POST /api/test/inbound`.
 */
export function testCarrier(sends: TestSends): Carrier<z.infer<typeof TestConfig>> {
  return {
    name: TEST_CARRIER,
    channels: ['imessage', 'sms', 'email'],
    capabilities: (channel) =>
      channel === 'imessage'
        ? IMESSAGE_CAPABILITIES
        : channel === 'email'
          ? ['replies', 'attachments']
          : ['attachments'],
    reactsWithEmoji: true,
    // A fallback account has more fields, which are ignored here.
    config: TestConfig,
    timeoutMs: 10_000,

    async send(_config, message) {
      const { group, to } = message;
      const outcomes = (group?.participants ?? [to.address]).map((one) => testOutcome(one, message.channel));
      const outcome = outcomes.find((one) => one !== null);
      if (outcome) return outcome;
      try {
        if (await sends.keep(message)) {
          // Nobody else knows the group.
          const groupId = group && (group.id ?? to.address);
          return {
            kind: 'accepted',
            carrierMessageId: message.attemptId,
            ...(groupId !== undefined && { groupId }),
          };
        }
        return { kind: 'refused', reason: 'the line is not in test mode' };
      } catch (error) {
        return { kind: 'unknown', reason: error instanceof Error ? error.message : 'not kept' };
      }
    },

    /** Nobody sees it. */
    act: async () => ({ kind: 'accepted' }),

    async reconcile(_config, { attemptId, group, to }) {
      const groupId = group && (group.id ?? to);
      return (await sends.has(attemptId))
        ? { kind: 'accepted', carrierMessageId: attemptId, ...(groupId !== undefined && { groupId }) }
        : { kind: 'not_sent' };
    },

    async checkAvailability(_config, address) {
      const channel: Channel = address.includes('@') ? 'email' : 'imessage';
      return { status: testOutcome(address, channel)?.kind === 'unavailable' ? 'unavailable' : 'available' };
    },

    async probe() {},

    async *checkConnection() {
      yield { name: 'server', result: 'pass', text: 'A line in test mode needs no carrier.' };
    },

    /** Nobody calls back. */
    async parseCallback() {
      throw new BadSignature('this carrier has no callbacks');
    },

    async openMedia() {
      throw new Error('this carrier has no files');
    },

    async close() {},
  };
}
