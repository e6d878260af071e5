import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EFFECTS } from './effect.ts';
import { DRIP_SOURCE, type AcceptedMessage } from './accepted-message.ts';
import { unbuffered, bufferedForm } from './buffered-message.ts';

const ID = '6742f1c09b1e8a00d4c3b2a1';
const text = fc.string();
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });

const draft: fc.Arbitrary<AcceptedMessage> = fc.record({
  id: fc.constant(ID),
  channel: fc.constantFrom('imessage', 'sms', 'email'),
  pinnedLineId: maybe(text),
  poolId: maybe(text),
  eligibleLineIds: maybe(fc.array(text)),
  stickinessPolicy: fc.constantFrom('sticky', 'round_robin'),
  address: text,
  recipientPhone: maybe(text),
  recipientEmail: maybe(text),
  recipientName: maybe(text),
  leadId: maybe(text),
  body: text,
  subject: maybe(text),
  attachmentUrls: fc.array(text),
  attachmentNames: fc.array(text),
  voiceNote: fc.boolean(),
  replyToId: maybe(text),
  cancelIfReply: fc.boolean(),
  effect: maybe(fc.constantFrom(...EFFECTS)),
  scheduledAt: fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
    .map((date) => date.toISOString()),
  window: maybe(
    fc.record({
      timezone: fc.constant('Europe/Berlin'),
      start: fc.constant('09:00'),
      days: fc.constant([1]),
    }),
  ),
  sendFallbackSmsOnFailed: fc.boolean(),
  smsFallbackEnabled: fc.boolean(),
  smsFallbackMessage: maybe(text),
  forceFallback: fc.boolean(),
  source: fc.constantFrom(DRIP_SOURCE, 'api'),
  correlationId: maybe(text),
  traceId: maybe(text),
  batchId: maybe(text),
  stepIndex: maybe(fc.nat()),
  crm: fc.constantFrom({}, { crmAContactId: 'c' }),
  createdByUserId: maybe(text),
});

describe('a short draft', () => {
  it('is the whole one without what is usual', () => {
    fc.assert(
      fc.property(draft, (whole) => {
        const stored: unknown = JSON.parse(JSON.stringify(bufferedForm(whole)));
        expect(unbuffered(ID, stored)).toEqual(whole);
      }),
    );
  });

  it('of most drips has only the recipient, the text and the time', () => {
    const whole = unbuffered(ID, {
      channel: 'imessage',
      address: '+14155550100',
      recipientPhone: '+14155550100',
      body: 'Hello',
      scheduledAt: '2026-03-02T16:00:30.125Z',
      correlationId: 'c',
    });
    expect(Object.keys(bufferedForm(whole)).toSorted()).toEqual([
      'address',
      'body',
      'channel',
      'correlationId',
      'recipientPhone',
      'scheduledAt',
    ]);
  });
});
