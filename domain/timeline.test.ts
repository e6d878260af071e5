import { expect, test } from 'vitest';
import { type MessageRecord, presentTimeline } from './timeline.ts';
import type { WaitFacts } from './waiting.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 12, 0, second));

const record: MessageRecord = {
  timezone: 'UTC',
  message: {
    status: 'delivered',
    source: 'api',
    campaignId: null,
    createdAt: at(0),
    scheduledAt: at(0),
    deliveredAt: at(2),
    readAt: null,
    updatedAt: at(3),
    holdReason: null,
    errorMessage: null,
  },
  holds: [],
  orders: [],
  moves: [],
  attempts: [
    {
      id: '6b0000000000000000000001',
      lineId: '6b0000000000000000000002',
      kind: 'primary',
      channel: 'imessage',
      carrier: 'simulated',
      startedAt: at(1),
      answerBy: at(20),
      finishedAt: at(3),
      outcome: 'accepted',
      reason: null,
    },
  ],
  events: [],
  deliveries: [],
};

const facts: WaitFacts = {
  now: at(10),
  timezone: 'UTC',
  message: { status: 'delivered', holdReason: null, scheduledAt: at(0), owesFallbackSms: false },
  pastDue: false,
  optedOut: false,
  campaign: null,
  line: null,
  openAttempt: null,
  lastFailure: null,
  ahead: 0,
  unserved: null,
};

test("a receipt that arrived before the carrier's response is listed after the send", () => {
  const { events } = presentTimeline('6b0000000000000000000003', record, facts);
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'claimed', 'sent', 'delivered']);
  expect(events.at(-2)?.at).toBe(events.at(-1)?.at);
});
