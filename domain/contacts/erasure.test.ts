import { describe, expect, it } from 'vitest';
import { addressHash, isErased, namesOf, newPseudonym, reasonCode } from './erasure.ts';

describe('erasure', () => {
  it('draws a pseudonym that nobody takes for an address', () => {
    const [one, two] = [newPseudonym(), newPseudonym()];
    expect(one).not.toBe(two);
    expect([isErased(one), isErased('+14155550123'), isErased('erased@example.com')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('knows an address again by key and workspace only', () => {
    const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const hash = addressHash(key, 'org_a', '+14155550123');
    expect(addressHash(key, 'org_a', '+14155550123')).toBe(hash);
    expect(addressHash(key, 'org_b', '+14155550123')).not.toBe(hash);
    expect(addressHash(other, 'org_a', '+14155550123')).not.toBe(hash);
    expect(hash).not.toContain('4155550123');
  });

  it.each([
    ['recipient_opted_out', 'recipient_opted_out'],
    ['550 5.1.1 <ada@example.com>: user unknown', '550'],
    ['21211: +14155550123 is not a phone number', '21211'],
    ['4155550123 is not reachable', 'erased'],
    ['ada@example.com is unknown', 'erased'],
    ['invalid_draft: ada', 'erased'],
  ])('keeps of the reason %j only %j', (reason, kept) => {
    expect(reasonCode(reason)).toBe(kept);
  });

  it('finds an address in a link as well', () => {
    expect(namesOf(['+14155550123', 'ada'])).toEqual(['+14155550123', '%2B14155550123', 'ada']);
  });
});
