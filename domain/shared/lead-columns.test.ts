import { expect, test } from 'vitest';
import { growth, LINEAR } from '#test/support/growth.ts';
import { addressesIn } from './lead-columns.ts';

test.each([
  ['a@x.co b@x.co', ['a@x.co', 'b@x.co']],
  ['Ada <a@x.co>; b@x.co', ['a@x.co', 'b@x.co']],
  ['a@x.co or @x.co', ['a@x.co or @x.co']],
  ['+1 415 555 0123 / +1 415 555 0124', ['+1 415 555 0123', '+1 415 555 0124']],
  ['0151/12345678', ['0151/12345678']],
  ['N / A', []],
  ['\\N', []],
])('the addresses in %j are %j', (cell, addresses) => {
  expect(addressesIn(cell)).toEqual(addresses);
});

test.each(['a', ' ', '( ', '/ ', ' or ', '@ ', '<', '4155550123/'])(
  'addresses are found in linear time in a cell of %j',
  (unit) => {
    expect(growth((length) => unit.repeat(length / unit.length), addressesIn, 4000)).toBeLessThan(LINEAR);
  },
);
