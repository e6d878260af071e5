import fc from 'fast-check';
import { getCountryCallingCode, parsePhoneNumberFromString, type PhoneNumber } from 'libphonenumber-js/max';
import { describe, expect, it, test } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { isLikelyNumber, mayBeSameNumber, normalizePhone } from './phone.ts';

/** Numbers of one digit are placeholders. */
const expected = (parsed: PhoneNumber | undefined): string | null =>
  parsed?.isPossible() && new Set(parsed.nationalNumber).size > 1 ? parsed.number : null;

describe('normalizePhone', () => {
  it('agrees with the parser about North American numbers, whatever the home country', () => {
    const digits = fc.stringMatching(/^[0-9]{9,11}$/);
    fc.assert(
      fc.property(digits, fc.constantFrom('US', 'CA', 'JM', 'DE'), (rest, country) => {
        const parsed = parsePhoneNumberFromString(`+1${rest}`, country);
        expect(normalizePhone(`+1${rest}`, country)).toBe(expected(parsed));
      }),
      { numRuns: 2000 },
    );
  });

  it('agrees with the parser about short texts, which it refuses without parsing them', () => {
    const text = fc.stringMatching(/^[-+() .ext0-9٠-٩]{0,12}$/u);
    fc.assert(
      fc.property(text, fc.constantFrom('US', 'DE', 'SH', 'NU', 'AD'), (written, country) => {
        // An international number without its + is another rule.
        fc.pre(!written.trim().startsWith(getCountryCallingCode(country)));
        // So is one with the prefix of most countries.
        fc.pre(!/^[^\p{Nd}+]*(?:00|٠٠|٠0|0٠)/u.test(written));
        const parsed = parsePhoneNumberFromString(written, country);
        expect(normalizePhone(written, country)).toBe(expected(parsed));
      }),
      { numRuns: 5000 },
    );
  });

  it('reads only international numbers if no country has the calling code', () => {
    expect(normalizePhone('020 7946 0003', 'GB', '+999')).toBeNull();
    expect(normalizePhone('+44 20 7946 0003', 'US', '+999')).toBe('+442079460003');
  });

  it.each([
    ['4915112345678.0', '+4915112345678'],
    ['15112345678.0', '+4915112345678'],
    ['4.915.112.345.678', '+4915112345678'],
    ['4 915 112 345 678', '+4915112345678'],
    ['4.915.112.345.678,00', '+4915112345678'],
    ['+4915112345678.00', '+4915112345678'],
    ['4.915112345678E+12', '+4915112345678'],
    ['4,915112345678e12', '+4915112345678'],
    ['4.91511E+12', null],
    ['4915112345678.5', null],
    ['0151 12345678.0', '+4915112345678'],
  ])('reads %j, which a spreadsheet has taken for a quantity, unless digits are lost', (written, phone) => {
    expect(normalizePhone(written, 'DE', '+49')).toBe(phone);
  });

  it.each([
    ['4915112345678.0', '+4915112345678'],
    ['4.915112345678E+12', '+4915112345678'],
    ['447911123456.0', '+447911123456'],
    ['49 1511 2345678.0', '+4915112345678'],
    ['+4915112345678.0', '+4915112345678'],
    ['4155550123.0', '+14155550123'],
    // A digit too many of a national number.
    ['41555501234.0', null],
    ['4155550123456.0', null],
    // Not a quantity.
    ['4915112345678', null],
  ])('reads %j of an American, whose + a spreadsheet has dropped', (written, phone) => {
    expect(normalizePhone(written, 'US')).toBe(phone);
  });

  it.each([
    ['0049 151 12345678', 'US', '+4915112345678'],
    ['00 44 (0)20 7946 0003', 'US', '+442079460003'],
    ['+00 49 151 12345678', 'US', null],
    ['00 12 34', 'US', null],
    ['4930123456', 'DE', '+4930123456'],
    ['33612345678', 'FR', '+33612345678'],
    ['5511987654321', 'BR', '+5511987654321'],
    ['3931234567', 'IT', '+393931234567'],
    ['55987654321', 'BR', '+5555987654321'],
    ['9198765432', 'IN', '+919198765432'],
    ['030 123456', 'DE', '+4930123456'],
  ])('reads %j of %s as %s', (written, country, phone) => {
    expect(normalizePhone(written, country)).toBe(phone);
  });

  it.each(['00491761234502', '0049 176 1234502', '0176 1234502', '1761234502'])(
    'reads %j with the calling code +49',
    (written) => {
      expect(normalizePhone(written, 'US', '+49')).toBe('+491761234502');
    },
  );

  it('reads no calling code twice, also if the number has a digit too few', () => {
    expect(normalizePhone('00491511234567', 'US', '+49')).toBe('+491511234567');
  });

  it.each([
    ['＋４９１５１１２３４５６７８', '+4915112345678'],
    ['＋81 90-1234-5678', '+819012345678'],
    ['４９１５１１２３４５６７８', '+4915112345678'],
    ['００４９１５１１２３４５６７８', '+4915112345678'],
    ['０１５１ー１２３４５６７８', '+4915112345678'],
  ])('reads %s, which is written as wide as ideographs', (written, phone) => {
    expect(normalizePhone(written, 'DE')).toBe(phone);
    expect(normalizePhone(written, 'US', '+49')).toBe(phone);
  });

  it.each(['+49 151 1234567O', '0151 1234567l', '+1 415 555 012I'])(
    'refuses %s, which lacks a digit without its letter',
    (written) => {
      expect(normalizePhone(written, 'DE')).toBeNull();
    },
  );

  it.each(['+10000000000', '+11111111111', '+12222222222', '000-0000', '+49 1111111111'])(
    'refuses the placeholder %s',
    (written) => {
      expect(normalizePhone(written, 'US')).toBeNull();
    },
  );
});

test.each([
  ['+14155550123', '+14155550123', true],
  ['+13155550123', '+14155550123', false],
  ['+12115550123', '+14115550123', false],
  ['+4915155550123', '+14155550123', false],
  ['+5215587654321', '+525587654321', true],
  ['+554188887771', '+5541988887771', true],
  // Without a country code, or with a prefix that is no part of the number.
  ['4155550123', '+14155550123', true],
  ['(415) 555-0123', '+14155550123', true],
  ['015112345678', '+4915112345678', true],
  ['+49015112345678', '+4915112345678', true],
  ['', '+14155550123', false],
  ['ACME', 'ACME', false],
])('%s and %s may be the same number: %s', (a, b, isSame) => {
  expect([mayBeSameNumber(a, b), mayBeSameNumber(b, a)]).toEqual([isSame, isSame]);
});

test('isLikelyNumber knows numbers that no plan assigns', () => {
  expect(['+14155550123', '+4915112345678', '+442079460003'].every(isLikelyNumber)).toBe(true);
  expect(['+10123456789', '+4900000000001'].some(isLikelyNumber)).toBe(false);
});

test.each([' ', '1 ', '1.', '00 ', '1e'])(
  'a text of %j is no number, which takes no longer than to read it',
  (unit) => {
    const texts = (length: number): string => unit.repeat(length / unit.length);
    expect(growth(texts, (text) => normalizePhone(text, 'US'), 8000)).toBeLessThan(LINEAR);
  },
);
