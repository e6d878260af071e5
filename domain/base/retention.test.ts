import { describe, expect, it } from 'vitest';
import { DEFAULT_RETENTION, readRetention } from './retention.ts';

describe('RETENTION_DAYS', () => {
  it('changes the kinds that it names', () => {
    expect(readRetention('attempts=90, mails=7')).toEqual({
      retention: { ...DEFAULT_RETENTION, attempts: 90, mails: 7 },
      problems: [],
    });
  });

  it('names every entry that is wrong', () => {
    const { problems } = readRetention('messages=3,attempts=6,mails=0,events=3651,audit-log');
    expect(problems).toHaveLength(5);
    expect(problems[0]).toContain('"messages=3" must be a kind and its days');
    expect(problems[1]).toBe('attempts must be from 7 to 3650 days');
  });
});
