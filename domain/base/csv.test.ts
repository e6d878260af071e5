import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyText } from '#test/support/any-text.ts';
import { growth, LINEAR } from '#test/support/growth.ts';
import { csvLine } from './csv.ts';

const parseCsv = (text: string): string[][] => parse(text, { bom: false });

test('csvLine quotes only the cells that require it', () => {
  expect(csvLine(['plain', 'a,b', 'say "hi"', 'two\nlines', ''])).toBe(
    'plain,"a,b","say ""hi""","two\nlines",\r\n',
  );
});

test('csvLine disarms formulas and leaves phone numbers unchanged', () => {
  const cells = ['=1+1', '@SUM(A1)', '-2+3', '+1+1', '\tcmd', '+14155550100', 'a=b'];
  expect(csvLine(cells)).toBe(`'=1+1,'@SUM(A1),'-2+3,'+1+1,"'\tcmd",+14155550100,a=b\r\n`);
});

test.each(['\t', '\r', '\n'])('csvLine disarms a cell that begins with %j', (begin) => {
  expect(csvLine([`${begin}1`])).toMatch(/^"?'/);
});

test.each(['=', '+', '-', '@', '＝', '＋', '－', '＠'])(
  'csvLine disarms a cell that begins with %j after characters that spreadsheets skip',
  (begin) => {
    for (const before of ['', ' ', '\n', '\r\n', '\t', '\u00a0', '\u200b', '\ufeff', '\u0001']) {
      const line = csvLine([`${before}${begin}1+1`]);
      expect(line.replace(/^"/, '')).toMatch(/^'/);
    }
  },
);

test('every cell survives writing and parsing, except for the apostrophe that disarms a formula', () => {
  const cell = fc.oneof(
    anyText(10).map((text) => text.toWellFormed()),
    fc
      .array(fc.constantFrom('=', '+', '"', ',', ';', '\n', '\r', '\t', "'", '1', ' '))
      .map((all) => all.join('')),
  );
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 5 }), (cells) => {
      const rows = parseCsv(csvLine(['first', ...cells]));
      expect(rows).toHaveLength(1);
      const read = rows[0]?.slice(1) ?? [];
      expect(read.map((text, index) => (text === cells[index] ? text : text.slice(1)))).toEqual(cells);
      expect(read.filter((text) => /^\s*[=@]|^\s*[+-]\D/.test(text))).toEqual([]);
    }),
    { numRuns: 50 },
  );
});

test.each([' ', '=', '"', '\n', '\u200b', '+1', 'a'])(
  'csvLine writes a cell of repeated %j in linear time',
  (unit) => {
    const cells = (length: number) => [unit.repeat(length / unit.length)];
    expect(growth(cells, csvLine, 10_000)).toBeLessThan(LINEAR);
  },
);
