import { describe, expect, it } from 'vitest';
import { HOSTILE_REPLIES } from '#test/fixtures/hostile-replies.ts';
import { dismisses, VerdictOutput, verdictPrompt } from './opt-out-verdict.ts';

const answer = (fields: object = {}) =>
  VerdictOutput.safeParse({
    verdict: 'not_opt_out',
    confidence: 0.9,
    reason: 'about_something_else',
    ...fields,
  });

describe('the question to the model', () => {
  it('has what contacts write in its data alone', () => {
    const { instructions } = verdictPrompt(['Hello']);
    for (const text of HOSTILE_REPLIES) {
      const prompt = verdictPrompt([text]);
      expect(prompt.instructions).toBe(instructions);
      expect(Object.keys(JSON.parse(prompt.data))).toEqual(['replies']);
    }
  });

  it('has the last five replies, without what they quote, and not too much of each', () => {
    const replies = ['1', '2', '3', '4', 'Enough!\nOn Monday, Ada wrote:\n> Hi', 'x'.repeat(5000)];
    const { data } = verdictPrompt(replies);
    expect(JSON.parse(data)).toEqual({ replies: ['2', '3', '4', 'Enough!', 'x'.repeat(1000)] });
  });
});

describe('an answer', () => {
  it('has to have exactly the requested form', () => {
    expect(answer().success).toBe(true);
    for (const fields of [
      { verdict: 'opted_out' },
      { confidence: 1.2 },
      { reason: 'the contact said +14155550123' },
      { note: 'x' },
    ])
      expect(answer(fields).success, JSON.stringify(fields)).toBe(false);
  });

  it('lets campaigns go on if it is sure that the reply asks for nothing', () => {
    const { data } = answer();
    expect(dismisses(data!)).toBe(true);
    expect(dismisses({ ...data!, confidence: 0.69 })).toBe(false);
    expect(dismisses({ ...data!, verdict: 'unsure' })).toBe(false);
    expect(dismisses({ ...data!, verdict: 'opt_out' })).toBe(false);
  });
});
