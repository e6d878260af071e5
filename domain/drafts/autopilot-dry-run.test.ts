import { describe, expect, it } from 'vitest';
import { type AutopilotCase, sharedWords, summarize } from './autopilot-dry-run.ts';

describe('the words that two texts share', () => {
  it.each([
    ['Yes, at ten.', 'yes at TEN', 1],
    ['Yes', 'No', 0],
    ['', '', 1],
    ['', 'No', 0],
    ['we open at ten', 'at ten we close', 0.75],
    ['no no no', 'no', 0.5],
    ['Ja, natürlich!', 'natürlich', 0.67],
  ])('of %j and %j are %d', (a, b, shared) => {
    expect(sharedWords(a, b)).toBe(shared);
    expect(sharedWords(b, a)).toBe(shared);
  });
});

const pastCase = (replyId: string, fields: Partial<AutopilotCase>): AutopilotCase => ({
  replyId,
  conversationRecipient: '+14155550100',
  at: '2026-11-30T17:00:00.000Z',
  inboundText: 'Are you open?',
  sentMessageId: '0'.repeat(24),
  sentText: 'Yes',
  draftMessage: 'Yes',
  confidence: 0.9,
  sharedWords: 1,
  heldBackBy: null,
  error: null,
  ...fields,
});

describe('a dry run', () => {
  it('counts what would have happened, and shows first where the autopilot differs', () => {
    const found = summarize([
      pastCase('held', { heldBackBy: 'price', sharedWords: 0 }),
      pastCase('same', {}),
      pastCase('other', { sharedWords: 0.2 }),
      pastCase('failed', { draftMessage: null, sharedWords: null, error: 'the model is unreachable' }),
      pastCase('waiting', { draftMessage: null, sharedWords: null }),
    ]);
    expect(found).toMatchObject({ wouldSend: 2, heldBack: { price: 1 }, failed: 1 });
    expect(found.cases.map(({ replyId }) => replyId)).toEqual(['other', 'same', 'held', 'failed', 'waiting']);
  });
});
