import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReturnOutput, returnPrompt, returnRead } from './return-date.ts';

/** A Thursday. */
const HERE = { timezone: 'Europe/Berlin', now: new Date('2026-12-10T23:30:00Z') };
const read = (date: string | null, confidence = 0.9) =>
  returnRead({ returnsOn: date, confidence }, HERE)?.toISOString() ?? null;

describe('what the model reads about a return', () => {
  it('is the morning of the day, by the clock of the workspace', () => {
    expect(read('2026-12-21')).toBe('2026-12-21T08:00:00.000Z');
  });

  it.each([
    ['no day', null, 0.9],
    ['a day of which it is unsure', '2026-12-21', 0.6],
    ['today, which has begun in Berlin', '2026-12-11', 0.9],
    ['a day that is over', '2020-01-01', 0.9],
  ])('is nothing for %s', (_, date, confidence) => expect(read(date, confidence)).toBeNull());

  it('is at most 60 days ahead', () => expect(read('2031-01-01')).toBe('2027-02-09T08:00:00.000Z'));

  it('has only the form that was asked for', () => {
    for (const output of [
      { returnsOn: '2026-02-30', confidence: 1 },
      { returnsOn: 'tomorrow', confidence: 1 },
      { returnsOn: null },
      { returnsOn: null, confidence: 2 },
    ])
      expect(ReturnOutput.safeParse(output).success).toBe(false);
  });
});

describe('the question when somebody is back', () => {
  it('has what a contact wrote only in its data, and not all of a long text', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 5, maxLength: 5000 }), (text) => {
        const { instructions, data } = returnPrompt(text, '2026-12-10');
        expect(instructions).toBe(returnPrompt('', '2026-12-10').instructions);
        const { automaticReply, receivedOn } = JSON.parse(data) as Record<string, string>;
        expect([automaticReply, receivedOn]).toEqual([text.trim().slice(0, 1000), '2026-12-10']);
      }),
    );
  });
});
