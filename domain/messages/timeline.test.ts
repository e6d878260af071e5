import { expect, test } from 'vitest';
import { type MessageRecord, presentTimeline } from './timeline.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 0, 1, 12, 0, second));

const record: MessageRecord = {
  timezone: 'UTC',
  message: {
    status: 'delivered',
    source: 'api',
    campaignId: null,
    campaignVersion: null,
    createdAt: at(0),
    scheduledAt: at(0),
    deliveredAt: at(2),
    readAt: null,
    updatedAt: at(3),
    holdReason: null,
    errorMessage: null,
    isNew: true,
  },
  corrects: null,
  rule: null,
  holds: [],
  edits: [],
  actions: [],
  orders: [],
  moves: [],
  links: [],
  attempts: [
    {
      id: '6b0000000000000000000001',
      lineId: '6b0000000000000000000002',
      isNew: true,
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

const sentNow = { action: 'message.sent_now', by: 'Dana', reason: null };

test("a receipt that arrived before the carrier's response is listed after the send", () => {
  const { events } = presentTimeline('6b0000000000000000000003', record, null);
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'claimed', 'sent', 'delivered']);
  expect(events.at(-2)?.at).toBe(events.at(-1)?.at);
});

test('a message whose fallback SMS was moved still says when it was scheduled', () => {
  const message = { ...record.message, status: 'fallback' as const, scheduledAt: at(10) };
  const attempts = record.attempts.map((attempt) => ({ ...attempt, startedAt: at(10), finishedAt: at(11) }));
  const moves = [{ at: at(12), movedFrom: at(11), movedTo: at(50), reason: 'recipient_quiet_hours' }];
  const { events } = presentTimeline(
    '6b0000000000000000000003',
    { ...record, message, attempts, moves },
    null,
  );
  expect(events.map(({ type }) => type)).toContain('scheduled');
});

test('a message that an operator sent now says when it was planned for, and what it had waited for', () => {
  const [attempt] = record.attempts;
  const attempts = attempt ? [{ ...attempt, startedAt: at(30), answerBy: at(50), finishedAt: at(31) }] : [];
  const message = { ...record.message, scheduledAt: at(29), deliveredAt: at(32) };
  const hold = { beganAt: at(8), endedAt: at(15), reason: 'line_down', by: null, note: null, error: null };
  const toldOf = (plannedFor: Date, changes: Partial<MessageRecord> = {}) => {
    const orders = [{ ...sentNow, at: at(29), plannedFor }];
    const told = { ...record, message, attempts, orders, ...changes };
    const { events } = presentTimeline('6b0000000000000000000003', told, null);
    return events.map(({ type, data }) => (type === 'scheduled' ? data['scheduledDate'] : type));
  };
  const sent = ['ordered', 'claimed', 'sent', 'delivered'];
  expect(toldOf(at(3600))).toEqual(['accepted', at(3600).toISOString(), ...sent]);
  expect(toldOf(at(5), { holds: [hold] })).toEqual(['accepted', at(5).toISOString(), 'held', ...sent]);
  expect(toldOf(at(0))).toEqual(['accepted', ...sent]);
  // A rule had put it off before.
  const moves = [{ at: at(5), movedFrom: at(5), movedTo: at(3600), reason: 'recipient_quiet_hours' }];
  expect(toldOf(at(3600), { moves })).toEqual(['accepted', at(5).toISOString(), 'moved', ...sent]);
});

test('an order to send a retry now is not told as the time for which the message was planned', () => {
  const message = { ...record.message, scheduledAt: at(20) };
  const [attempt] = record.attempts;
  const attempts = attempt
    ? [
        { ...attempt, outcome: 'transient' as const },
        { ...attempt, startedAt: at(21), answerBy: at(40), finishedAt: at(22) },
      ]
    : [];
  const orders = [{ ...sentNow, at: at(20), plannedFor: at(50) }];
  const { events } = presentTimeline(
    '6b0000000000000000000003',
    { ...record, message, attempts, orders },
    null,
  );
  expect(events.map(({ type }) => type)).not.toContain('scheduled');
});

test('nothing is listed before the message was accepted, whatever the clocks say', () => {
  const message = { ...record.message, status: 'failed' as const, createdAt: at(5), deliveredAt: null };
  const failure = { event: 'message.failed', createdAt: at(4) };
  const refused = { ...record, message, attempts: [], events: [failure] };
  const { events } = presentTimeline('6b0000000000000000000003', refused, null);
  expect(events.map(({ type }) => type)).toEqual(['accepted', 'failed']);
  expect(events.at(-1)?.at).toBe(at(5).toISOString());
});

test('a hold of the line is told if the message waited for it for a second', () => {
  const hold = { reason: 'line_paused', by: 'Ada', note: 'review', error: null };
  const holds = [
    { ...hold, beganAt: at(-60), endedAt: at(20), reason: 'line_down', by: null, note: null },
    { ...hold, beganAt: at(20), endedAt: at(29) },
    // The message is claimed in the moment in which it begins.
    { ...hold, beganAt: at(29), endedAt: null },
  ];
  const [attempt] = record.attempts;
  const attempts = attempt ? [{ ...attempt, startedAt: at(29), answerBy: at(50), finishedAt: at(30) }] : [];
  const message = { ...record.message, deliveredAt: at(31) };
  const orders = [{ ...sentNow, at: at(28), plannedFor: at(-60) }];
  const told = { ...record, message, attempts, holds, orders };
  const { events } = presentTimeline('6b0000000000000000000003', told, null);
  expect(events.map(({ type }) => type)).toEqual([
    'accepted',
    'held',
    'held',
    'ordered',
    'claimed',
    'sent',
    'delivered',
  ]);
  expect(events.slice(1, 4).map(({ text }) => text)).toEqual([
    'Held until today at 12:00 UTC: the line was down.',
    'Held until today at 12:00 UTC: the line was paused by Ada (review).',
    'To be sent at once, regardless of its time and of gaps: ordered by Dana.',
  ]);
  expect(events[1]).toMatchObject({
    at: at(0).toISOString(),
    data: { reason: 'line_down', from: at(-60).toISOString() },
  });
});
