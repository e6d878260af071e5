import { expect, test } from 'vitest';
import { csvDialect, hasHeaderLine } from './csv-dialect.ts';

test.each([
  ['email', ','],
  ['email,phone', ','],
  ['email;phone', ';'],
  ['a\tb\tc,d', '\t'],
  ['"a,b,c";d;e', ';'],
  ['a|b', '|'],
  ['\uFEFF\r\n \r\na;b\n1,2,3,4\n', ';'],
  ['sep=;\r\na,b;c', ';'],
  ['"sep=|"\na,b', '|'],
  ['SEP=\t\na,b', '\t'],
])('the delimiter of %j is %j', (start, delimiter) => {
  expect(csvDialect(start).delimiter).toBe(delimiter);
});

test.each([
  ['a,b\n1,2', 0],
  ['\uFEFFa,b', 1],
  ['\uFEFFsep=;\r\na;b\r\n', 8],
  ['\n\na,b', 2],
  ['sep=;', 5],
])('the header of %j begins at %i', (start, at) => {
  expect(csvDialect(start).headerStart).toBe(at);
});

test('hasHeaderLine waits for the line after a hint or blank lines', () => {
  const starts = ['', 'a,b', 'a,b\n', 'sep=;\n', 'sep=;\na;b', 'sep=;\na;b\n', '\n\n', '\n\na\r'];
  expect(starts.map(hasHeaderLine)).toEqual([false, false, true, false, false, true, false, true]);
});
