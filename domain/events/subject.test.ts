import { expect, test } from 'vitest';
import { EVENT_EXAMPLES } from './examples.ts';
import { subjectOf } from './subject.ts';

const ADDRESS = '+14155550142';

test('every event about a line says which', () => {
  for (const event of ['message.sent', 'message.reply', 'line.down', 'line.reputation_changed'] as const)
    expect(subjectOf(EVENT_EXAMPLES[event]).lineId).toBe('6742f1c09b1e8a00d4c3b2a4');
});

test('every event about a contact says whom', () => {
  const about = Object.values(EVENT_EXAMPLES).filter(({ event }) => !/^(line|ai|webhook)\./.test(event));
  for (const example of about)
    expect(subjectOf(example), example.event).toMatchObject({
      leadId: '6742f1c09b1e8a00d4c3b2a3',
      address: ADDRESS,
    });
});

test('an event about neither says so', () => {
  expect(subjectOf(EVENT_EXAMPLES['ai.budget_exhausted'])).toEqual({
    lineId: null,
    campaignId: null,
    leadId: null,
    address: null,
  });
});
