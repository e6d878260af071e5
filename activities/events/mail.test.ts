import { describe, expect, it } from 'vitest';
import { resultOf } from './mail.ts';

const NOW = new Date('2026-03-02T12:00:00Z');
const mail = (attemptCount: number, ageHours = 0) => ({
  id: '0'.repeat(24),
  recipient: 'ada@example.com',
  template: 'invitation' as const,
  dataSealed: '',
  attemptCount,
  createdAt: new Date(NOW.getTime() - ageHours * 3_600_000),
});
const later = { kind: 'later', reason: 'busy', code: '451' } as const;
const retryDelaySeconds = (attemptCount: number): number => {
  const result = resultOf(mail(attemptCount), later, NOW);
  return 'retryAt' in result ? (result.retryAt.getTime() - NOW.getTime()) / 1000 : Number.NaN;
};

describe('an email', () => {
  it('waits longer before each retry, up to 15 minutes', () => {
    expect([0, 1, 2, 7, 8, 500].map(retryDelaySeconds)).toEqual([5, 10, 20, 640, 900, 900]);
  });

  it('ends once it is sent, refused or three days old', () => {
    expect(resultOf(mail(3), { kind: 'sent' }, NOW)).toEqual({ status: 'sent' });
    expect(resultOf(mail(0), { kind: 'refused', reason: 'no such mailbox', code: '550' }, NOW)).toEqual({
      status: 'failed',
      error: 'no such mailbox',
    });
    expect(resultOf(mail(0, 71), later, NOW)).toMatchObject({ status: 'pending' });
    expect(resultOf(mail(0, 73), later, NOW)).toEqual({ status: 'failed', error: 'busy' });
  });
});
