import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isInIpRanges, normalizeIpRange } from './ip-range.ts';

describe('a network', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7/32'],
    [' 203.0.113.7/24 ', '203.0.113.0/24'],
    ['203.0.113.255/25', '203.0.113.128/25'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:db8::1', '2001:db8::1/128'],
    ['2001:DB8:0:1:2::/61', '2001:db8::/61'],
    ['::ffff:203.0.113.9/120', '203.0.113.0/24'],
  ])('%s is %s', (given, expected) => {
    expect(normalizeIpRange(given)).toBe(expected);
  });

  it.each([
    '',
    'localhost',
    '203.0.113',
    '010.0.0.1',
    '203.0.113.7/33',
    '::/129',
    '1.2.3.4/x',
    'fe80::1%eth0/',
  ])('%j is none', (given) => {
    expect(normalizeIpRange(given)).toBeNull();
  });

  it('contains an address if their first bits are the same', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (one, other, bits) => {
        const first = (ip: string): string =>
          ip
            .split('.')
            .map((byte) => Number(byte).toString(2).padStart(8, '0'))
            .join('')
            .slice(0, bits);
        const range = normalizeIpRange(`${one}/${bits}`) ?? '';
        expect(isInIpRanges(other, [range])).toBe(first(one) === first(other));
        expect(isInIpRanges(`::ffff:${one}`, [range])).toBe(true);
      }),
    );
  });

  it('of one version contains no address of the other', () => {
    expect(isInIpRanges('203.0.113.7', ['::/0'])).toBe(false);
    expect(isInIpRanges('2001:db8::1', ['0.0.0.0/0'])).toBe(false);
    expect(isInIpRanges('unknown', ['0.0.0.0/0', '::/0'])).toBe(false);
  });
});
