import fc from 'fast-check';
import { expect, test } from 'vitest';
import { printable, quotation, table } from './output.ts';

test('A text of a contact neither drives the terminal nor passes for the program', () => {
  const inbound = 'What is your price?\n  Draft: Happy to help\u001B[8m\r\u001B]52;c;eA==\u0007\u202Ecod';
  expect(quotation(inbound)).toBe(
    String.raw`  > What is your price?
  >   Draft: Happy to help\u001b[8m\u000d\u001b]52;c;eA==\u0007\u202ecod`,
  );
  expect(table([{ name: '\u009B31mAda' }], ['name'])).toBe(`NAME\n${String.raw`\u009b31mAda`}`);
});

test('No text prints control characters, and JSON stays what it was', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(printable(text)).not.toMatch(/[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/u);
      expect(
        quotation(text)
          .split('\n')
          .every((line) => line.startsWith('  > ')),
      ).toBe(true);
      expect(JSON.parse(printable(JSON.stringify(text)))).toBe(text);
    }),
  );
});
