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
  ['Contacts of 2026\r\n\r\nName;Email\r\nAda;a@b.co', 20],
  ['Contacts,,\n,,\nName,Email,Phone\nAda,a@b.co,', 14],
  ['Notes:\n"Some, perhaps all, are missing."\n\nName,Email\n', 42],
  // None of these is a header below something else.
  ['"E-mail\nEmail",Phone\n', 0],
  ['Name,Contact,Prefers\nAda,a@b.co,Email\n', 0],
  ['Name,Contact,Prefers\nAda,4155550123,Phone\n', 0],
  ['Name,Contact\nEmail\n', 0],
])('the header of %j begins at %i', (start, at) => {
  expect(csvDialect(start).headerStart).toBe(at);
});

test('hasHeaderLine waits for the header after a hint, blank lines or a title', () => {
  const title = 'Contacts\n';
  const unknown = 'a,b\n'.repeat(10);
  const starts = ['', 'a,email', 'a,email\n', 'sep=;\n', 'sep=;\na;b', 'sep=;\na;b\n', '\n\n', '\n\nemail\r'];
  expect(starts.map(hasHeaderLine)).toEqual([false, false, true, false, false, true, false, true]);
  const others = [title, `${title}a,email`, `${title}a,email\n`, 'a,b\n', unknown];
  expect(others.map(hasHeaderLine)).toEqual([false, false, true, false, true]);
});
