import { expect, test } from 'vitest';
import { EVENT_EXAMPLES } from './examples.ts';
import { subjectOf } from './subject.ts';

const ADDRESS = '+14155550142';

test('every event about a line says which', () => {
  for (const event of ['message.sent', 'message.reply', 'line.down', 'line.reputation_changed'] as const)
    expect(subjectOf(EVENT_EXAMPLES[event]).lineId).toBe('6742f1c09b1e8a00d4c3b2a4');
});

test('every event about a contact says whom', () => {
  const others = /^(line|ai|webhook|campaign|call|import)\./;
  for (const example of Object.values(EVENT_EXAMPLES).filter(({ event }) => !others.test(event)))
    expect(subjectOf(example), example.event).toMatchObject({
      leadId: 'leadId' in example ? '6742f1c09b1e8a00d4c3b2a3' : null,
      address: ADDRESS,
    });
});

test('every event about a campaign says which', () => {
  expect(subjectOf(EVENT_EXAMPLES['campaign.completed']).campaignId).toBe('6742f1c09b1e8a00d4c3b2aa');
});

test('an event about neither says so', () => {
  expect(subjectOf(EVENT_EXAMPLES['ai.budget_exhausted'])).toEqual({
    lineId: null,
    campaignId: null,
    leadId: null,
    address: null,
  });
});
