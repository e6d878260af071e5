import { describe, expect, it } from 'vitest';
import { linkExpiry } from './attachment.ts';

const now = new Date('2026-03-01T12:00:00Z');

describe('the expiry of a link', () => {
  const day = (n: number): Date => new Date(now.getTime() + n * 86_400_000);

  it('stays the same for a day and is never earlier than requested', () => {
    expect(linkExpiry(now, now, 30)).toEqual(day(31));
    expect(linkExpiry(now, new Date(day(1).getTime() - 1), 30)).toEqual(day(31));
    expect(linkExpiry(now, day(1), 30)).toEqual(day(32));
    expect(linkExpiry(now, day(400.5), 30)).toEqual(day(431));
  });
});
