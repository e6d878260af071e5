import { expect, it } from 'vitest';
import { csvLine, delimiterOf } from './csv.ts';

it('quotes what needs it', () => {
  expect(csvLine(['plain', 'a,b', 'say "hi"', 'two\nlines', ''])).toBe(
    'plain,"a,b","say ""hi""","two\nlines",\r\n',
  );
});

it('disarms formulas, and leaves phone numbers alone', () => {
  const cells = ['=1+1', '@SUM(A1)', '-2+3', '+1+1', '\tcmd', '+14155550100', 'a=b'];
  expect(csvLine(cells)).toBe(`'=1+1,'@SUM(A1),'-2+3,'+1+1,"'\tcmd",+14155550100,a=b\r\n`);
});

it('finds out what divides the cells', () => {
  expect(['email', 'email,phone', 'email;phone', 'a\tb\tc,d', '"a,b,c";d;e', 'a|b'].map(delimiterOf)).toEqual(
    [',', ',', ';', '\t', ';', '|'],
  );
});
