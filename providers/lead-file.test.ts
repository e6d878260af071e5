import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { nextTurn } from '#domain/base/turns.ts';
import { openLeadFile } from './lead-file.ts';

/** What an import makes of a file: the addresses of each lead, or why a row is rejected. */
async function read(content: string): Promise<unknown[]> {
  const { rows } = await openLeadFile(Readable.from([Buffer.from(content)]), { country: 'US' });
  const found: unknown[] = [];
  for await (const row of rows(0))
    found.push('rejected' in row ? row.rejected.reason : [...row.lead.emails, ...row.lead.phones]);
  return found;
}
const ONE = ['a@x.co', '+14155550123'];
const TWO = ['b@x.co', '+14155550124'];

test.each([
  ['a title above the header', 'Contacts of 2026\nemail,phone\na@x.co,4155550123\n'],
  ['rows without content', ',\n,\nemail,phone\na@x.co,4155550123\n'],
  ['notes with commas', 'Notes:\n"Some, perhaps all."\n\nEmail Address,Phone\na@x.co,4155550123\n'],
  ['remarks in the header', 'Email (required),Phone Number [optional]\na@x.co,4155550123\n'],
  ['the name of a phone', 'Work email,iPhone\na@x.co,4155550123\n'],
  ['spaces around quotes', '"email" , "phone"\n "a@x.co" , "4155550123" \n'],
])('a file with %s is read', async (_what, content) => {
  expect(await read(content)).toEqual([ONE]);
});

test.each([
  ['lines that end in several ways', 'email,phone\r\na@x.co,4155550123\nb@x.co,4155550124\r\n'],
  ['lines that end as on old computers', 'email,phone\ra@x.co,4155550123\nb@x.co,4155550124\n'],
  ['quotes within cells', 'email,phone,company\na@x.co,4155550123,"The" Co\nb@x.co,4155550124,A "B" C\n'],
])('a file with %s loses no row', async (_what, content) => {
  expect(await read(content)).toEqual([ONE, TWO]);
});

test.each([
  ['415-555-0123 or 415-555-0124', ['+14155550123', '+14155550124']],
  ['415-555-0123/415-555-0124', ['+14155550123', '+14155550124']],
  ['(415) 555-0123 & (415) 555-0124', ['+14155550123', '+14155550124']],
  ['415/555/0123', ['+14155550123']],
  ['\\N', []],
])('the numbers in the cell %j are %j', async (cell, phones) => {
  expect(await read(`email,phone\na@x.co,${cell}\n`)).toEqual([['a@x.co', ...phones]]);
});

test('the rows above a broken one are read, however slowly', async () => {
  const content = `email\n${'a@x.co\n'.repeat(100)}"never closed`;
  const { rows } = await openLeadFile(Readable.from([Buffer.from(content)]), { country: 'US' });
  let read = 0;
  const readAll = async (): Promise<void> => {
    for await (const _ of rows(0)) {
      read += 1;
      await nextTurn();
    }
  };
  await expect(readAll()).rejects.toThrow('Quote Not Closed');
  expect(read).toBe(100);
});
