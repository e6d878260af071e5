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
  ['blank lines', '\n \nName,Phone\nAda,1\n', ['Name', 'Phone'], ['Ada', '1']],
  ["Excel's hint", 'sep=;\r\nName;Phone\r\nAda;1\r\n', ['Name', 'Phone'], ['Ada', '1']],
])('reads the columns and an example of a file with %s', async (_, text, header, example) => {
  expect(await readCsvStart(new Blob([text]))).toMatchObject({ header, example });
});

const utf16 = (text: string, encoding: 'le' | 'be'): Blob => {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return new Blob([encoding === 'le' ? bytes : bytes.swap16()]);
};

test.each(['le', 'be'] as const)('reads and renames columns in UTF-16 (%s)', async (encoding) => {
  const file = utf16('Näme;Nummer\r\nÄda;1\r\n', encoding);
  const start = await readCsvStart(file);
  expect(start).toMatchObject({ header: ['Näme', 'Nummer'], example: ['Äda', '1'] });
  if (!start) throw new Error('no header');
  const renamed = await renameColumns(file, start, ['firstName', 'phone']).arrayBuffer();
  const decoded = new TextDecoder(`utf-16${encoding}`).decode(renamed);
  expect(decoded).toBe('"firstName";"phone"\nÄda;1\r\n');
});

test('renames columns and keeps every byte of the rows', async () => {
  expect(await rename('\uFEFFNäme;Nummer\r\nÄda;1\r\n', ['First name', ''])).toBe(
    '"First name";""\nÄda;1\r\n',
  );
  expect(await rename('"A ""b""",c\n1,2', ['A "b"', 'Phone'])).toBe('"A ""b""","Phone"\n1,2');
});

test('reads nothing of a file without a first row', async () => {
  expect(await readCsvStart(new Blob(['\n\n']))).toBeNull();
  expect(await readCsvStart(new Blob(['a'.repeat(70_000)]))).toBeNull();
});
