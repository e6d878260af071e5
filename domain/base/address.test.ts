import { expect, test } from 'vitest';
import { normalizeAddress, normalizeEmail } from './address.ts';

test.each([
  [' Ada@Example.com ', 'ada@example.com'],
  ['info@Müller.de', 'info@xn--mller-kva.de'],
  ['info@例子.广告', 'info@xn--fsqu00a.xn--4rr70v'],
  ['a b@пример.рф', null],
  ['info@xn--mller-kva.de', 'info@xn--mller-kva.de'],
  ['Üser@example.com', 'üser@example.com'],
  ['jose\u0301@example.com', 'josé@example.com'],
  ['R&D@example.com', 'r&d@example.com'],
  ["jo!e=a/b.o'hara@example.com", "jo!e=a/b.o'hara@example.com"],
  ['"Ada Lovelace"@example.com', '"ada lovelace"@example.com'],
  ['"ada"@example.com', 'ada@example.com'],
  ['"a@b\\"c"@example.com', '"a@b\\"c"@example.com'],
  ['"a\\db"@example.com', 'adb@example.com'],
  ['"ada@example.com', null],
  ['"ada\n"@example.com', null],
  ['"<ada>"@example.com', null],
  ['.ada@example.com', null],
  ['a..b@example.com', null],
  ['a,b@example.com', null],
  ['<ada>@example.com', null],
  ['ada@localhost', null],
  ['ada@192.0.2.1', null],
  [`${'a'.repeat(65)}@example.com`, null],
  ['@example.com', null],
  ['info@mül ler.de', null],
  ['a@b@example.com', null],
  ['ada.example.com', null],
])('the email address %s is %s', (given, expected) => {
  expect(normalizeEmail(given)).toBe(expected);
});

test.each([
  ['(415) 555-0100', '+14155550100'],
  ['Ada@Example.com', 'ada@example.com'],
  ['Ada', null],
])('the address %s is %s', (given, expected) => {
  expect(normalizeAddress(given, 'US')).toBe(expected);
});
