import { describe, expect, it } from 'vitest';
import { decodeText } from './character-encoding.ts';

async function decoded(...chunks: readonly Uint8Array[]): Promise<string> {
  let text = '';
  for await (const part of decodeText(streamOf(chunks))) text += part;
  return text;
}

async function* streamOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

const byteByByte = (bytes: Buffer): Buffer[] => [...bytes].map((byte) => Buffer.from([byte]));

/** In Windows-1252: “Müller’s” costs 5 €. */
const WINDOWS_1252 = Buffer.from('\x93M\xfcller\x92s\x94 costs 5 \x80', 'latin1');
const DECODED = '“Müller’s” costs 5 €';

describe('decoding a text file', () => {
  it('returns nothing for an empty file', async () => {
    expect(await decoded()).toBe('');
    expect(await decoded(Buffer.alloc(0))).toBe('');
  });

  it.each([
    ['UTF-8', Buffer.from('name\nZoë 👋 €\n')],
    ['UTF-8 with a byte order mark', Buffer.from('\uFEFFname\r\nZoë 👋 €')],
    ['UTF-16 with a byte order mark', Buffer.from('\uFEFFname\nZoë 👋 €', 'utf16le')],
    ['big-endian UTF-16', Buffer.from('\uFEFFname\nZoë 👋 €', 'utf16le').swap16()],
  ])('reads %s, wherever the chunks end', async (_, bytes) => {
    const text = await decoded(bytes);
    expect(text.replace('\uFEFF', '')).toMatch(/^name\r?\nZoë 👋 €\n?$/);
    expect(await decoded(...byteByByte(bytes))).toBe(text);
  });

  it.each([
    ['little-endian', (text: string) => Buffer.from(text, 'utf16le')],
    ['big-endian', (text: string) => Buffer.from(text, 'utf16le').swap16()],
  ])('reads %s UTF-16 without a byte order mark, in any script', async (_, encode) => {
    for (const text of ['name,phone\r\nZoë,+1415\r\n', 'Имя;Телефон\nИван;1\n', '姓名,电话\n李吀,1\n']) {
      expect(await decoded(encode(text))).toBe(text);
      expect(await decoded(...byteByByte(encode(text)))).toBe(text);
    }
  });

  it.each([
    ['German', 'J\x9arg M\x9fller;K\x8athe Wei\xa7;\x85zer'],
    ['Spanish', 'Jos\x8e Garc\x92a;Mu\x96oz;L\x97pez'],
    ['French', '\x83lise;L\xd5Or\x8eal;H\x99tel'],
    ['Danish', 'S\xbfren;\xaer\xbf;\x81se'],
    ['quoted English', '\xd2Hello\xd3;don\xd5t'],
  ])('reads %s text of Mac Roman', async (_, bytes) => {
    const text = new TextDecoder('macintosh').decode(Buffer.from(bytes, 'latin1'));
    expect(await decoded(Buffer.from(`name\r${bytes}\r`, 'latin1'))).toBe(`name\r${text}\r`);
    expect(await decoded(...byteByByte(Buffer.from(`name\n${bytes}\n`, 'latin1')))).toBe(`name\n${text}\n`);
  });

  it.each([
    ['German', 'J\xf6rg M\xfcller;Wei\xdf;\xd6zer'],
    ['Spanish', 'Garc\xeda;Mu\xf1oz;\xcd\xf1igo'],
    ['French', '\xc9lise;L\x92Or\xe9al;5 \x80 \x96 7 \x80\x85'],
    ['Slovak', 'Ko\x9aice;\x8eilina'],
  ])('reads %s text of Windows-1252', async (_, bytes) => {
    const text = new TextDecoder('windows-1252').decode(Buffer.from(bytes, 'latin1'));
    expect(await decoded(Buffer.from(`name\n${bytes}\n`, 'latin1'))).toBe(`name\n${text}\n`);
  });

  it('keeps the byte order mark for the parser', async () => {
    expect(await decoded(Buffer.from('\uFEFFname'))).toBe('\uFEFFname');
    expect(await decoded(Buffer.from('\uFEFFname', 'utf16le'))).toBe('\uFEFFname');
    expect(await decoded(Buffer.from('name'))).toBe('name');
  });

  it('reads quotes, umlauts and the euro sign of Windows-1252, wherever the chunks end', async () => {
    expect(await decoded(WINDOWS_1252)).toBe(DECODED);
    expect(await decoded(...byteByByte(WINDOWS_1252))).toBe(DECODED);
  });

  it('decodes each line by itself', async () => {
    const lines = Buffer.concat([
      Buffer.from('Zoë\n'),
      WINDOWS_1252,
      Buffer.from('\n👋\n\n'),
      WINDOWS_1252,
      Buffer.from('\r\nZoë'),
    ]);
    const text = `Zoë\n${DECODED}\n👋\n\n${DECODED}\r\nZoë`;
    expect(await decoded(lines)).toBe(text);
    expect(await decoded(...byteByByte(lines))).toBe(text);
  });

  it('does not keep a line in memory that never ends', async () => {
    const parts = decodeText(streamOf(Array.from({ length: 20 }, () => Buffer.alloc(100_000, 'a'))));
    const lengths: number[] = [];
    for await (const { length } of parts) lengths.push(length);
    expect(lengths.reduce((sum, length) => sum + length)).toBe(2_000_000);
    expect(Math.max(...lengths)).toBeLessThan(900_000);
  });
});
