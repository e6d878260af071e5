import fc from 'fast-check';
import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import { describe, expect, it, test } from 'vitest';
import { contactKey, dialled, formsOf } from './contact-key.ts';

const CALLING_CODES = ['1', '44', '49', '52', '54', '55', '84', '225', '229', '237', '970', '972'];

/** Numbers of all lengths, mostly of the countries with several forms. */
const numbers = fc
  .tuple(
    fc.constantFrom(...CALLING_CODES),
    fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 7, maxLength: 12 }),
  )
  .map(([code, digits]) => `+${code}${digits.join('')}`);

describe('contactKey', () => {
  it.each([
    ['+5215587654321', '+525587654321'],
    ['+541187654321', '+5491187654321'],
    ['+543546123456', '+5493546123456'],
    ['+554188887771', '+5541988887771'],
    ['+551176543210', '+5511976543210'],
    ['+22507123456', '+2250707123456'],
    ['+22545123456', '+2250545123456'],
    ['+22502123456', '+2250102123456'],
    ['+22520212345', '+2252720212345'],
    ['+22521812345', '+2252121812345'],
    ['+22520812345', '+2252120812345'],
    ['+22530012345', '+2252530012345'],
    ['+22997123456', '+2290197123456'],
    ['+23775123456', '+237675123456'],
    ['+841681234567', '+84381234567'],
    ['+841201234567', '+84701234567'],
    ['+841991234567', '+84591234567'],
    ['+972591234567', '+970591234567'],
  ])('joins %s and %s', (form, key) => {
    expect([contactKey(form), contactKey(key)]).toEqual([key, key]);
    expect(formsOf(form).toSorted()).toEqual([form, key].toSorted());
    expect(formsOf(key)).toEqual([key, form]);
  });

  it.each([
    '+14155550123',
    '+551132345678',
    '+972541234567',
    '+525587654321',
    'ada@contact.example',
    '12345',
    'acme',
  ])('leaves %s as it is', (address) => {
    expect(contactKey(address)).toBe(address);
    expect(formsOf(address)[0]).toBe(address);
  });

  it('is idempotent, and all forms of a number have the same', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        const key = contactKey(number);
        expect(contactKey(key)).toBe(key);
        expect(formsOf(number)).toContain(number);
        expect(formsOf(number).map(contactKey)).toEqual(formsOf(number).map(() => key));
      }),
    );
  });

  it('joins no numbers that differ in the digits of their subscriber', () => {
    const subscriber = (number: string): string => number.slice(-7);
    fc.assert(
      fc.property(numbers, numbers, (one, other) => {
        fc.pre(subscriber(one) !== subscriber(other));
        expect(contactKey(one)).not.toBe(contactKey(other));
      }),
    );
  });

  it('joins valid numbers of one plan only in Argentina, where 9 does not change the subscriber', () => {
    fc.assert(
      fc.property(numbers, (number) => {
        const valid = formsOf(number).filter((form) => parsePhoneNumberFromString(form)?.isValid());
        if (!number.startsWith('+54')) expect(valid.length).toBeLessThanOrEqual(1);
      }),
    );
  });
});

test('a carrier is called with the number as it was written, unless it is of another contact', () => {
  expect(dialled('+525587654321', '+5215587654321')).toBe('+5215587654321');
  expect(dialled('ada@contact.example', '+5215587654321')).toBe('ada@contact.example');
  expect(dialled('erased:1', null)).toBe('erased:1');
});
