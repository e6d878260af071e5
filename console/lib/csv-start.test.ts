import { expect, test } from 'vitest';
import { readCsvStart, renameColumns } from './csv-start.ts';

const rename = async (text: string, names: string[]): Promise<string> => {
  const file = new Blob([text]);
  const start = await readCsvStart(file);
  if (!start) throw new Error('no header');
  return renameColumns(file, start, names).text();
};

test.each([
  ['commas', 'Name,Phone\nAda,1\nBob,2\n', ['Name', 'Phone'], ['Ada', '1']],
  ['semicolons and a byte order mark', '\uFEFFName;Phone\r\nAda;1\r\n', ['Name', 'Phone'], ['Ada', '1']],
  [
    'quotes with line ends',
    '"Full\nname","The ""number"""\n"A, B",1',
    ['Full\nname', 'The "number"'],
    ['A, B', '1'],
  ],
  ['a header alone', 'Phone', ['Phone'], ['']],
])('reads the columns and an example of a file with %s', async (_, text, header, example) => {
  expect(await readCsvStart(new Blob([text]))).toMatchObject({ header, example });
});

test('renames columns and keeps every byte of the rows', async () => {
  expect(await rename('\uFEFFNäme;Nummer\r\nÄda;1\r\n', ['First name', ''])).toBe(
    '"First name";""\nÄda;1\r\n',
  );
  expect(await rename('"A ""b""",c\n1,2', ['A "b"', 'Phone'])).toBe('"A ""b""","Phone"\n1,2');
});

test('reads nothing of a file without a first row', async () => {
  expect(await readCsvStart(new Blob(['\nAda,1\n']))).toBeNull();
  expect(await readCsvStart(new Blob(['a'.repeat(70_000)]))).toBeNull();
});
